/* SPDX-License-Identifier: Apache-2.0
 *
 * inode_gone - see inode.h: inodes without a name in the share.
 */
#include "interceptor/inode/inode_parts.h"
#include "interceptor/sys/sys.h"

bool inode_has_no_name(const struct ic_inode *inode, const struct stat *st)
{
    unsigned log_links = atomic_load(&inode->log_links);

    return st->st_nlink == 0 || (log_links > 0 && (S_ISDIR(inode->type) ||
                                                   st->st_nlink <= log_links));
}

bool inode_is_gone(struct ic_inode *inode)
{
    struct stat st;
    bool gone;

    if (!inode_ref_open(inode))
        return false;
    gone = sys_stat_fd(inode->fd, &st) == 0 && inode_has_no_name(inode, &st);
    ic_inode_unref(inode);
    return gone;
}

void inode_note_suspect(struct ic_inode *inode)
{
    atomic_store_explicit(&inode->suspect, true, memory_order_relaxed);
}

void inode_begin_stale_pages(struct ic_inode *inode, uint64_t undo)
{
    atomic_store(&inode->pages_undo, undo);
    atomic_fetch_add(&inode->stale_pages, 1);
}

void inode_end_stale_pages(struct ic_inode *inode)
{
    atomic_fetch_sub(&inode->stale_pages, 1);
}

bool inode_pages_are_stale(const struct ic_inode *inode, uint64_t undos)
{
    return undos != INODE_NO_PAGES && (atomic_load(&inode->stale_pages) > 0 ||
                                       atomic_load(&inode->pages_undo) > undos);
}

void inode_note_found(struct ic_inode *inode)
{
    if (inode_check(inode) == 0 &&
        atomic_load_explicit(&inode->suspect, memory_order_relaxed))
        atomic_store_explicit(&inode->suspect, false, memory_order_relaxed);
}

int ic_inode_check_named(struct ic_inode *inode)
{
    bool was_seen = atomic_load_explicit(&inode->place_hash,
                                         memory_order_relaxed) != 0;

    return was_seen && inode_is_gone(inode) ? -ESTALE : 0;
}

void inode_take_stat(struct ic_inode *inode, struct stat *inout_stat)
{
    inode_note_size(inode, inout_stat->st_blocks * 512);
    inout_stat->st_nlink -= MIN(
        inout_stat->st_nlink,
        atomic_load_explicit(&inode->log_links, memory_order_relaxed));
}
