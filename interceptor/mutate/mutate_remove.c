/* SPDX-License-Identifier: Apache-2.0
 *
 * mutate_remove - the mutation layer: removals. See mutate.c.
 */
#include "interceptor/mutate/mutate.h"

#include <errno.h>
#include <fcntl.h>

#include "common/fd.h"
#include "interceptor/capture/capture.h"
#include "interceptor/engine/durable.h"
#include "interceptor/engine/safeguard.h"
#include "interceptor/engine/writing.h"
#include "interceptor/mutate/mutate_again.h"
#include "interceptor/sys/sys.h"

static int check_removable(struct ic_inode *dir, const char *name,
                           const struct stat *now, int flags)
{
    int empty;

    if (!(flags & AT_REMOVEDIR))
        return S_ISDIR(now->st_mode) ? -EISDIR : 0;
    if (!S_ISDIR(now->st_mode))
        return -ENOTDIR;
    empty = sys_dir_is_empty(dir->fd, name);
    return empty < 0 ? empty : empty ? 0 : -ENOTEMPTY;
}

/* Check that the inode moved into the log is the one meant: another process may
 * have changed the tree between the stat and the move. */
static int check_moved(struct ic *ic, struct ic_inode *dir, const char *name,
                       const struct stat *now)
{
    struct step_name kept = step_inode_blob(now->st_ino);
    struct stat st;
    int rc = sys_stat_name(ic->wal.blobs, kept.text, &st);

    if (rc == 0 && st.st_ino != now->st_ino)
        rc = -EAGAIN;
    if (rc == 0 && S_ISDIR(st.st_mode)) {
        int empty = sys_dir_is_empty(ic->wal.blobs, kept.text);

        rc = empty < 0 ? empty : empty ? 0 : -ENOTEMPTY;
    }
    if (rc < 0)
        sys_rename_noreplace(ic->wal.blobs, kept.text, dir->fd, name);
    return rc;
}

int mutate_move_into_log(struct ic *ic, struct ic_inode *dir, const char *name,
                         const struct stat *now)
{
    int rc = sys_rename_noreplace(dir->fd, name, ic->wal.blobs,
                                  step_inode_blob(now->st_ino).text);

    if (rc == 0)
        rc = check_moved(ic, dir, name, now);
    if (rc == 0)
        capture_note_kept(&ic->wal, now);
    /* A directory without write permission cannot get another "..". */
    if (rc == -EACCES && S_ISDIR(now->st_mode))
        return -EXDEV;
    return rc;
}

static int remove_name(struct ic *ic, struct ic_inode *dir, const char *name,
                       const struct stat *now, int flags)
{
    int rc;

    if (!core_captures(ic))
        return sys_unlinkat(dir->fd, name, flags);
    rc = capture_binding(&ic->wal, dir, name, now);
    if (rc == 0)
        rc = durable_check(ic);
    if (rc < 0)
        return rc;
    if (!capture_may_go(&ic->wal, now)) {
        rc = mutate_move_into_log(ic, dir, name, now);
        if (rc != -EXDEV)
            return rc;
        rc = capture_copy(&ic->wal, dir, name, now);
        if (rc == -EXFULL)
            rc = limits_unprotect(ic, now->st_ino, now->st_size);
        if (rc == 0)
            rc = durable_check_now(ic);
        if (rc < 0)
            return rc;
    }
    rc = sys_unlinkat(dir->fd, name, flags);
    if (rc == 0)
        capture_note_gone(&ic->wal, now);
    return rc;
}

struct inode_victim mutate_hold_name(struct ic *ic, const struct ic_inode *dir,
                                     const char *name)
{
    inode_table_begin_move(ic->inodes);
    return name ? inode_table_hold_name(ic->inodes, dir, name)
                : (struct inode_victim){ 0 };
}

void mutate_let_go(struct ic *ic, struct inode_victim *victim, int rc,
                   const struct ic_inode *dir, const char *name)
{
    if (rc == 0)
        inode_note_removed(victim, dir, name);
    else
        inode_victim_clear(victim);
    inode_table_end_move(ic->inodes);
}

/* Without undo, nothing about the inode needs to be known. */
static int unlink_unkept(struct ic *ic, struct ic_inode *dir, const char *name,
                         int flags)
{
    struct inode_victim victim = mutate_hold_name(ic, dir, name);
    int rc = sys_unlinkat(dir->fd, name, flags);

    mutate_let_go(ic, &victim, rc, dir, name);
    return rc;
}

static int unlink_once(struct ic *ic, struct ic_inode *dir, const char *name,
                       int flags)
{
    struct inode_victim victim;
    struct stat now;
    int rc = mutate_begin(ic, dir, name);

    if (rc < 0)
        return rc;
    if (!ic->undo_dir)
        return mutate_finish(ic, unlink_unkept(ic, dir, name, flags));
    victim = mutate_hold_name(ic, dir, name);
    for (int i = 0; i < MUTATE_RACE_TRIES; i++) {
        rc = sys_stat_name(dir->fd, name, &now);
        if (rc == 0 && ic->log && now.st_dev != ic->dev)
            rc = -EBUSY; /* a mount point */
        if (rc == 0)
            rc = check_removable(dir, name, &now, flags);
        if (rc == 0)
            rc = safeguard_check_delete(ic, dir, name, &now);
        if (rc == 0)
            rc = remove_name(ic, dir, name, &now, flags);
        if (rc != -EAGAIN)
            break;
    }
    if (rc == 0) {
        safeguard_note_deleted(ic);
        writing_note_name(ic, dir, name);
        if (S_ISDIR(now.st_mode))
            inode_end_tag(ic->inodes, now.st_dev, now.st_ino);
    }
    mutate_let_go(ic, &victim, rc, dir, name);
    return mutate_finish(ic, rc == -EAGAIN ? -EBUSY : rc);
}

int ic_unlinkat(struct ic *ic, struct ic_inode *dir, const char *name,
                int flags)
{
    if (flags & ~AT_REMOVEDIR)
        return -EINVAL;
    return MUTATE_WITH_ROOM(
        ic, limits_make_room_to_remove,
        MUTATE_UNPARKED(ic, unlink_once(ic, dir, name, flags)));
}
