/* SPDX-License-Identifier: Apache-2.0
 *
 * capture_home - see capture_home.h.
 *
 * Homes (S3). An inode's home is the binding it had before the step. If the
 * step has changed that binding, its record leads to the inode and nothing is
 * to do. Otherwise the inode is still there: where the server last saw it,
 * verified in the tree, or for a directory where ".." and a search there find
 * it. A file not found so (renamed by another process, removed in an earlier
 * step and still open, or removed by a redo with its directory) gets a link in
 * the step's log, which also leads to it; if the log is on another filesystem,
 * the share is searched. A file that is changed after the step removed that
 * name gets another home, if it has one.
 *
 * Folders without a home. Another process may make a folder during the step,
 * where the step has changed the tree. It did not exist before, and undo
 * removes it as a whole: changes in it need no record, as below folders that
 * the step made (S2).
 */
#include "interceptor/capture/capture_home.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "interceptor/capture/capture_lost.h"
#include "interceptor/capture/capture_note.h"
#include "interceptor/sys/btime.h"
#include "interceptor/sys/sys.h"

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

/* This function and the next three return 1 if so (found), 0 if not, or -errno
 * if unknown: a change whose inode cannot be found again is refused with that
 * error. */
static int is_at(const struct ic_inode *inode, struct ic_inode *parent,
                 const char *name)
{
    struct stat st;
    int rc = sys_stat_name(parent->fd, name, &st);

    if (rc < 0)
        return rc == -ENOENT || rc == -ENOTDIR ? 0 : rc;
    return st.st_ino == inode->ino && st.st_dev == inode->dev;
}

struct name_search {
    struct ic_inode *parent, *inode;
    char *name; /* NULL until found */
};

static int compare_name(int fd, const struct dirent *entry, void *opaque)
{
    struct name_search *search = opaque;
    int rc = entry->d_ino != search->inode->ino
                 ? 0
                 : is_at(search->inode, search->parent, entry->d_name);

    if (rc > 0)
        search->name = g_strdup(entry->d_name);
    return rc;
}

/* Find the name under which parent contains the directory. */
static int search_name(struct ic_inode *parent, struct ic_inode *inode,
                       char **ret_name)
{
    struct name_search search = { parent, inode, NULL };
    int rc = sys_dir_each(parent->fd, ".", compare_name, &search);

    if (rc > 0)
        *ret_name = search.name;
    return rc;
}

static int find_directory(struct wal *wal, struct ic_inode *inode,
                          struct place *ret_place)
{
    fd_auto int fd = sys_openat(inode->fd, "..",
                                O_PATH | O_DIRECTORY | O_NOFOLLOW, 0);
    struct ic_inode *parent;
    char *name = NULL;
    struct stat st;
    int rc = fd < 0 ? fd : sys_stat_fd(fd, &st);

    if (rc < 0)
        return rc;
    if (st.st_ino == inode->ino || st.st_dev != inode->dev)
        return 0;
    parent = inode_table_take(wal->inodes, fd_steal(&fd), &st, 0, NULL, NULL);
    rc = search_name(parent, inode, &name);
    if (rc <= 0) {
        ic_inode_unref(parent);
        return rc;
    }
    inode_set_place(inode, parent, name);
    *ret_place = (struct place){ ic_inode_ref(inode), parent, name };
    return 1;
}

static int find_place(struct wal *wal, struct ic_inode *inode,
                      struct place *ret_place)
{
    struct ic_inode *parent;
    char *name;
    int rc = inode_get_place(inode, &parent, &name);

    if (rc < 0)
        return rc;
    if (rc > 0) {
        rc = is_at(inode, parent, name);
        if (rc > 0) {
            *ret_place = (struct place){ ic_inode_ref(inode), parent, name };
            return 1;
        }
        ic_inode_unref(parent);
        g_free(name);
        if (rc < 0)
            return rc;
    }
    return S_ISDIR(inode->type) ? find_directory(wal, inode, ret_place) : 0;
}

static bool is_known(struct wal *wal, const struct ic_inode *inode)
{
    struct step_inode *known = step_find_inode(wal->step, inode->ino);

    return known && (known->flags & (STEP_CREATED | STEP_KEPT) ||
                     step_has_home(wal->step, known));
}

/* Return whether the inode was there before the step. False if the step has put
 * it there (then another binding leads to it), and below a folder that the step
 * created. */
static bool is_home(struct wal *wal, const struct place *place)
{
    struct step_inode *dir = step_find_inode(wal->step, place->parent->ino);

    return !dir || (!(dir->flags & STEP_CREATED) &&
                    !step_find_binding(wal->step, dir, place->name));
}

static int record_seen(struct wal *wal, const struct ic_inode *inode)
{
    struct stat now;
    int rc = sys_stat_fd(inode->fd, &now);

    return rc < 0 ? rc
                  : step_record_seen(
                        wal->step, step_get_inode(wal->step, inode->ino), &now);
}

static int link_into_log(struct wal *wal, struct ic_inode *inode)
{
    struct stat st;
    int rc = S_ISDIR(inode->type) ? -ESTALE : record_seen(wal, inode);

    if (rc == 0)
        rc = sys_link_fd(inode->fd, wal->blobs,
                         step_inode_blob(inode->ino).text);
    if (rc == 0) {
        rc = sys_stat_fd(inode->fd, &st);
        if (rc < 0) /* it would block the next try */
            sys_unlinkat(wal->blobs, step_inode_blob(inode->ino).text, 0);
    }
    if (rc == -ENOENT || rc == -EXDEV || rc == -EPERM || rc == -EMLINK ||
        rc == -EEXIST)
        return -ESTALE; /* a link is impossible */
    if (rc < 0)
        return rc;
    capture_note_kept(wal, &st);
    return 0;
}

static int record_homes(struct wal *wal, GArray *places)
{
    /* Start next to the root, so that each parent is already known. */
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

/* Find the inode's location if that is its location from before the step.
 * Returns 1, 0 or -errno. */
static int find_home(struct wal *wal, struct ic_inode *inode,
                     struct place *ret_place)
{
    int rc = find_place(wal, inode, ret_place);

    if (rc <= 0 || is_home(wal, ret_place))
        return rc;
    place_clear(ret_place);
    return 0;
}

/* Fall back to a link in the log, or a search. Returns 1: the log leads to it;
 * 0: it has a location; or -errno. */
static int find_otherwise(struct wal *wal, struct ic_inode *inode)
{
    int rc = link_into_log(wal, inode);

    if (rc == 0)
        return 1;
    return rc == -ESTALE ? capture_find_lost(wal, inode) : rc;
}

/* Return whether no way up leads to the share. A way through the log, where a
 * redo has put the whole directory, may end anywhere. */
static bool is_outside(int rc)
{
    return rc == 0 || rc == -EACCES;
}

static int find_homes(struct wal *wal, struct ic_inode *inode, GArray *places)
{
    struct ic_inode *at = inode;
    bool again = false;

    while (!is_known(wal, at)) {
        struct place place;
        int rc = find_home(wal, at, &place);

        if (is_outside(rc) && !again) {
            again = true;
            g_array_set_size(places, 0);
            at = inode;
            rc = find_otherwise(wal, inode);
            if (rc == 0)
                continue;
            if (rc > 0)
                return 0;
        }
        if (rc <= 0)
            return rc == 0 || rc == -ENOENT ? -ESTALE : rc;
        g_array_append_val(places, place);
        at = place.parent; /* the array keeps it alive */
    }
    return 0;
}

/* Return whether the directory was made after the step began. A file does not
 * count: content that another process made is saved, or its change refused. */
static bool was_nowhere(struct wal *wal, const struct ic_inode *inode)
{
    int64_t born = S_ISDIR(inode->type) ? btime_of_name(inode->fd, "") / 1000
                                        : 0;

    return born > wal->step->started_us && born <= g_get_real_time();
}

/* Give a file that lost its known name, and lives on under one that the step
 * has not changed, that name as its home, so that the report finds it. Undo
 * does not need it, so failing to find it is no error. */
static int move_home(struct wal *wal, struct ic_inode *inode,
                     const struct step_inode *known)
{
    g_autoptr(GArray) places = NULL;
    struct place place;
    int rc;

    if (S_ISDIR(inode->type) || !known->home ||
        !step_find_binding(wal->step, known->home, known->home_name) ||
        find_home(wal, inode, &place) <= 0)
        return 0;
    places = g_array_new(FALSE, FALSE, sizeof(struct place));
    g_array_set_clear_func(places, place_clear);
    g_array_append_val(places, place);
    rc = find_homes(wal, place.parent, places);
    return rc < 0 ? 0 : record_homes(wal, places);
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
        if (rc == -ESTALE && was_nowhere(wal, inode))
            return 0;
        if (rc == 0)
            rc = record_homes(wal, places);
        if (rc < 0)
            return rc;
        known = step_get_inode(wal->step, inode->ino);
    } else {
        rc = move_home(wal, inode, known);
        if (rc < 0)
            return rc;
    }
    *ret_inode = known;
    return 0;
}

int capture_link(struct wal *wal, struct ic_inode *inode)
{
    struct step_inode *known;
    int rc = capture_inode(wal, inode, &known);

    return rc < 0 || !known ? rc : record_seen(wal, inode);
}
