/* SPDX-License-Identifier: Apache-2.0
 *
 * blob - the content of a file, kept in the log.
 *
 * A blob is one zstd frame with a content checksum (RFC 8878, section 3.1.1),
 * of this stream of little-endian numbers:
 *
 *     0   8   magic "sbblob1\n"
 *     8   8   size of the file, bytes
 *     then for each range of data, in rising order:
 *     0   8   offset in the file
 *     8   8   length n > 0
 *    16   n   the bytes
 *     and at the end one range with offset = size and length = 0
 *
 * What no range covers is a hole (SEEK_DATA, lseek(2)).
 */
#ifndef INTERCEPTOR_BLOB_H
#define INTERCEPTOR_BLOB_H

#include <stdint.h>

/* Copy the content of file (an fd open for reading) into dirfd/name, which
 * appears whole or not at all. *ret_size: bytes that the blob occupies. 0 or
 * -errno. */
int blob_save(int file, int dirfd, const char *name, int64_t *ret_size);

/* Read the whole blob and check it. 0, -ENOENT, -EBADMSG (corrupt) or another
 * -errno. */
int blob_verify(int dirfd, const char *name);

/* 1 if file (open for reading) has the blob's size and bytes, 0 if not, or
 * -errno. */
int blob_is_content(int dirfd, const char *name, int file);

/* Make file (open for writing) have the blob's content, size and holes. It is
 * changed in place, so that its other names keep it. Doing it again after an
 * interruption is harmless. */
int blob_restore(int dirfd, const char *name, int file);

#endif
