/* SPDX-License-Identifier: Apache-2.0
 *
 * pack - the bytes of files that a step was about to destroy.
 *
 * A step has one pack, blobs/data: an append-only file of ranges, in the order
 * in which they were captured. "number" is that of the content (step.h's d
 * record), so that one pack serves all files of the step. Little-endian:
 *
 *      0   8   magic "sbpack1\n"
 *     then entries:
 *      0   4   CRC-32C of bytes 4 to 39
 *      4   4   kind: 1 data, 2 hole, 3 end
 *      8   8   number; of the end: how many entries are before it
 *     16   8   offset in the file, bytes; of the end: 0
 *     24   8   length, bytes; of the end: 0
 *     32   4   CRC-32C of the data; 0 if there is none
 *     36   4   0
 *     40   n   the bytes, if the kind is data; n = length <= PACK_MAX_DATA
 *
 * P1  An entry is whole before the bytes that it keeps are changed. So a torn
 *     entry at the end, which a kill leaves, kept nothing that was needed.
 * P2  A committed step's pack ends with its end entry: if that is missing,
 *     the pack was cut.
 * P3  An append that fails leaves the pack as it was.
 *
 * Compressed, after the step is committed, it is blobs/data.zst: one zstd
 * frame of the same stream. While both exist they say the same.
 *
 * Threads: pack_save() may be called by several; the rest not beside it.
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

/* Go on with blobs/data, which a kill may have cut off within an entry. 0,
 * -ENOENT: there is none; -EBADMSG: it is damaged; or another -errno. */
int pack_reopen(int blobs, struct pack **ret_pack);

/* NULL is allowed. */
void pack_close(struct pack *pack);

/* Keep [start, end) of file (open for reading), of which no more than what is
 * there: its data, and its holes as holes. 0 or -errno. */
int pack_save(struct pack *pack, int64_t number, int file, off_t start,
              off_t end);

/* Write the end entry. Doing it again, after more was saved (a commit that
 * failed), is fine. 0 or -errno. */
int pack_seal(struct pack *pack);

/* Bytes that it occupies in the log. Never waits. */
int64_t pack_size(struct pack *pack);

/* fdatasync(2). */
int pack_sync(struct pack *pack);

/* Replace the pack, which has been sealed, by a compressed one, if there is
 * one and that gains anything. Stops with -ECANCELED soon after *cancel is
 * set. sync: it must survive a power cut before the other goes. Killed
 * anywhere, one of the two is whole. 0 or -errno. */
int pack_compress(int blobs, const atomic_bool *cancel, bool sync);

#endif
