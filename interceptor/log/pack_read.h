/* SPDX-License-Identifier: Apache-2.0
 *
 * pack_read - the entries of a pack (pack.h).
 */
#ifndef INTERCEPTOR_LOG_PACK_READ_H
#define INTERCEPTOR_LOG_PACK_READ_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define PACK_NAME       "data"
#define PACK_COMPRESSED "data.zst"

enum { PACK_MAX_DATA = 256 << 10 };

struct pack_entry {
    int64_t number;
    off_t offset, length; /* >= 0, as is their sum */
    const void *data;     /* NULL for a hole */
};

/* Read all entries in order. A data entry's checksum has been verified when the
 * callback gets it; the callback returns 0, or -errno to stop. sealed: the pack
 * must have its end entry, else a torn entry ends it. -ENOENT: there is none;
 * -EBADMSG: it is damaged. */
int pack_read(int blobs, bool sealed,
              int (*entry)(const struct pack_entry *entry, void *opaque),
              void *opaque);

#endif
