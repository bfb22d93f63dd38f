/* SPDX-License-Identifier: Apache-2.0
 *
 * capture - see capture.h.
 */
#include "interceptor/capture/capture.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/log.h"
#include "interceptor/capture/capture_rights.h"
#include "interceptor/log/content.h"
#include "interceptor/log/pack.h"
#include "interceptor/sys/btime.h"
#include "interceptor/sys/clock.h"
#include "interceptor/sys/sys.h"

/* ---- metadata and names -------------------------------------------------- */

static int check_fixed(struct wal *wal, struct ic_inode *inode,
                       const struct step_inode *known)
{
    g_autofree char *path = NULL;
    int rc = sys_is_fixed_fd(inode->fd);

    if (rc <= 0)
        return rc;
    if (!wal->told_fixed) {
        path = step_path_before(wal->step, known, NULL);
        log_warn(LOG_UNDO,
                 "'%s': append-only or immutable (chattr); changes are refused "
                 "because they could not be undone",
                 !path   ? "?"
                 : *path ? path
                         : ".");
    }
    wal->told_fixed = true;
    return -EPERM;
}

static int record_meta(struct wal *wal, struct ic_inode *inode,
                       struct step_inode *known)
{
    struct meta *meta;
    int rc;

    if (!known || known->flags & (STEP_CREATED | STEP_META))
        return 0;
    rc = check_fixed(wal, inode, known);
    if (rc == 0)
        rc = meta_read(inode->fd, &meta);
    return rc < 0 ? rc : step_record_meta(wal->step, known, meta);
}

int capture_meta(struct wal *wal, struct ic_inode *inode)
{
    struct step_inode *known;
    int rc = capture_inode(wal, inode, &known);

    if (rc == 0)
        rc = capture_check_mode(wal, inode, known);
    if (rc == 0)
        rc = record_meta(wal, inode, known);
    if (rc == 0)
        atomic_store(&inode->meta_epoch, wal->epoch);
    return rc;
}

/* Return the inode of dir/name and its stat; the caller's reference. -EAGAIN:
 * it is no longer the inode that now describes. */
static int take_named(struct wal *wal, struct ic_inode *dir, const char *name,
                      const struct stat *now, struct stat *ret_stat,
                      struct ic_inode **ret_inode)
{
    fd_auto int fd = sys_openat(dir->fd, name, O_PATH | O_NOFOLLOW, 0);
    int rc = fd < 0 ? fd : sys_stat_fd(fd, ret_stat);

    if (rc < 0)
        return rc;
    if (ret_stat->st_ino != now->st_ino)
        return -EAGAIN;
    *ret_inode = inode_table_take(wal->inodes, fd_steal(&fd), ret_stat, 0, dir,
                                  name);
    return 0;
}

int capture_meta_at(struct wal *wal, struct ic_inode *dir, const char *name,
                    const struct stat *now)
{
    struct ic_inode *inode;
    struct stat st;
    int rc = take_named(wal, dir, name, now, &st, &inode);

    if (rc < 0)
        return rc;
    rc = capture_meta(wal, inode);
    ic_inode_unref(inode);
    return rc;
}

bool capture_has_binding(const struct wal *wal, const struct ic_inode *dir,
                         const char *name)
{
    struct step_inode *known = step_find_inode(wal->step, dir->ino);

    return known && (known->flags & STEP_CREATED ||
                     (known->flags & STEP_META &&
                      step_find_binding(wal->step, known, name)));
}

int capture_binding(struct wal *wal, struct ic_inode *dir, const char *name,
                    const struct stat *now)
{
    struct step_inode *known, *before = NULL;
    int rc = capture_inode(wal, dir, &known);

    if (rc < 0 || !known || known->flags & STEP_CREATED)
        return rc;
    rc = record_meta(wal, dir, known);
    if (rc < 0 || step_find_binding(wal->step, known, name))
        return rc;
    rc = capture_check_project(wal, dir, name, now);
    if (rc < 0)
        return rc;
    if (now) {
        before = step_get_inode(wal->step, now->st_ino);
        /* Untouched so far, so the step cannot have put it there: the number
         * was reused by another process. */
        before->flags &= ~(unsigned)STEP_CREATED;
        step_note_seen(before, before->ino, clock_ns(&now->st_ctim));
    }
    return step_record_binding(wal->step, known, name, before);
}

/* ---- content ------------------------------------------------------------- */

static int new_content(struct wal *wal, struct ic_inode *inode,
                       struct step_inode *known)
{
    struct content *content;
    struct stat st;
    int rc = sys_stat_fd(inode->fd, &st);

    if (rc == 0 && !wal->pack)
        rc = pack_create(wal->blobs, &wal->pack);
    if (rc < 0)
        return rc;
    content = content_new(wal->last_content + 1, &st);
    if (!content)
        return -ENOMEM;
    wal->last_content++;
    if (!wal->contents)
        wal->contents = g_ptr_array_new_with_free_func(
            (GDestroyNotify)content_free);
    g_ptr_array_add(wal->contents, content);
    known->content = content;
    return 0;
}

int capture_content_begin(struct wal *wal, struct ic_inode *inode,
                          struct content **ret_content)
{
    struct step_inode *known;
    int rc = capture_inode(wal, inode, &known);

    *ret_content = NULL;
    if (rc < 0)
        return rc;
    if (!known || known->flags & STEP_CREATED) {
        capture_note_complete(wal, inode);
        return 0;
    }
    if (!known->content) {
        rc = capture_check_content(wal, inode, known);
        if (rc == 0)
            rc = new_content(wal, inode, known);
        if (rc < 0)
            return rc;
    }
    *ret_content = known->content;
    return 0;
}

int capture_content_keep(struct wal *wal, struct ic_inode *inode,
                         struct content *content, off_t offset, off_t length)
{
    struct content_store store = {
        .blobs = wal->blobs,
        .pack = wal->pack,
        .no_clones = &wal->no_clones,
        .sync = wal->sync,
        .room = wal->limit - pack_size(wal->pack),
    };

    return content_keep(content, &store, inode->fd, offset, length);
}

/* Write the d record, and a second one if the file was cloned after the first.
 */
static int record_content(struct wal *wal, struct step_inode *known,
                          struct content *content)
{
    bool cloned = content_is_cloned(content);
    unsigned wanted = cloned ? STEP_DATA | STEP_CLONE : STEP_DATA;

    if ((known->flags & wanted) == wanted && !(known->flags & STEP_UNWRITTEN))
        return 0;
    return step_record_data(wal->step, known, content->size, content->number,
                            cloned);
}

int capture_content_end(struct wal *wal, struct ic_inode *inode,
                        struct content *content)
{
    struct step_inode *known = step_find_inode(wal->step, inode->ino);
    int rc;

    if (!known)
        return -ESTALE;
    rc = record_meta(wal, inode, known);
    if (rc == 0)
        rc = record_content(wal, known, content);
    if (rc < 0)
        return rc;
    if (content_is_complete(content)) {
        capture_note_complete(wal, inode);
    } else if (atomic_load(&inode->content_epoch) != wal->epoch) {
        atomic_store(&inode->meta_epoch, wal->epoch);
        inode->content = content;
        atomic_store(&inode->content_epoch, wal->epoch);
    }
    return 0;
}

int64_t capture_copied(const struct wal *wal)
{
    return journal_size(wal->step->journal) +
           (wal->pack ? pack_size(wal->pack) : 0);
}

void capture_close_blobs(struct wal *wal)
{
    g_clear_pointer(&wal->pack, pack_close);
    fd_close(&wal->blobs);
}

int capture_seal(struct wal *wal)
{
    return wal->pack ? pack_seal(wal->pack) : 0;
}

void capture_clear(struct wal *wal)
{
    g_clear_pointer(&wal->step, step_free);
    g_clear_pointer(&wal->pack, pack_close);
    g_clear_pointer(&wal->contents, g_ptr_array_unref);
    wal->last_content = 0;
    wal->moved = wal->before = 0;
    wal->told_fixed = wal->told_rights = false;
    atomic_store(&wal->unprotected, false);
    fd_close(&wal->blobs);
    fd_close(&wal->dir);
}

static bool has_flag(struct wal *wal, const struct ic_inode *inode,
                     unsigned flag)
{
    const struct step_inode *known = step_find_inode(wal->step, inode->ino);

    return known && known->flags & flag;
}

static int copy_inode(struct wal *wal, struct ic_inode *inode)
{
    struct content *content;
    int rc = capture_meta(wal, inode);

    if (rc < 0 || !S_ISREG(inode->type) || has_flag(wal, inode, STEP_UNWRITTEN))
        return rc;
    rc = capture_content_begin(wal, inode, &content);
    if (rc < 0 || !content)
        return rc;
    rc = capture_content_keep(wal, inode, content, 0, INT64_MAX);
    return rc < 0 ? rc : capture_content_end(wal, inode, content);
}

/* The inode loses a name and lives on under another one. Clear the epochs so
 * that later changes record whether it is written, and where it is. */
static int note_living(struct wal *wal, struct ic_inode *inode, bool written)
{
    struct step_inode *known = step_find_inode(wal->step, inode->ino);

    atomic_store(&inode->meta_epoch, 0);
    atomic_store(&inode->data_epoch, 0);
    if (!known || !(known->flags & STEP_DATA) || known->flags & STEP_UNWRITTEN)
        return 0;
    return step_record_all(wal->step, known, !written);
}

int capture_copy(struct wal *wal, struct ic_inode *dir, const char *name,
                 const struct stat *now)
{
    struct step_inode *known;
    struct ic_inode *inode;
    struct stat st;
    bool written;
    int rc = take_named(wal, dir, name, now, &st, &inode);

    if (rc < 0)
        return rc;
    written = has_flag(wal, inode, STEP_DATA);
    rc = capture_check_copy(wal, inode, &st);
    if (rc == 0)
        rc = capture_check_remade(wal, dir, name, &st);
    if (rc == 0)
        rc = copy_inode(wal, inode);
    if (rc == 0 && !S_ISDIR(st.st_mode) && st.st_nlink > 1)
        rc = note_living(wal, inode, written);
    ic_inode_unref(inode);
    if (rc < 0 || (!S_ISDIR(st.st_mode) && st.st_nlink > 1))
        return rc;
    known = step_find_inode(wal->step, now->st_ino);
    if (!known)
        return 0;
    known->born = btime_of_name(dir->fd, name);
    return step_record_retiring(wal->step, known);
}
