/* SPDX-License-Identifier: Apache-2.0
 *
 * content - see content.h.
 */
#include "interceptor/log/content.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/fd.h"
#include "interceptor/log/pack.h"
#include "interceptor/log/step.h"
#include "interceptor/sys/sys.h"

enum { WORD = 64 };

/* st_blocks cannot rule out a hole: it counts attributes and blocks allocated
 * beyond the end. */
static off_t find_tail(const struct stat *st)
{
    off_t block = st->st_blksize > 0 ? st->st_blksize : 4096;

    return st->st_size % block == 0 ? -1 : st->st_size - st->st_size % block;
}

struct content *content_new(int64_t number, const struct stat *st)
{
    unsigned shift = CONTENT_BLOCK_SHIFT;
    off_t size = st->st_size;
    struct content *content;
    size_t blocks;

    while (((size - 1) >> shift) >= CONTENT_MAX_BLOCKS)
        shift++;
    blocks = size > 0 ? (size_t)((size - 1) >> shift) + 1 : 0;
    /* calloc(): untouched pages of a large map use no memory. */
    content = calloc(1, sizeof(*content) +
                            (blocks + WORD - 1) / WORD * sizeof(uint64_t));
    if (!content)
        return NULL;
    content->number = number;
    content->size = size;
    content->tail = find_tail(st);
    content->shift = shift;
    content->blocks = content->left = blocks;
    pthread_mutex_init(&content->lock, NULL);
    return content;
}

void content_free(struct content *content)
{
    if (!content)
        return;
    pthread_mutex_destroy(&content->lock);
    free(content);
}

/* ---- blocks -------------------------------------------------------------- */

/* Return the blocks [*ret_first, *ret_end) of the original file that the range
 * touches. */
static void find_blocks(const struct content *content, off_t offset,
                        off_t length, size_t *ret_first, size_t *ret_end)
{
    off_t end;

    *ret_first = *ret_end = 0;
    if (offset < 0 || length <= 0 || offset >= content->size)
        return;
    end = length > content->size - offset ? content->size : offset + length;
    *ret_first = (size_t)(offset >> content->shift);
    *ret_end = (size_t)((end - 1) >> content->shift) + 1;
}

static bool has_block(const struct content *content, size_t block)
{
    uint64_t word = atomic_load_explicit(&content->bits[block / WORD],
                                         memory_order_acquire);

    return word >> block % WORD & 1;
}

static void set_block(struct content *content, size_t block)
{
    atomic_fetch_or_explicit(&content->bits[block / WORD],
                             (uint64_t)1 << block % WORD, memory_order_release);
    content->left--;
}

bool content_has(const struct content *content, off_t offset, off_t length)
{
    size_t block, end;

    find_blocks(content, offset, length, &block, &end);
    for (; block < end; block++) {
        if (!has_block(content, block))
            return false;
    }
    return true;
}

bool content_is_complete(struct content *content)
{
    bool complete;

    pthread_mutex_lock(&content->lock);
    complete = content->left == 0;
    pthread_mutex_unlock(&content->lock);
    return complete;
}

bool content_is_cloned(struct content *content)
{
    bool cloned;

    pthread_mutex_lock(&content->lock);
    cloned = content->cloned;
    pthread_mutex_unlock(&content->lock);
    return cloned;
}

/* ---- keeping ------------------------------------------------------------- */

static int open_file(int inode_fd)
{
    int fd = sys_reopen(inode_fd, O_RDONLY | O_NONBLOCK | O_NOATIME);

    if (fd == -EPERM) /* O_NOATIME is for the file's owner only */
        fd = sys_reopen(inode_fd, O_RDONLY | O_NONBLOCK);
    return fd;
}

/* Return 1 if the file was cloned; 0 if it must be copied instead; or -errno.
 */
static int try_clone(struct content *content, const struct content_store *store,
                     int file)
{
    struct step_name name = step_clone_blob(content->number);
    fd_auto int clone = -1;
    int rc;

    if (content->size <= CONTENT_BLOCK || content->left < content->blocks ||
        atomic_load_explicit(store->no_clones, memory_order_relaxed))
        return 0;
    clone = sys_openat(store->blobs, name.text,
                       O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600);
    if (clone < 0)
        return clone;
    rc = sys_clone(file, clone);
    if (rc == 0 && store->sync) {
        rc = sys_fsync(clone);
        return rc < 0 ? rc : 1;
    }
    if (rc == 0)
        return 1;
    sys_unlinkat(store->blobs, name.text, 0);
    /* Other errors, such as EINVAL for a file without copy-on-write, concern
     * this file only. */
    if (rc == -EOPNOTSUPP || rc == -EXDEV || rc == -ENOTTY || rc == -ENOSYS)
        atomic_store(store->no_clones, true);
    return rc == -ENOSPC || rc == -EDQUOT || rc == -EIO ? rc : 0;
}

static void set_all(struct content *content)
{
    for (size_t i = 0; i < content->blocks; i++) {
        if (!has_block(content, i))
            set_block(content, i);
    }
}

/* Return how many blocks, from this one on, are entirely a hole. */
static size_t hole_blocks(const struct content *content, int file, size_t first,
                          size_t end)
{
    off_t data = lseek(file, (off_t)first << content->shift, SEEK_DATA);

    if (data < 0)
        return errno == ENXIO ? end - first : 0;
    return MIN(end, (size_t)(data >> content->shift)) - first;
}

/* Return the end of a run of blocks of which none is saved. */
static size_t run_end(const struct content *content, int file, size_t first,
                      size_t end)
{
    /* Limit the run: a run that is saved is not saved again if a later one
     * fails. A hole is one entry of any length. */
    size_t most = MAX((size_t)1, (size_t)PACK_MAX_DATA >> content->shift);
    size_t block = first;

    if (!has_block(content, first))
        most = MAX(most, hole_blocks(content, file, first, end));
    while (block < end && block - first < most && !has_block(content, block))
        block++;
    return block;
}

static int keep_blocks(struct content *content,
                       const struct content_store *store, int file,
                       size_t block, size_t end)
{
    while (block < end) {
        size_t next = run_end(content, file, block, end);
        int rc;

        if (next == block) {
            block++;
            continue;
        }
        rc = pack_save(store->pack, content->number, file,
                       (off_t)block << content->shift,
                       MIN((off_t)next << content->shift, content->size));
        if (rc < 0)
            return rc;
        for (; block < next; block++)
            set_block(content, block);
    }
    return 0;
}

/* Holes use no room. Compare the file's allocated size instead of looking for
 * them. */
static bool fits(const struct content *content,
                 const struct content_store *store, int file, size_t block,
                 size_t end)
{
    int64_t most = 0;
    struct stat st;

    for (; block < end; block++)
        most += has_block(content, block) ? 0 : (int64_t)1 << content->shift;
    if (MIN(most, content->size) <= store->room)
        return true;
    return sys_stat_fd(file, &st) == 0 && st.st_blocks * 512 <= store->room;
}

/* Save the whole last block, not the tail alone: otherwise the tail would be
 * saved again with the block, when the file may have been appended to. */
static int keep_tail(struct content *content, const struct content_store *store,
                     int inode_fd)
{
    fd_auto int file = open_file(inode_fd);
    size_t last = content->blocks - 1;
    int rc = 0;

    if (file == -EACCES) /* an append-only file, for example */
        content->tail = -1;
    if (file < 0)
        return file == -EACCES ? 0 : file;
    if (lseek(file, content->size - 1, SEEK_DATA) != content->size - 1) {
        if (!fits(content, store, file, last, content->blocks))
            return -EXFULL;
        rc = keep_blocks(content, store, file, last, content->blocks);
    }
    if (rc == 0)
        content->tail = -1;
    return rc;
}

/* Save a file of one block whole at its first change, even an append, so that a
 * forced undo can recreate it if another process has replaced or removed it.
 * The change itself does not need this, so it does not fail if there is no
 * room. */
static void keep_small(struct content *content,
                       const struct content_store *store, int inode_fd)
{
    fd_auto int file = -1;

    if (content->blocks != 1 || content->left == 0)
        return;
    file = open_file(inode_fd);
    if (file >= 0 && fits(content, store, file, 0, 1))
        keep_blocks(content, store, file, 0, 1);
}

static int keep_locked(struct content *content,
                       const struct content_store *store, int inode_fd,
                       off_t offset, off_t length)
{
    fd_auto int file = -1;
    size_t block, end;
    int rc;

    if (content->tail >= 0) {
        rc = keep_tail(content, store, inode_fd);
        if (rc < 0)
            return rc;
    }
    if (content_has(content, offset, length)) {
        keep_small(content, store, inode_fd);
        return 0;
    }
    file = open_file(inode_fd);
    if (file < 0)
        return file;
    rc = try_clone(content, store, file);
    if (rc == 1) {
        content->cloned = true;
        set_all(content);
    }
    if (rc != 0)
        return MIN(rc, 0);
    find_blocks(content, offset, length, &block, &end);
    if (!fits(content, store, file, block, end))
        return -EXFULL;
    return keep_blocks(content, store, file, block, end);
}

int content_keep(struct content *content, const struct content_store *store,
                 int inode_fd, off_t offset, off_t length)
{
    int rc;

    pthread_mutex_lock(&content->lock);
    rc = keep_locked(content, store, inode_fd, offset, length);
    pthread_mutex_unlock(&content->lock);
    return rc;
}
