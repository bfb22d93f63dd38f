/* SPDX-License-Identifier: Apache-2.0
 *
 * mutate_rename - the mutation layer: renames. See mutate.c.
 *
 * If a rename replaces a file, the file first gets a link in the log, so that
 * the name always exists; a directory cannot be linked, so source and target
 * are exchanged and the old directory is then moved away. If there is nothing
 * to replace, the rename uses RENAME_NOREPLACE: otherwise a file that another
 * process makes meanwhile would be lost.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/log_name.h"
#include "common/fd.h"
#include "interceptor/engine/durable.h"
#include "interceptor/engine/gate.h"
#include "interceptor/engine/safeguard.h"
#include "interceptor/engine/writing.h"
#include "interceptor/mutate/mutate.h"
#include "interceptor/mutate/mutate_again.h"
#include "interceptor/mutate/mutate_name.h"
#include "interceptor/sys/rights.h"
#include "interceptor/sys/sys.h"

struct rename_end {
    struct ic_inode *dir;
    const char *name;
    bool exists;
    struct stat st;
};

static int look(struct ic *ic, struct rename_end *end)
{
    int rc = sys_stat_name(end->dir->fd, end->name, &end->st);

    end->exists = rc == 0;
    if (rc == 0 && ic->log && end->st.st_dev != ic->dev)
        return -EBUSY;
    return rc == -ENOENT ? 0 : rc;
}

/* The checks that rename(2) makes for an existing target, and that saving the
 * target would bypass. */
static int check_replaceable(const struct rename_end *from,
                             const struct rename_end *to)
{
    int empty;

    if (S_ISDIR(to->st.st_mode) && !S_ISDIR(from->st.st_mode))
        return -EISDIR;
    if (!S_ISDIR(to->st.st_mode))
        return S_ISDIR(from->st.st_mode) ? -ENOTDIR : 0;
    empty = sys_dir_is_empty(to->dir->fd, to->name);
    return empty < 0 ? empty : empty ? 0 : -ENOTEMPTY;
}

/* Link the target into the log, then rename over it. */
static int replace_linked(struct ic *ic, const struct rename_end *from,
                          const struct rename_end *to)
{
    struct step_name kept = step_inode_blob(to->st.st_ino);
    struct stat st;
    int rc = sys_linkat(to->dir->fd, to->name, ic->wal.blobs, kept.text);

    if (rc < 0)
        return rc;
    rc = sys_stat_name(ic->wal.blobs, kept.text, &st);
    if (rc == 0 && st.st_ino != to->st.st_ino)
        rc = -EAGAIN;
    if (rc == 0)
        rc = sys_renameat2(from->dir->fd, from->name, to->dir->fd, to->name, 0);
    if (rc == 0)
        capture_note_kept(&ic->wal, &to->st);
    else
        sys_unlinkat(ic->wal.blobs, kept.text, 0);
    return rc;
}

/* Return whether the directory is the one with this number, or below it. */
static bool is_below(struct ic *ic, const struct ic_inode *dir, ino_t above)
{
    struct stat st = { .st_ino = dir->ino };
    fd_auto int fd = -1;

    while (st.st_ino != above && st.st_ino != ic->root->ino) {
        ino_t last = st.st_ino;
        int up = sys_openat(fd < 0 ? dir->fd : fd, "..",
                            O_PATH | O_DIRECTORY | O_NOFOLLOW, 0);

        fd_close(&fd);
        fd = up;
        if (fd < 0 || sys_stat_fd(fd, &st) < 0 || st.st_ino == last)
            return false;
    }
    return st.st_ino == above;
}

/* An exchange gives directories another "..", and on XFS, unlike a rename, that
 * changes their mtime. */
static int capture_exchanged(struct ic *ic, const struct rename_end *end)
{
    int rc = S_ISDIR(end->st.st_mode)
                 ? capture_meta_at(&ic->wal, end->dir, end->name, &end->st)
                 : 0;

    /* Another process made it in a directory that the step made: it has no
     * place before the step. */
    return rc == -ESTALE ? 0 : rc;
}

/* Return whether this will be an exchange between parents, on request or to
 * save a directory. */
static bool is_exchange(struct ic *ic, const struct rename_end *from,
                        const struct rename_end *to, unsigned flags)
{
    if (!to->exists || from->dir == to->dir)
        return false;
    return flags & RENAME_EXCHANGE ||
           (S_ISDIR(to->st.st_mode) && !capture_may_go(&ic->wal, &to->st));
}

/* The client requested a rename, which would have kept the mtime. The name was
 * that of the moved directory; if it is anything else now, another process put
 * it there. */
static void set_mtime_back(const struct rename_end *from,
                           const struct rename_end *to)
{
    const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT },
                                       from->st.st_mtim };
    fd_auto int fd = -1;
    struct stat st;

    if (from->dir == to->dir)
        return;
    fd = sys_openat(to->dir->fd, to->name, O_PATH | O_DIRECTORY | O_NOFOLLOW,
                    0);
    if (fd >= 0 && sys_stat_fd(fd, &st) == 0 && st.st_ino == from->st.st_ino &&
        (st.st_mtim.tv_sec != times[1].tv_sec ||
         st.st_mtim.tv_nsec != times[1].tv_nsec))
        sys_utimens_fd(fd, times);
}

/* Exchange, then move the old target away. If that fails, exchange again; the
 * target must then be copied. EINVAL: this filesystem cannot exchange; but a
 * directory that would move below itself also gives EINVAL, and must not lead
 * to a copy, since the target would stay. */
static int replace_exchanged(struct ic *ic, const struct rename_end *from,
                             const struct rename_end *to)
{
    int rc = sys_renameat2(from->dir->fd, from->name, to->dir->fd, to->name,
                           RENAME_EXCHANGE);

    if (rc < 0)
        return rc == -EINVAL && !is_below(ic, to->dir, from->st.st_ino) ? -EXDEV
                                                                        : rc;
    rc = mutate_move_into_log(ic, from->dir, from->name, &to->st);
    if (rc < 0)
        sys_renameat2(from->dir->fd, from->name, to->dir->fd, to->name,
                      RENAME_EXCHANGE);
    return rc;
}

static int replace(struct ic *ic, const struct rename_end *from,
                   const struct rename_end *to)
{
    int rc = -EXDEV;

    if (!capture_may_go(&ic->wal, &to->st)) {
        bool is_dir = S_ISDIR(to->st.st_mode);

        if (!is_dir)
            rc = replace_linked(ic, from, to);
        /* EPERM: fs.protected_hardlinks, or a filesystem without links. */
        if (is_dir || rc == -EPERM || rc == -EMLINK || rc == -EOPNOTSUPP)
            rc = replace_exchanged(ic, from, to);
        if (rc != -EXDEV)
            return rc;
        rc = capture_copy(&ic->wal, to->dir, to->name, &to->st);
        if (rc == -EXFULL)
            rc = limits_unprotect(ic, to->st.st_ino, to->st.st_size);
        if (rc == 0)
            rc = durable_check_now(ic);
        if (rc < 0)
            return rc;
    }
    rc = sys_renameat2(from->dir->fd, from->name, to->dir->fd, to->name, 0);
    if (rc == 0)
        capture_note_gone(&ic->wal, &to->st);
    return rc;
}

static void set_place(struct ic *ic, const struct stat *st,
                      const struct rename_end *end)
{
    struct ic_inode *inode = inode_table_find(ic->inodes, st->st_dev,
                                              st->st_ino);

    if (inode) {
        inode_set_place(inode, end->dir, end->name);
        ic_inode_unhold(inode);
    }
}

/* Rename to a free name. -EAGAIN: another process made the name first. */
static int rename_free(struct ic *ic, const struct rename_end *from,
                       const struct rename_end *to, unsigned flags)
{
    int rc;

    if (flags != 0 || !core_captures(ic))
        return sys_renameat2(from->dir->fd, from->name, to->dir->fd, to->name,
                             flags);
    rc = sys_rename_noreplace(from->dir->fd, from->name, to->dir->fd, to->name);
    return rc == -EEXIST ? -EAGAIN : rc;
}

static int rename_captured(struct ic *ic, const struct rename_end *from,
                           const struct rename_end *to, unsigned flags)
{
    int rc = 0;

    if (core_captures(ic)) {
        rc = capture_rename(&ic->wal, from->dir, from->name, &from->st);
        if (rc == 0 && flags & RENAME_EXCHANGE)
            rc = capture_rename(&ic->wal, to->dir, to->name, &to->st);
        if (rc == 0)
            rc = capture_binding(&ic->wal, from->dir, from->name, &from->st);
        if (rc == 0)
            rc = capture_binding(&ic->wal, to->dir, to->name,
                                 to->exists ? &to->st : NULL);
        if (rc == 0 && is_exchange(ic, from, to, flags)) {
            rc = capture_exchanged(ic, from);
            if (rc == 0)
                rc = capture_exchanged(ic, to);
        }
        if (rc == 0)
            rc = durable_check(ic);
        if (rc < 0)
            return rc;
        if (to->exists && !(flags & RENAME_EXCHANGE)) {
            rc = replace(ic, from, to);
            if (rc == 0 && S_ISDIR(from->st.st_mode))
                set_mtime_back(from, to);
            return rc;
        }
    }
    return rename_free(ic, from, to, flags);
}

static void set_places(struct ic *ic, const struct rename_end *from,
                       const struct rename_end *to, unsigned flags)
{
    set_place(ic, &from->st, to);
    if (flags & RENAME_EXCHANGE)
        set_place(ic, &to->st, from);
}

/* Use the inode last seen there: a hint, with only identity and type in its
 * stat. */
static bool find_seen(struct ic *ic, struct rename_end *end)
{
    struct ic_inode *inode = inode_table_find_at(ic->inodes, end->dir,
                                                 end->name);

    end->exists = inode != NULL;
    if (!inode)
        return false;
    end->st.st_ino = inode->ino;
    end->st.st_dev = inode->dev;
    end->st.st_mode = inode->type;
    ic_inode_unhold(inode);
    return true;
}

/* Find the inode that moves, to update its location. If inodes are closed, it
 * must be certain, and inode_fds.c checks the closed ones again. */
static int find_moved(struct ic *ic, struct rename_end *end)
{
    return !inode_table_is_crowded(ic->inodes) && find_seen(ic, end)
               ? 0
               : look(ic, end);
}

static int rename_unkept(struct ic *ic, struct rename_end *from,
                         struct rename_end *to, unsigned flags)
{
    int rc = find_moved(ic, from);

    if (rc == 0 && flags & RENAME_EXCHANGE)
        rc = find_moved(ic, to);
    if (rc == 0)
        rc = sys_renameat2(from->dir->fd, from->name, to->dir->fd, to->name,
                           flags);
    if (rc == 0)
        set_places(ic, from, to, flags);
    return rc;
}

static bool is_one_name(const struct rename_end *a, const struct rename_end *b)
{
    return a->dir == b->dir && strcmp(a->name, b->name) == 0;
}

/* Stat a recorded target only if the rename finds something there. */
static int look_at_target(struct ic *ic, struct rename_end *to, unsigned flags,
                          bool again)
{
    to->exists = false;
    return flags == 0 && !again && core_captures(ic) &&
                   capture_has_binding(&ic->wal, to->dir, to->name)
               ? 0
               : look(ic, to);
}

/* Return whether nothing is left to record or check: both names are recorded,
 * and the source is not a directory, which undo might be unable to put aside.
 */
static bool is_recorded(struct ic *ic, struct rename_end *from,
                        struct rename_end *to, unsigned flags)
{
    return flags == 0 && core_captures(ic) &&
           !inode_table_is_crowded(ic->inodes) && rights_override_mode() &&
           capture_has_binding(&ic->wal, from->dir, from->name) &&
           capture_has_binding(&ic->wal, to->dir, to->name) &&
           find_seen(ic, from) && !S_ISDIR(from->st.st_mode);
}

/* Such a rename needs no stat of its source: it fails by itself if there is
 * none, or if the target exists (-EAGAIN). */
static int rename_recorded(struct ic *ic, const struct rename_end *from,
                           const struct rename_end *to)
{
    int rc = durable_check(ic);

    if (rc == 0)
        rc = rename_free(ic, from, to, 0);
    if (rc == 0)
        set_places(ic, from, to, 0);
    return rc;
}

static int rename_once(struct ic *ic, struct rename_end *from,
                       struct rename_end *to, unsigned flags, bool again)
{
    int rc;

    if (!ic->undo_dir)
        return rename_unkept(ic, from, to, flags);
    if (!again && is_recorded(ic, from, to, flags))
        return rename_recorded(ic, from, to);
    rc = look(ic, from);
    if (rc == 0)
        rc = look_at_target(ic, to, flags, again);
    if (rc < 0)
        return rc;
    if (!from->exists || (flags & RENAME_EXCHANGE && !to->exists))
        return -ENOENT;
    if (to->exists && flags & RENAME_NOREPLACE)
        return -EEXIST;
    if (to->exists && from->st.st_ino == to->st.st_ino &&
        from->st.st_dev == to->st.st_dev)
        return is_one_name(from, to) || !S_ISDIR(to->st.st_mode)
                   ? 0       /* two links of one inode: no effect (rename(2)) */
                   : -EBUSY; /* directories have one link: a bind mount */
    if (to->exists && !(flags & RENAME_EXCHANGE)) {
        rc = check_replaceable(from, to);
        if (rc == 0)
            rc = safeguard_check_rename(ic, from->dir, from->name, to->dir,
                                        to->name, &to->st);
        if (rc < 0)
            return rc;
    }
    rc = rename_captured(ic, from, to, flags);
    if (rc == 0)
        set_places(ic, from, to, flags);
    return rc;
}

/* Two names of one inode: nothing was removed. */
static bool is_renamed(const struct ic_inode *victim,
                       const struct rename_end *from)
{
    return victim && victim->ino == from->st.st_ino &&
           victim->dev == from->st.st_dev;
}

static int rename_begun(struct ic *ic, struct rename_end *from,
                        struct rename_end *to, unsigned flags)
{
    struct inode_victim victim;
    int rc = inode_check(
        to->dir); /* before a step begins, since that ends redo */

    if (rc == 0)
        rc = mutate_begin(ic, from->dir, from->name);
    if (rc < 0)
        return rc;
    rc = inode_check(to->dir);
    if (rc == 0 && mutate_is_removed(to->dir))
        rc = -ENOENT;
    if (rc < 0)
        return mutate_finish(ic, rc);
    victim = mutate_hold_name(ic, to->dir,
                              flags & RENAME_EXCHANGE ? NULL : to->name);
    for (int i = 0; i < MUTATE_RACE_TRIES; i++) {
        rc = rename_once(ic, from, to, flags, i > 0);
        if (rc != -EAGAIN)
            break;
    }
    if (rc == 0) {
        writing_note_name(ic, from->dir, from->name);
        writing_note_name(ic, to->dir, to->name);
        if (to->exists && S_ISDIR(to->st.st_mode) && !(flags & RENAME_EXCHANGE))
            inode_end_tag(ic->inodes, to->st.st_dev, to->st.st_ino);
    }
    if (is_renamed(victim.inode, from))
        inode_victim_clear(&victim);
    mutate_let_go(ic, &victim, rc, to->dir, to->name);
    return mutate_finish(ic, rc == -EAGAIN ? -EBUSY : rc);
}

int ic_renameat2(struct ic *ic, struct ic_inode *old_dir, const char *old_name,
                 struct ic_inode *new_dir, const char *new_name, unsigned flags)
{
    struct rename_end from = { .dir = old_dir, .name = old_name };
    struct rename_end to = { .dir = new_dir, .name = new_name };

    if (flags & ~(RENAME_NOREPLACE | RENAME_EXCHANGE) ||
        flags == (RENAME_NOREPLACE | RENAME_EXCHANGE) ||
        !mutate_is_name(new_name))
        return -EINVAL;
    if (log_name_is(new_name))
        return -EPERM;
    if (engine_is_mounted(ic, new_dir))
        return -EXDEV;
    return MUTATE_WITH_ROOM(
        ic, limits_make_room,
        MUTATE_UNPARKED(ic, rename_begun(ic, &from, &to, flags)));
}
