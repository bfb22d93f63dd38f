/* SPDX-License-Identifier: Apache-2.0
 *
 * capture_note - see capture_note.h.
 */
#include "interceptor/capture/capture_note.h"

#include "interceptor/sys/sys.h"

void capture_note_complete(struct wal *wal, struct ic_inode *inode)
{
    atomic_store(&inode->meta_epoch, wal->epoch);
    atomic_store(&inode->data_epoch, wal->epoch);
}

void capture_note_gone(struct wal *wal, const struct stat *before)
{
    struct step_inode *known = step_find_inode(wal->step, before->st_ino);

    if (!known || known->flags & STEP_KEPT ||
        (!S_ISDIR(before->st_mode) && before->st_nlink > 1))
        return; /* lives on in the log or under another name */
    if (known->flags & STEP_CREATED) {
        step_drop_created(wal->step, before->st_ino);
        atomic_fetch_add_explicit(&wal->n_dropped, 1, memory_order_relaxed);
    } else if (known->flags & STEP_RETIRING)
        step_note_retired(wal->step, known);
}

bool capture_may_go(struct wal *wal, const struct stat *now)
{
    struct step_inode *known = step_find_inode(wal->step, now->st_ino);

    return known && known->flags & (STEP_CREATED | STEP_KEPT);
}

void capture_note_kept(struct wal *wal, const struct stat *st)
{
    step_get_inode(wal->step, st->st_ino)->flags |= STEP_KEPT;
    log_links_change(wal->log_links, st->st_ino, 1);
    wal->moved += st->st_blocks * 512;
}

void capture_note_created(struct wal *wal, struct ic_inode *inode)
{
    step_get_inode(wal->step, inode->ino)->flags |= STEP_CREATED;
    capture_note_complete(wal, inode);
}

void capture_note_linked(struct wal *wal, struct ic_inode *inode)
{
    step_get_inode(wal->step, inode->ino)->flags |= STEP_LINKED;
}

void capture_note_unnamed(struct wal *wal, struct ic_inode *inode)
{
    capture_note_complete(wal, inode);
}
