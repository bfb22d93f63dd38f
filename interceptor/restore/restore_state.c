/* SPDX-License-Identifier: Apache-2.0
 *
 * restore_state - see restore_state.h.
 */
#include "interceptor/restore/restore_state.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/log.h"
#include "interceptor/log/meta.h"
#include "interceptor/restore/restore_names.h"
#include "interceptor/restore/restore_relax.h"
#include "interceptor/sys/sys.h"

void restore_note_trouble(struct restore *r, const struct step_inode *inode)
{
    g_autofree char *path = step_path_before(r->step, inode, NULL);

    g_string_assign(r->trouble, path ? path : "a file without a name");
}

/* Return fd if it is that inode. fd (taken): O_PATH, or an error. */
static int check_inode(const struct step_inode *inode, int fd)
{
    fd_auto int opened = fd;
    struct stat st;
    int rc = opened < 0 ? opened : sys_stat_fd(opened, &st);

    if (rc == 0 && !step_is_now(inode, st.st_ino))
        rc = -ESTALE;
    if (rc < 0)
        return restore_is_gone(rc) ? -ESTALE : rc;
    return fd_steal(&opened);
}

/* Open, O_PATH, the inode at this name; -ESTALE if another is there. */
static int open_at(struct restore *r, const struct step_inode *inode,
                   const struct step_inode *in, const char *name)
{
    fd_auto int dir = restore_open_dir(r, in);
    int fd = dir < 0 ? dir : sys_openat(dir, name, O_PATH | O_NOFOLLOW, 0);

    if (fd == -EACCES && dir >= 0) {
        restore_relax(r, dir);
        fd = sys_openat(dir, name, O_PATH | O_NOFOLLOW, 0);
    }
    return check_inode(inode, fd);
}

/* Try its home, then its other restored names, then the log. */
int restore_open_inode(struct restore *r, const struct step_inode *inode)
{
    int fd = -ESTALE, error = -ESTALE;

    if (inode == r->step->root)
        return sys_openat(r->root, ".", O_PATH | O_DIRECTORY, 0);
    if (inode->home)
        fd = open_at(r, inode, inode->home, inode->home_name);
    for (guint i = 0; fd < 0 && inode->names && i < inode->names->len; i++) {
        const struct step_binding *binding = g_ptr_array_index(inode->names, i);

        error = fd == -ESTALE ? error : fd;
        fd = open_at(r, inode, binding->dir, binding->name);
    }
    if (fd >= 0)
        return fd;
    error = fd == -ESTALE ? error : fd;
    fd = check_inode(inode,
                     sys_openat(r->blobs, step_inode_blob(inode->ino).text,
                                O_PATH | O_NOFOLLOW, 0));
    /* A place that cannot be examined may have it. */
    return fd == -ESTALE ? error : fd;
}

static void add_target(GPtrArray *targets, struct step_inode *inode,
                       unsigned flag)
{
    if (inode->flags & flag)
        g_ptr_array_add(targets, inode);
}

static GPtrArray *find_targets(struct restore *r, unsigned flag)
{
    GPtrArray *targets = g_ptr_array_new();
    GHashTableIter iter;
    gpointer value;

    g_hash_table_iter_init(&iter, r->step->inodes);
    while (g_hash_table_iter_next(&iter, NULL, &value))
        add_target(targets, value, flag);
    for (guint i = 0; i < r->step->retired->len; i++)
        add_target(targets, g_ptr_array_index(r->step->retired, i), flag);
    return targets;
}

/* Files first, then directories, each after what is below it: setting an
 * entry's metadata may need rights that its directory is about to lose. */
static int compare_targets(gconstpointer a, gconstpointer b)
{
    const struct step_inode *x = *(struct step_inode *const *)a;
    const struct step_inode *y = *(struct step_inode *const *)b;
    int dir_x = S_ISDIR(x->meta->mode), dir_y = S_ISDIR(y->meta->mode);

    if (dir_x != dir_y)
        return dir_x - dir_y;
    return x->order > y->order ? -1 : x->order < y->order;
}

/* In a directory that several users share, a user may write another user's file
 * but not set its times. The rest of the rollback must not fail for that. */
static bool is_of_another(int fd)
{
    struct stat st;

    return geteuid() != 0 && fd >= 0 && sys_stat_fd(fd, &st) == 0 &&
           st.st_uid != geteuid();
}

/* ---- folders that were opened ----------------------------------------------
 */

/* A directory that restore_relax() opened. */
struct relaxed {
    struct step_inode *inode;
    mode_t mode;
};

static int compare_depth(gconstpointer a, gconstpointer b)
{
    const struct relaxed *x = a, *y = b;

    return x->inode->order > y->inode->order
               ? -1
               : x->inode->order < y->inode->order;
}

/* Take all out of the set, each directory after those below it. */
static GArray *take_relaxed(struct restore *r)
{
    GArray *list = g_array_new(FALSE, FALSE, sizeof(struct relaxed));
    GHashTableIter iter;
    gpointer key, value;

    g_hash_table_iter_init(&iter, r->relaxed);
    while (g_hash_table_iter_next(&iter, &key, &value)) {
        struct relaxed relaxed = { key, GPOINTER_TO_UINT(value) };

        g_array_append_val(list, relaxed);
    }
    g_hash_table_remove_all(r->relaxed);
    g_array_sort(list, compare_depth);
    return list;
}

static int set_metadata(struct restore *r, struct step_inode *inode)
{
    fd_auto int fd = -1;
    int rc;

    if (!(inode->flags & STEP_META) || inode->flags & STEP_LOST)
        return 0;
    fd = restore_open_inode(r, inode);
    if (fd == -ESTALE)
        r->gone = inode;
    rc = fd < 0 ? fd : meta_apply(inode->meta, fd);
    if (rc < 0)
        restore_note_trouble(r, inode);
    return rc;
}

/* Setting a directory's metadata may open those above it again, so that each
 * round begins further up than the one before. */
static int close_relaxed(struct restore *r)
{
    int rc = 0;

    while (rc == 0 && g_hash_table_size(r->relaxed) > 0) {
        g_autoptr(GArray) list = take_relaxed(r);

        for (guint i = 0; i < list->len; i++) {
            struct relaxed *relaxed = &g_array_index(list, struct relaxed, i);

            if (rc == 0)
                rc = set_metadata(r, relaxed->inode);
            if (rc < 0) /* restore_return_modes() */
                g_hash_table_insert(r->relaxed, relaxed->inode,
                                    GUINT_TO_POINTER(relaxed->mode));
        }
    }
    return rc;
}

void restore_return_modes(struct restore *r)
{
    while (g_hash_table_size(r->relaxed) > 0) {
        g_autoptr(GArray) list = take_relaxed(r);

        for (guint i = 0; i < list->len; i++) {
            const struct relaxed *relaxed = &g_array_index(list, struct relaxed,
                                                           i);
            fd_auto int fd = restore_open_inode(r, relaxed->inode);

            if (fd >= 0)
                sys_chmod_fd(fd, relaxed->mode);
        }
    }
}

/* ---- all -------------------------------------------------------------------
 */

int restore_metadata(struct restore *r)
{
    g_autoptr(GPtrArray) targets = find_targets(r, STEP_META);
    int rc = 0;

    g_ptr_array_sort(targets, compare_targets);
    for (guint i = 0; rc == 0 && i < targets->len; i++) {
        struct step_inode *inode = g_ptr_array_index(targets, i);
        fd_auto int fd = restore_open_inode(r, inode);

        if (fd == -ESTALE)
            r->gone = inode;
        rc = fd < 0 ? fd : meta_apply(inode->meta, fd);
        restore_note_progress(r);
        if (rc < 0)
            restore_note_trouble(r, inode);
        if (rc == -EPERM && is_of_another(fd)) {
            log_warn(LOG_UNDO,
                     "undo: '%s' belongs to another user; its times and "
                     "attributes were not all restored",
                     r->trouble->str);
            rc = 0;
        }
    }
    return rc < 0 ? rc : close_relaxed(r);
}
