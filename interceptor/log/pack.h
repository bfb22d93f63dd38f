/* SPDX-License-Identifier: Apache-2.0
 *
 * pack - the file content that a step was about to destroy.
 *
 * A step has one pack, blobs/data: an append-only file of ranges, in the order
 * in which they were captured. "number" identifies the content (step.h, d
 * record), so that one pack serves all files of the step. Little-endian:
 *
 *      0   8   magic "sbpack1\n"
 *     then entries:
 *      0   4   CRC-32C of bytes 4 to 39
 *      4   4   kind: 1 data, 2 hole, 3 end
 *      8   8   number; in the end entry: how many entries precede it
 *     16   8   offset in the file, bytes; in the end entry: 0
 *     24   8   length, bytes; in the end entry: 0
 *     32   4   CRC-32C of the data; 0 if there is none
 *     36   4   0
 *     40   n   the bytes, if the kind is data; n = length <= PACK_MAX_DATA
 *
 * P1  An entry is complete before the bytes that it saves are changed. So a
 *     torn entry at the end, which a kill leaves, saved nothing needed.
 * P2  A committed step's pack ends with its end entry: if that is missing,
 *     the pack was truncated.
 * P3  A failed append leaves the pack as it was.
 *
 * The compressed form, made after the step is committed, is blobs/data.zst: one
 * zstd frame of the same stream. While both exist they are equal.
 *
 * Threads: several may call pack_save() at once; the other calls need exclusive
 * access.
 */
#ifndef INTERCEPTOR_LOG_PACK_H
#define INTERCEPTOR_LOG_PACK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "interceptor/log/pack_read.h"

struct pack;

/* Make blobs/data, which must not exist. 0 or -errno. */
int pack_create(int blobs, struct pack **ret_pack);

/* Continue blobs/data, which a kill may have torn within an entry. Returns 0;
 * -ENOENT: there is none; -EBADMSG: it is damaged; or another -errno. */
int pack_reopen(int blobs, struct pack **ret_pack);

/* NULL is allowed. */
void pack_close(struct pack *pack);

/* Save [start, end) of file (open for reading), up to the end of the file: data
 * as data, holes as holes. Returns 0 or -errno. */
int pack_save(struct pack *pack, int64_t number, int file, off_t start,
              off_t end);

/* Write the end entry. May be repeated after more was saved (a commit that
 * failed). Returns 0 or -errno. */
int pack_seal(struct pack *pack);

/* Return the bytes that it occupies in the log. Never waits. */
int64_t pack_size(struct pack *pack);

/* fdatasync(2). */
int pack_sync(struct pack *pack);

/* Replace a sealed pack by a compressed one, if there is a pack and compression
 * saves room. Stops with -ECANCELED soon after *cancel is set. sync: the new
 * file must survive a power cut before the old one is removed. A kill at any
 * moment leaves one of the two complete. Returns 0 or -errno. */
int pack_compress(int blobs, const atomic_bool *cancel, bool sync);

#endif
