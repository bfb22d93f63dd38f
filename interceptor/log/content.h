/* SPDX-License-Identifier: Apache-2.0
 *
 * content - how much of a file's content the open step has kept.
 *
 * A file's content is kept in blocks, each once a step, before something of
 * it changes: a write of 4 KiB into a file of 10 GiB costs one block. Blocks
 * are CONTENT_BLOCK bytes; larger, by a power of two, where there would be
 * more than CONTENT_MAX_BLOCKS. What is beyond the size that the file had
 * before the step needs no keeping: undo cuts it off. But if the file ends in a
 * hole within a block of the filesystem, growing may fill that block; so it is
 * noted at the first touch.
 *
 * A file of no more than a block is kept whole at its first change.
 *
 * Where the filesystem can share data (reflink), a file of more than a block
 * is kept whole, at once, as a clone.
 *
 * Threads: content_has() takes no lock and may be called with the engine's
 * gate read-locked. lock guards the rest; it is a leaf but for the pack's.
 * A content lives as long as its step is open.
 */
#ifndef INTERCEPTOR_LOG_CONTENT_H
#define INTERCEPTOR_LOG_CONTENT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

enum {
    CONTENT_BLOCK_SHIFT = 17,
    CONTENT_BLOCK = 1 << CONTENT_BLOCK_SHIFT,
    CONTENT_MAX_BLOCKS = 1 << 23, /* 1 TiB in blocks of 128 KiB */
};

struct content {
    int64_t number; /* in the pack; and in the clone's name */
    off_t size;     /* of the file before the step, bytes */

    pthread_mutex_t lock;
    bool cloned;
    off_t tail; /* where the last part begins, if it may be a hole; or -1 */
    unsigned shift;
    size_t blocks, left;     /* all, and those not kept yet */
    _Atomic uint64_t bits[]; /* of the kept blocks */
};

/* For a file whose stat is st. NULL if there is no memory for it. */
struct content *content_new(int64_t number, const struct stat *st);
void content_free(struct content *content);

/* Is all of [offset, offset + length) kept that the file had? */
bool content_has(const struct content *content, off_t offset, off_t length);

/* Everything is kept; as a clone. */
bool content_is_complete(struct content *content);
bool content_is_cloned(struct content *content);

struct content_store {
    int blobs;
    struct pack *pack;
    atomic_bool *no_clones; /* set when the filesystem turns out to have none */
    int64_t room;           /* bytes that may be copied */
    bool sync;              /* a clone must be on disk before it is relied on */
};

/* Keep what is missing of [offset, offset + length). inode_fd: any fd of the
 * file. 0 or -errno; -EXFULL: that could be more than there is room for. */
int content_keep(struct content *content, const struct content_store *store,
                 int inode_fd, off_t offset, off_t length);

#endif
