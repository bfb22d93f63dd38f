/* SPDX-License-Identifier: Apache-2.0
 *
 * content - the parts of a file's content that the open step has saved.
 *
 * Content is saved in blocks, each once per step, before a change of any part
 * of it: a write of 4 KiB into a file of 10 GiB saves one block. Blocks are
 * CONTENT_BLOCK bytes; larger, by a power of two, if there would be more than
 * CONTENT_MAX_BLOCKS. Bytes beyond the size before the step need no saving:
 * undo truncates them. But if the file ends in a hole within a filesystem
 * block, growing the file may fill that block; so the last block is saved at
 * the first touch.
 *
 * A file of at most one block is saved whole at its first change. Where the
 * filesystem can share data (reflink), a larger file is saved whole at once, as
 * a clone.
 *
 * Threads: content_has() takes no lock and may run with the engine's gate
 * read-locked. lock guards the rest; under it only the pack's lock is taken. A
 * content lives as long as its step is open.
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
    int64_t number; /* of the pack's entries and of the clone's name */
    off_t size;     /* of the file before the step, in bytes */

    pthread_mutex_t lock;
    bool cloned;
    off_t tail; /* start of the last part, if that may be a hole; or -1 */
    unsigned shift;
    size_t blocks, left;     /* all blocks, and those not saved yet */
    _Atomic uint64_t bits[]; /* one per saved block */
};

/* Make the state for a file with this stat. NULL if there is no memory. */
struct content *content_new(int64_t number, const struct stat *st);
void content_free(struct content *content);

/* Return whether all of the original file in [offset, offset + length) is
 * saved. */
bool content_has(const struct content *content, off_t offset, off_t length);

/* Return whether everything is saved, and whether as a clone. */
bool content_is_complete(struct content *content);
bool content_is_cloned(struct content *content);

struct content_store {
    int blobs;
    struct pack *pack;
    atomic_bool *no_clones; /* set when the filesystem turns out not to support
                             * clones */
    int64_t room;           /* bytes that may be copied */
    bool sync;              /* a clone must be on disk before the change that
                             * needs it */
};

/* Save the missing part of [offset, offset + length). inode_fd: any fd of the
 * file. Returns 0 or -errno; -EXFULL: it might exceed the room. */
int content_keep(struct content *content, const struct content_store *store,
                 int inode_fd, off_t offset, off_t length);

#endif
