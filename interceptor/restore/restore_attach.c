/* SPDX-License-Identifier: Apache-2.0
 *
 * restore_attach - see restore_attach.h and restore.h.
 */
#include "interceptor/restore/restore_attach.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "interceptor/capture/search.h"
#include "interceptor/restore/restore_alive.h"
#include "interceptor/restore/restore_find.h"
#include "interceptor/restore/restore_late.h"
#include "interceptor/restore/restore_names.h"
#include "interceptor/restore/restore_relax.h"
#include "interceptor/restore/restore_state.h"
#include "interceptor/sys/btime.h"
#include "interceptor/sys/project.h"
#include "interceptor/sys/sys.h"

/* Return the name in staging of the nth inode that is made anew. */
static struct staged_name remade_name(guint number)
{
    struct staged_name name;

    snprintf(name.text, sizeof(name.text), "n%u", number);
    return name;
}

/* ---- attach -------------------------------------------------------------- */

struct attacher {
    struct restore *r;
    GHashTable *missing; /* step_inode -> number of its names still to attach */
    const struct step_inode *dir; /* the directory that dirfd has open */
    int dirfd;
    bool searched;
};

/* Order directories before what is below them; lost ones, in a damaged log,
 * last. */
static int compare_order(gconstpointer a, gconstpointer b)
{
    const struct step_binding *x = *(struct step_binding *const *)a;
    const struct step_binding *y = *(struct step_binding *const *)b;
    unsigned ox = x->dir->order - 1, oy = y->dir->order - 1;

    return ox < oy ? -1 : ox > oy;
}

/* Create an inode of that type in staging. source: an fd of the file whose
 * content and metadata it gets; or NULL: it stays empty, and both are restored
 * later. */
static int create_staged(struct restore *r, const struct step_inode *inode,
                         const char *name, const int *source)
{
    int rc = sys_remove_tree(r->staging, name);

    if (rc < 0)
        return rc;
    return source ? restore_copy_file(*source, r->staging, name)
                  : meta_create_inode(inode->meta, r->staging, name);
}

/* Return the number by which older steps know the inode. */
static uint64_t number_of(const struct step_inode *inode)
{
    return inode->stand_in ? inode->former
           : inode->ino    ? inode->ino
                           : inode->recorded;
}

/* Make the inode anew. source: see create_staged(). */
static int remake(struct attacher *a, struct step_inode *inode,
                  const int *source, struct staged_name *ret_name)
{
    struct restore *r = a->r;
    guint number = g_hash_table_size(r->made) + 1;
    struct undo_log_remade remade = { .from = number_of(inode),
                                      .seq = r->step->seq,
                                      .born = inode->born };
    struct stat st;
    int rc;

    if (r->staging < 0)
        return -ENOSPC;
    *ret_name = remade_name(number);
    rc = create_staged(r, inode, ret_name->text, source);
    if (rc == 0)
        rc = sys_stat_name(r->staging, ret_name->text, &st);
    if (rc < 0)
        return rc;
    remade.to = st.st_ino;
    remade.made = btime_of_name(r->staging, ret_name->text);
    rc = undo_log_add_alias(r->log, &remade);
    if (rc < 0)
        return rc;
    project_adopt(r->staging, ret_name->text, a->dirfd);
    if (!(inode->flags & STEP_RETIRED)) {
        g_hash_table_steal(r->step->inodes, &inode->ino);
        g_ptr_array_add(r->step->retired, inode);
        inode->flags |= STEP_RETIRED;
        r->remade = r->remade || !r->forced;
    }
    inode->now = st.st_ino;
    g_hash_table_insert(r->made, inode, GUINT_TO_POINTER(number));
    return 0;
}

/* Put the inode at dirfd/name from dir/from. last: this is the last of its
 * names. */
static int place(struct attacher *a, int from_dir, const char *from,
                 const struct step_binding *binding, bool last)
{
    int rc = -EXDEV;

    if (!last)
        rc = project_link(from_dir, from, a->dirfd, binding->name);
    if (last || rc == -EPERM)
        rc = restore_rename(a->r, from_dir, from, a->dirfd, binding->name);
    if (rc == -EACCES) {
        restore_relax(a->r, a->dirfd);
        rc = restore_rename(a->r, from_dir, from, a->dirfd, binding->name);
    }
    return rc;
}

static int copy_staged(struct attacher *a, struct step_inode *inode, int dirfd,
                       const char *name)
{
    fd_auto int source = sys_openat(dirfd, name, O_PATH | O_NOFOLLOW, 0);
    struct staged_name staged;

    return source < 0 ? source : remake(a, inode, &source, &staged);
}

/* Link an inode that has a name in no record into staging; if it cannot be
 * linked, it is made anew later. */
static int link_staged(int dirfd, const char *name, uint64_t ino, void *opaque)
{
    struct attacher *a = opaque;
    const struct restore *r = a->r;
    struct step_inode *inode = step_find_inode(r->step, ino);
    int rc;

    if (inode && restore_is_other(inode, dirfd, name))
        return -ENOENT;
    if (r->staging < 0)
        return -ENOSPC;
    rc = inode ? restore_was_moved(r, inode, dirfd, name) : 0;
    if (rc != 0)
        return rc < 0 ? rc : copy_staged(a, inode, dirfd, name);
    rc = project_link(dirfd, name, r->staging, restore_staged_name(ino).text);
    return rc == -EPERM || rc == -EMLINK || rc == -EEXIST ? 0 : rc;
}

/* Look for the inode in staging and in the log, under its own number. 1, 0 or
 * -errno. */
static int is_waiting(struct attacher *a, const struct step_inode *inode,
                      int *ret_dirfd, struct staged_name *ret_name)
{
    struct restore *r = a->r;
    int rc;

    *ret_dirfd = r->staging;
    *ret_name = restore_staged_name(inode->ino);
    rc = restore_is_there(r->staging, ret_name->text, inode->ino);
    if (rc != 0)
        return rc;
    rc = restore_is_there(r->blobs, step_inode_blob(inode->ino).text,
                          inode->ino);
    if (rc > 0) {
        *ret_dirfd = r->blobs;
        g_strlcpy(ret_name->text, step_inode_blob(inode->ino).text,
                  sizeof(ret_name->text));
    }
    return rc;
}

/* Link a file that has kept its home into staging. 1, 0 or -errno. */
static int link_from_home(struct attacher *a, const struct step_inode *inode)
{
    fd_auto int dir = inode->home ? restore_open_dir(a->r, inode->home) : -1;
    int rc = dir < 0 ? 0 : restore_is_there(dir, inode->home_name, inode->ino);

    if (rc == -EACCES) {
        restore_relax(a->r, dir);
        rc = restore_is_there(dir, inode->home_name, inode->ino);
    }
    if (rc > 0)
        rc = link_staged(dir, inode->home_name, inode->ino, a);
    return rc == -ENOENT ? 0 : rc;
}

/* The search could not enter directories that the step has closed to their
 * owner. Their modes are set at the end. */
static void open_closed(struct restore *r)
{
    GHashTableIter iter;
    gpointer value;

    if (geteuid() == 0)
        return;
    g_hash_table_iter_init(&iter, r->step->inodes);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        const struct step_inode *inode = value;
        fd_auto int fd = -1;

        if (!(inode->flags & STEP_META) || !S_ISDIR(inode->meta->mode))
            continue;
        fd = restore_open_inode(r, inode);
        if (fd >= 0)
            restore_relax(r, fd);
    }
}

/* Search the tree once for all inodes that may be in it. */
static int search_missing(struct attacher *a)
{
    g_autoptr(GHashTable) wanted = search_set_new();
    struct staged_name name;
    GHashTableIter iter;
    gpointer key;
    int dirfd, rc;

    a->searched = true;
    open_closed(a->r);
    g_hash_table_iter_init(&iter, a->missing);
    while (g_hash_table_iter_next(&iter, &key, NULL)) {
        const struct step_inode *inode = key;

        if (inode->flags & STEP_RETIRED)
            continue;
        rc = is_waiting(a, inode, &dirfd, &name);
        if (rc < 0)
            return rc;
        if (rc == 0)
            search_set_add(wanted, inode->ino);
    }
    rc = search_files(a->r->root, wanted, link_staged, a);
    /* Also below directories in staging that come back unchanged. */
    return rc < 0 || a->r->staging < 0 || a->r->staging_dir == a->r->root
               ? rc
               : search_files(a->r->staging, wanted, link_staged, a);
}

/* An earlier pass (restore_late.h) made the inode anew and attached a name:
 * link that name into staging. 1, 0 or -errno. */
static int link_from_name(struct attacher *a, const struct step_inode *inode,
                          const char *staged)
{
    int rc = 0;

    for (guint i = 0; rc == 0 && inode->names && i < inode->names->len; i++) {
        const struct step_binding *binding = g_ptr_array_index(inode->names, i);
        fd_auto int dir = restore_open_dir(a->r, binding->dir);

        if (restore_is_gone(dir))
            continue;
        rc = dir < 0 ? dir : restore_is_there(dir, binding->name, inode->now);
        if (rc > 0)
            rc = project_link(dir, binding->name, a->r->staging, staged);
        else if (rc == 0)
            continue;
        return rc < 0 ? rc : 1;
    }
    return rc;
}

static int find_remade(struct attacher *a, const struct step_inode *inode,
                       int *ret_dirfd, struct staged_name *ret_name)
{
    guint number = GPOINTER_TO_UINT(g_hash_table_lookup(a->r->made, inode));
    int rc;

    *ret_dirfd = a->r->staging;
    *ret_name = remade_name(number);
    if (!inode->now)
        return 0;
    rc = restore_is_there(*ret_dirfd, ret_name->text, inode->now);
    return rc == 0 && number > 0 ? link_from_name(a, inode, ret_name->text)
                                 : rc;
}

/* Find the inode in staging, in the log, or under a name in the tree that the
 * step does not know and from which it is linked into staging. 1, 0 if it is
 * nowhere, or -errno. */
static int find_waiting(struct attacher *a, const struct step_inode *inode,
                        int *ret_dirfd, struct staged_name *ret_name)
{
    int rc;

    if (inode->flags & STEP_RETIRED)
        return find_remade(a, inode, ret_dirfd, ret_name);
    rc = is_waiting(a, inode, ret_dirfd, ret_name);
    if (rc != 0)
        return rc;
    rc = link_from_home(a, inode);
    if (rc == 0)
        rc = is_waiting(a, inode, ret_dirfd, ret_name);
    if (rc != 0 || a->searched)
        return rc;
    rc = search_missing(a);
    if (rc < 0)
        return rc;
    return inode->flags & STEP_RETIRED
               ? find_remade(a, inode, ret_dirfd, ret_name)
               : is_waiting(a, inode, ret_dirfd, ret_name);
}

/* Put the inode's name in the log at the binding. */
static int place_kept(struct attacher *a, const struct step_inode *inode,
                      const struct step_binding *binding, bool last)
{
    struct restore *r = a->r;
    struct step_name name = step_inode_blob(inode->ino);
    int rc = last
                 ? log_links_change_kept(r->log_links, r->blobs, inode->ino, -1)
                 : 0;

    if (rc < 0)
        return rc;
    rc = place(a, r->blobs, name.text, binding, last);
    if (rc < 0 && last)
        log_links_change_kept(r->log_links, r->blobs, inode->ino, 1);
    return rc;
}

/* Return whether the inode has all its names but this. An interrupted run may
 * have attached them in another order. 1, 0 or -errno. */
static int is_last_missing(struct attacher *a,
                           const struct step_binding *binding)
{
    const struct step_inode *inode = binding->before;

    for (guint i = 0; inode->names && i < inode->names->len; i++) {
        const struct step_binding *other = g_ptr_array_index(inode->names, i);
        fd_auto int dir = -1;
        struct stat st;
        int rc;

        if (other == binding || step_is_vacant(other))
            continue;
        dir = restore_open_dir(a->r, other->dir);
        rc = dir < 0 ? dir : sys_stat_name(dir, other->name, &st);
        if (rc < 0)
            return restore_is_gone(rc) ? 0 : rc;
        if (!step_is_now(inode, st.st_ino))
            return 0;
    }
    return 1;
}

/* The inode has the maximum number of links: move a name of it, where it waits,
 * instead of making another. -EMLINK: it has no name to spare there. */
static int place_at_limit(struct attacher *a, int from, const char *name,
                          const struct step_binding *binding)
{
    struct restore *r = a->r;
    const struct step_inode *inode = binding->before;
    int rc = from == r->blobs || inode->flags & STEP_RETIRED
                 ? 0
                 : restore_is_there(r->blobs, step_inode_blob(inode->ino).text,
                                    inode->ino);

    if (rc > 0)
        return place_kept(a, inode, binding, true);
    if (rc == 0)
        rc = is_last_missing(a, binding);
    if (rc <= 0)
        return rc < 0 ? rc : -EMLINK;
    return from == r->blobs ? place_kept(a, inode, binding, true)
                            : place(a, from, name, binding, true);
}

static int bring_back(struct attacher *a, const struct step_binding *binding,
                      bool last)
{
    struct restore *r = a->r;
    struct step_inode *inode = binding->before;
    struct staged_name name;
    int from, rc = find_waiting(a, inode, &from, &name);

    if (rc == 0 && !restore_can_remake(inode)) {
        r->gone = inode;
        return -ENODATA;
    }
    if (rc == 0)
        rc = remake(a, inode, NULL, &name);
    if (rc < 0)
        return rc;
    rc = from == r->blobs ? place_kept(a, inode, binding, last)
                          : place(a, from, name.text, binding, last);
    return rc == -EMLINK ? place_at_limit(a, from, name.text, binding) : rc;
}

/* 1, 0, or -errno. */
static int is_in_place(struct attacher *a, const struct step_binding *binding)
{
    struct stat st;
    int rc = sys_stat_name(a->dirfd, binding->name, &st);

    if (rc < 0)
        return rc == -ENOENT ? 0 : rc;
    return step_is_now(binding->before, st.st_ino);
}

static int enter_dir(struct attacher *a, struct step_inode *dir)
{
    if (a->dir == dir)
        return 0;
    fd_close(&a->dirfd);
    a->dirfd = restore_open_dir(a->r, dir);
    a->dir = a->dirfd < 0 ? NULL : dir;
    if (restore_is_gone(a->dirfd))
        restore_note_gone_folder(a->r, dir);
    return a->dirfd < 0 ? a->dirfd : 0;
}

static int attach_binding(struct attacher *a,
                          const struct step_binding *binding)
{
    int missing, rc = enter_dir(a, binding->dir);

    if (rc < 0)
        return rc;
    missing = GPOINTER_TO_INT(g_hash_table_lookup(a->missing, binding->before));
    g_hash_table_insert(a->missing, binding->before,
                        GINT_TO_POINTER(missing - 1));
    rc = is_in_place(a, binding);
    if (rc != 0)
        return MIN(rc, 0);
    return bring_back(a, binding, missing <= 1);
}

/* Return the bindings that named an inode, in the order of their directories.
 */
static GPtrArray *sorted_bindings(struct attacher *a)
{
    GPtrArray *list = g_ptr_array_new();
    GHashTableIter iter;
    gpointer key;

    g_hash_table_iter_init(&iter, a->r->step->bindings);
    while (g_hash_table_iter_next(&iter, &key, NULL)) {
        struct step_binding *binding = key;
        int missing;

        if (!binding->before || step_is_vacant(binding))
            continue;
        g_ptr_array_add(list, binding);
        missing = GPOINTER_TO_INT(
            g_hash_table_lookup(a->missing, binding->before));
        g_hash_table_insert(a->missing, binding->before,
                            GINT_TO_POINTER(missing + 1));
    }
    g_ptr_array_sort(list, compare_order);
    return list;
}

int restore_attach(struct restore *r)
{
    struct attacher a = {
        .r = r,
        .missing = g_hash_table_new(NULL, NULL),
        .dirfd = -1,
    };
    g_autoptr(GPtrArray) bindings = sorted_bindings(&a);
    int rc = 0;

    for (guint i = 0; rc == 0 && i < bindings->len; i++) {
        const struct step_binding *binding = g_ptr_array_index(bindings, i);

        rc = attach_binding(&a, binding);
        restore_note_progress(r);
        if (rc < 0) {
            g_autofree char *path = step_path_before(r->step, binding->dir,
                                                     binding->name);

            g_string_assign(r->trouble, path ? path : binding->name);
        }
    }
    fd_close(&a.dirfd);
    g_hash_table_unref(a.missing);
    return rc;
}
