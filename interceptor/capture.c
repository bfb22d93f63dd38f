/* SPDX-License-Identifier: Apache-2.0
 *
 * capture - see capture.h.
 *
 * Homes (S3). An inode's home is the binding it had before the step. If the
 * step has changed that binding, the binding's record leads back to the inode
 * and nothing is to be done. Else the inode is still there: where the server
 * last saw it, checked against the tree, or for a directory what ".." and a
 * search there say. A file that is not found so (renamed from outside,
 * removed in an earlier step and still open) gets a link in the step's log
 * instead, which leads to it as well.
 */
#include "interceptor/capture.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "interceptor/blob.h"
#include "interceptor/sys.h"

/* ---- homes --------------------------------------------------------------- */

struct place {
    struct ic_inode *inode, *parent; /* references */
    char *name;
};

static void place_clear(gpointer data)
{
    struct place *place = data;

    ic_inode_unref(place->inode);
    ic_inode_unref(place->parent);
    g_free(place->name);
}

static bool is_at(const struct ic_inode *inode, struct ic_inode *parent,
                  const char *name)
{
    struct stat st;

    return sys_stat_name(parent->fd, name, &st) == 0 &&
           st.st_ino == inode->ino && st.st_dev == inode->dev;
}

/* The name under which parent holds the directory. */
static char *search_name(struct ic_inode *parent, struct ic_inode *inode)
{
    int fd = sys_openat(parent->fd, ".", O_RDONLY | O_DIRECTORY, 0);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *entry;
    char *found = NULL;

    while (dir && !found && (entry = readdir(dir))) {
        if (entry->d_ino == inode->ino && strcmp(entry->d_name, ".") != 0 &&
            strcmp(entry->d_name, "..") != 0 &&
            is_at(inode, parent, entry->d_name))
            found = g_strdup(entry->d_name);
    }
    if (dir)
        closedir(dir);
    return found;
}

static bool find_directory(struct wal *wal, struct ic_inode *inode,
                           struct place *ret_place)
{
    fd_auto int fd = sys_openat(inode->fd, "..",
                                O_PATH | O_DIRECTORY | O_NOFOLLOW, 0);
    struct ic_inode *parent;
    struct stat st;
    char *name;

    if (fd < 0 || sys_stat_fd(fd, &st) < 0 || st.st_ino == inode->ino ||
        st.st_dev != inode->dev)
        return false;
    parent = inode_table_take(wal->inodes, fd_steal(&fd), &st, NULL, NULL);
    name = search_name(parent, inode);
    if (!name) {
        ic_inode_unref(parent);
        return false;
    }
    inode_set_place(inode, parent, name);
    *ret_place = (struct place){ ic_inode_ref(inode), parent, name };
    return true;
}

static bool find_place(struct wal *wal, struct ic_inode *inode,
                       struct place *ret_place)
{
    struct ic_inode *parent;
    char *name;

    if (inode_get_place(inode, &parent, &name)) {
        if (is_at(inode, parent, name)) {
            *ret_place = (struct place){ ic_inode_ref(inode), parent, name };
            return true;
        }
        ic_inode_unref(parent);
        g_free(name);
    }
    return S_ISDIR(inode->type) && find_directory(wal, inode, ret_place);
}

static bool is_known(struct wal *wal, const struct ic_inode *inode)
{
    struct step_inode *known = step_find_inode(wal->step, inode->ino);

    return known && (known->flags & (STEP_CREATED | STEP_KEPT) ||
                     step_has_home(wal->step, known));
}

/* Was the inode there before the step? Not if the step has put it there
 * (then another binding would lead to it), nor below what it has created. */
static bool is_home(struct wal *wal, const struct place *place)
{
    struct step_inode *dir = step_find_inode(wal->step, place->parent->ino);

    return !dir || (!(dir->flags & STEP_CREATED) &&
                    !step_find_binding(wal->step, dir, place->name));
}

static int link_into_log(struct wal *wal, struct ic_inode *inode)
{
    int rc = S_ISDIR(inode->type)
                 ? -ESTALE
                 : sys_link_fd(inode->fd, wal->blobs,
                               step_inode_blob(inode->ino).text);

    if (rc < 0)
        return -ESTALE;
    capture_note_kept(wal, inode->ino);
    return 0;
}

static int record_homes(struct wal *wal, GArray *places)
{
    /* From the one nearest the root: each one's parent is then known. */
    for (guint i = places->len; i > 0; i--) {
        struct place *place = &g_array_index(places, struct place, i - 1);
        struct step_inode *parent = step_get_inode(wal->step,
                                                   place->parent->ino);
        struct step_inode *child = step_get_inode(wal->step, place->inode->ino);
        int rc = step_record_home(wal->step, child, parent, place->name);

        if (rc < 0)
            return rc;
    }
    return 0;
}

static int find_homes(struct wal *wal, struct ic_inode *inode, GArray *places)
{
    struct ic_inode *at = inode;

    while (!is_known(wal, at)) {
        struct place place;

        if (!find_place(wal, at, &place))
            return places->len == 0 ? link_into_log(wal, inode) : -ESTALE;
        g_array_append_val(places, place);
        if (!is_home(wal, &place)) {
            g_array_set_size(places, places->len - 1);
            return places->len == 0 ? link_into_log(wal, inode) : -ESTALE;
        }
        at = place.parent; /* kept alive by the array */
    }
    return 0;
}

int capture_inode(struct wal *wal, struct ic_inode *inode,
                  struct step_inode **ret_inode)
{
    struct step_inode *known = step_find_inode(wal->step, inode->ino);
    g_autoptr(GArray) places = NULL;
    struct stat st;
    int rc;

    if (!known || !is_known(wal, inode)) {
        rc = sys_stat_fd(inode->fd, &st);
        if (rc < 0)
            return rc;
        *ret_inode = NULL;
        if (st.st_nlink == 0)
            return 0;
        places = g_array_new(FALSE, FALSE, sizeof(struct place));
        g_array_set_clear_func(places, place_clear);
        rc = find_homes(wal, inode, places);
        if (rc == 0)
            rc = record_homes(wal, places);
        if (rc < 0)
            return rc;
        known = step_get_inode(wal->step, inode->ino);
    }
    *ret_inode = known;
    return 0;
}

/* ---- what changes -------------------------------------------------------- */

static int record_meta(struct wal *wal, struct ic_inode *inode,
                       struct step_inode *known)
{
    struct meta *meta;
    int rc;

    if (!known || known->flags & (STEP_CREATED | STEP_META))
        return 0;
    rc = meta_read(inode->fd, &meta);
    return rc < 0 ? rc : step_record_meta(wal->step, known, meta);
}

int capture_meta(struct wal *wal, struct ic_inode *inode)
{
    struct step_inode *known;
    int rc = capture_inode(wal, inode, &known);

    if (rc == 0)
        rc = record_meta(wal, inode, known);
    if (rc == 0)
        atomic_store(&inode->meta_epoch, wal->epoch);
    return rc;
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
    if (now) {
        before = step_get_inode(wal->step, now->st_ino);
        /* Untouched until now, so the step cannot have put it there: the
         * number was used again from outside. */
        before->flags &= ~(unsigned)STEP_CREATED;
    }
    return step_record_binding(wal->step, known, name, before);
}

int capture_data_begin(struct wal *wal, struct ic_inode *inode,
                       int64_t *ret_blob)
{
    struct step_inode *known;
    int rc = capture_inode(wal, inode, &known);

    *ret_blob = 0;
    if (rc < 0)
        return rc;
    if (known && !(known->flags & (STEP_CREATED | STEP_DATA))) {
        *ret_blob = ++wal->last_blob;
        return 0;
    }
    atomic_store(&inode->meta_epoch, wal->epoch);
    atomic_store(&inode->data_epoch, wal->epoch);
    return 0;
}

int capture_data_save(struct wal *wal, struct ic_inode *inode, int64_t blob,
                      int64_t *ret_size)
{
    fd_auto int file = sys_reopen(inode->fd, O_RDONLY | O_NONBLOCK | O_NOATIME);
    int64_t occupied;
    struct stat st;
    int rc;

    if (file == -EPERM) /* O_NOATIME is the owner's */
        file = sys_reopen(inode->fd, O_RDONLY | O_NONBLOCK);
    if (file < 0)
        return file;
    rc = sys_stat_fd(file, &st);
    if (rc < 0)
        return rc;
    *ret_size = st.st_size;
    return blob_save(file, wal->blobs, step_data_blob(blob).text, &occupied);
}

int capture_data_end(struct wal *wal, struct ic_inode *inode, int64_t blob,
                     int64_t size)
{
    struct step_inode *known = step_find_inode(wal->step, inode->ino);
    int rc;

    if (!known)
        return -ESTALE;
    rc = record_meta(wal, inode, known);
    if (rc == 0 && !(known->flags & STEP_DATA))
        rc = step_record_data(wal->step, known, size, blob);
    if (rc == 0) {
        atomic_store(&inode->meta_epoch, wal->epoch);
        atomic_store(&inode->data_epoch, wal->epoch);
    }
    return rc;
}

static int copy_inode(struct wal *wal, struct ic_inode *inode)
{
    int64_t blob, size;
    int rc = capture_meta(wal, inode);

    if (rc < 0 || !S_ISREG(inode->type))
        return rc;
    rc = capture_data_begin(wal, inode, &blob);
    if (rc < 0 || blob == 0)
        return rc;
    rc = capture_data_save(wal, inode, blob, &size);
    return rc < 0 ? rc : capture_data_end(wal, inode, blob, size);
}

int capture_copy(struct wal *wal, struct ic_inode *dir, const char *name,
                 const struct stat *now)
{
    fd_auto int fd = sys_openat(dir->fd, name, O_PATH | O_NOFOLLOW, 0);
    struct step_inode *known;
    struct ic_inode *inode;
    struct stat st;
    int rc;

    if (fd < 0)
        return fd;
    rc = sys_stat_fd(fd, &st);
    if (rc < 0)
        return rc;
    if (st.st_ino != now->st_ino)
        return -EAGAIN;
    inode = inode_table_take(wal->inodes, fd_steal(&fd), &st, dir, name);
    rc = copy_inode(wal, inode);
    ic_inode_unref(inode);
    if (rc < 0)
        return rc;
    known = step_find_inode(wal->step, now->st_ino);
    if (!known || (!S_ISDIR(now->st_mode) && st.st_nlink > 1))
        return 0; /* it lives on under another name */
    return step_record_retired(wal->step, known);
}

bool capture_may_go(struct wal *wal, const struct stat *now)
{
    struct step_inode *known = step_find_inode(wal->step, now->st_ino);

    return known && known->flags & (STEP_CREATED | STEP_KEPT);
}

void capture_note_kept(struct wal *wal, uint64_t ino)
{
    step_get_inode(wal->step, ino)->flags |= STEP_KEPT;
    held_links_change(wal->held, ino, 1);
}

void capture_note_created(struct wal *wal, struct ic_inode *inode)
{
    step_get_inode(wal->step, inode->ino)->flags |= STEP_CREATED;
    atomic_store(&inode->meta_epoch, wal->epoch);
    atomic_store(&inode->data_epoch, wal->epoch);
}
