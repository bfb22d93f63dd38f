/* SPDX-License-Identifier: Apache-2.0
 *
 * restore_names - see restore_names.h and restore.h.
 *
 * Detaching meets directories in two kinds of place: at home, reached from the
 * root through directories that are at home, and in staging. Those in staging
 * are queued, the others are walked (walker.h), so that depth costs neither
 * stack nor fds.
 */
#include "interceptor/restore_names.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "interceptor/restore_search.h"
#include "interceptor/sys.h"

enum { DIR_FLAGS = O_PATH | O_DIRECTORY | O_NOFOLLOW };

struct staged_name {
    char text[24];
};

static struct staged_name staged_name(uint64_t ino)
{
    struct staged_name name;

    snprintf(name.text, sizeof(name.text), "%" PRIu64, ino);
    return name;
}

/* Where the nth inode that is made anew waits. */
static struct staged_name remade_name(guint number)
{
    struct staged_name name;

    snprintf(name.text, sizeof(name.text), "n%u", number);
    return name;
}

void restore_relax(int dirfd)
{
    struct stat st;

    if (sys_stat_fd(dirfd, &st) == 0 && (st.st_mode & 0700) != 0700)
        sys_chmod_fd(dirfd, (st.st_mode & 07777) | 0700);
}

/* ---- homes --------------------------------------------------------------- */

static gconstpointer home_of(gconstpointer node)
{
    return ((const struct step_inode *)node)->home;
}

static const char *home_name_of(gconstpointer node)
{
    return ((const struct step_inode *)node)->home_name;
}

static unsigned depth_of(gconstpointer node)
{
    return ((const struct step_inode *)node)->depth;
}

static bool is_now(gconstpointer node, const struct stat *st)
{
    return step_is_now(node, st->st_ino);
}

void restore_walker_init(struct walker *walker, int dirfd,
                         const struct step_inode *dir)
{
    static const struct walker_ops ops = {
        .parent = home_of,
        .name = home_name_of,
        .depth = depth_of,
        .is = is_now,
        .relax = restore_relax,
    };

    walker_init(walker, &ops, dirfd, dir);
}

/* ---- detach -------------------------------------------------------------- */

/* Moving a directory changes its "..", which needs the right to write it. A
 * directory that is not ours to lose has its mode put back at once. */
static int rename_relaxed(int dirfd, const char *name, int to,
                          const char *to_name)
{
    int rc = sys_rename_noreplace(dirfd, name, to, to_name);
    fd_auto int fd = -1;
    struct stat st;

    if (rc != -EACCES)
        return rc;
    restore_relax(dirfd);
    rc = sys_rename_noreplace(dirfd, name, to, to_name);
    if (rc != -EACCES)
        return rc;
    fd = sys_openat(dirfd, name, DIR_FLAGS, 0);
    if (fd < 0 || sys_stat_fd(fd, &st) < 0)
        return -EACCES;
    restore_relax(fd);
    rc = sys_rename_noreplace(dirfd, name, to, to_name);
    sys_chmod_fd(fd, st.st_mode & 07777);
    return rc;
}

static int detach(struct restore *r, int dirfd, const char *name,
                  const struct stat *st, GArray *queue)
{
    uint64_t ino = st->st_ino;
    struct staged_name staged = staged_name(ino);
    int rc = rename_relaxed(dirfd, name, r->staging, staged.text);
    struct stat there;

    /* Another link of it is there already. */
    if (rc == -EEXIST && !S_ISDIR(st->st_mode) &&
        sys_stat_name(r->staging, staged.text, &there) == 0 &&
        there.st_ino == ino)
        return sys_unlinkat(dirfd, name, 0);
    if (rc == 0 && S_ISDIR(st->st_mode))
        g_array_append_val(queue, ino);
    return rc;
}

static int detach_bindings(struct restore *r, int dirfd,
                           const struct step_inode *dir, GArray *queue)
{
    for (guint i = 0; dir->bindings && i < dir->bindings->len; i++) {
        const struct step_binding *binding = g_ptr_array_index(dir->bindings,
                                                               i);
        struct stat st;
        int rc = sys_stat_name(dirfd, binding->name, &st);

        if (rc == -EACCES) {
            restore_relax(dirfd);
            rc = sys_stat_name(dirfd, binding->name, &st);
        }
        if (rc == -ENOENT || (rc == 0 && binding->before &&
                              step_is_now(binding->before, st.st_ino)))
            continue;
        if (rc == 0)
            rc = detach(r, dirfd, binding->name, &st, queue);
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* A recorded directory, and those of its subdirectories that have records and
 * are at home: put aside what their bindings do not name. */
static int detach_in_recorded(struct restore *r, int dirfd,
                              const struct step_inode *dir, GArray *queue)
{
    g_autoptr(GPtrArray) stack = g_ptr_array_new();
    struct walker walker;
    int rc = 0;

    restore_walker_init(&walker, dirfd, dir);
    g_ptr_array_add(stack, (gpointer)dir);
    while (rc == 0 && stack->len > 0) {
        const struct step_inode *at = g_ptr_array_steal_index_fast(
            stack, stack->len - 1);
        int fd = walker_go(&walker, at);

        if (fd == -ENOENT || fd == -ENOTDIR || fd == -ELOOP || fd == -ESTALE)
            continue; /* not at home */
        rc = fd < 0 ? fd : detach_bindings(r, fd, at, queue);
        for (guint i = 0; rc == 0 && at->children && i < at->children->len;
             i++) {
            struct step_inode *child = g_ptr_array_index(at->children, i);

            if (child->bindings || child->children)
                g_ptr_array_add(stack, child);
        }
    }
    walker_clear(&walker);
    return rc;
}

/* A directory that the step created holds what it created, and what it moved
 * there. Subdirectories are put aside as well: they are looked into from the
 * queue then, however deep they were. */
static int detach_in_created(struct restore *r, int dirfd, GArray *queue)
{
    int fd = sys_openat(dirfd, ".", O_RDONLY | O_DIRECTORY, 0);
    struct dirent *entry;
    int rc = 0;
    DIR *dir;

    if (fd == -EACCES) {
        restore_relax(dirfd);
        fd = sys_openat(dirfd, ".", O_RDONLY | O_DIRECTORY, 0);
    }
    dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir)
        return fd < 0 ? fd : -errno;
    while (rc == 0 && (entry = readdir(dir))) {
        const struct step_inode *inode;
        struct stat st;

        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        rc = sys_stat_name(dirfd, entry->d_name, &st);
        if (rc < 0)
            break;
        inode = step_find_inode(r->step, st.st_ino);
        if (S_ISDIR(st.st_mode) || (inode && inode->names))
            rc = detach(r, dirfd, entry->d_name, &st, queue);
    }
    closedir(dir);
    return rc;
}

static int detach_in_staged(struct restore *r, uint64_t ino, GArray *queue)
{
    fd_auto int fd = sys_openat(r->staging, staged_name(ino).text, DIR_FLAGS,
                                0);
    const struct step_inode *inode = step_find_inode(r->step, ino);

    if (fd < 0)
        return fd == -ENOENT ? 0 : fd;
    return inode ? detach_in_recorded(r, fd, inode, queue)
                 : detach_in_created(r, fd, queue);
}

static int drain_queue(struct restore *r, GArray *queue)
{
    int rc = 0;

    while (rc == 0 && queue->len > 0) {
        uint64_t ino = g_array_index(queue, uint64_t, queue->len - 1);

        g_array_set_size(queue, queue->len - 1);
        rc = detach_in_staged(r, ino, queue);
    }
    return rc;
}

/* What a first, interrupted run has put aside but not looked into. */
static int queue_staged(struct restore *r, GArray *queue)
{
    int fd = sys_openat(r->staging, ".", O_RDONLY | O_DIRECTORY, 0);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *entry;

    if (!dir)
        return fd < 0 ? fd : -errno;
    while ((entry = readdir(dir))) {
        uint64_t ino = strtoull(entry->d_name, NULL, 10);
        struct stat st;

        if (ino > 0 && sys_stat_name(r->staging, entry->d_name, &st) == 0 &&
            S_ISDIR(st.st_mode))
            g_array_append_val(queue, ino);
    }
    closedir(dir);
    return 0;
}

int restore_detach(struct restore *r)
{
    g_autoptr(GArray) queue = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    int rc = queue_staged(r, queue);

    if (rc == 0)
        rc = detach_in_recorded(r, r->root, r->step->root, queue);
    if (rc == 0)
        rc = drain_queue(r, queue);
    return rc;
}

/* ---- finding ------------------------------------------------------------- */

static bool can_remake(const struct step_inode *inode)
{
    return inode->flags & STEP_META &&
           (!S_ISREG(inode->meta->mode) || inode->flags & STEP_DATA);
}

static bool is_there(int dirfd, const char *name, uint64_t ino)
{
    struct stat st;

    return dirfd >= 0 && sys_stat_name(dirfd, name, &st) == 0 &&
           st.st_ino == ino;
}

bool restore_can_find(const struct restore *r, const struct step_inode *inode)
{
    return can_remake(inode) ||
           (!(inode->flags & STEP_RETIRED) &&
            (is_there(r->staging, staged_name(inode->ino).text, inode->ino) ||
             is_there(r->blobs, step_inode_blob(inode->ino).text, inode->ino)));
}

int restore_open_dir(struct restore *r, const struct step_inode *dir)
{
    int fd;

    if (dir != r->step->root && dir->depth == 0)
        return -ESTALE; /* a damaged log: no way leads there */
    fd = walker_go(&r->walker, dir);
    if (fd < 0)
        return fd;
    fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    return fd < 0 ? -errno : fd;
}

/* ---- attach -------------------------------------------------------------- */

struct attacher {
    struct restore *r;
    GHashTable *missing; /* step_inode -> number of its names not yet back */
    GHashTable *remade;  /* step_inode -> number of its remade_name() */
    const struct step_inode *dir; /* whose fd is dirfd */
    int dirfd;
};

/* Each directory before what is below it; the lost ones of a damaged log last.
 */
static int compare_order(gconstpointer a, gconstpointer b)
{
    const struct step_binding *x = *(struct step_binding *const *)a;
    const struct step_binding *y = *(struct step_binding *const *)b;
    unsigned ox = x->dir->order - 1, oy = y->dir->order - 1;

    return ox < oy ? -1 : ox > oy;
}

/* Make the inode anew, empty; content and metadata come later. */
static int remake(struct attacher *a, struct step_inode *inode,
                  struct staged_name *ret_name)
{
    struct restore *r = a->r;
    guint number = g_hash_table_size(a->remade) + 1;
    struct stat st;
    int rc;

    *ret_name = remade_name(number);
    rc = sys_remove_tree(r->staging, ret_name->text);
    if (rc == 0)
        rc = meta_create_inode(inode->meta, r->staging, ret_name->text);
    if (rc == 0)
        rc = sys_stat_name(r->staging, ret_name->text, &st);
    if (rc == 0)
        rc = undo_log_add_alias(r->log, inode->ino, st.st_ino, r->step->seq);
    if (rc < 0)
        return rc;
    if (!(inode->flags & STEP_RETIRED)) {
        g_hash_table_steal(r->step->inodes, &inode->ino);
        g_ptr_array_add(r->step->retired, inode);
        inode->flags |= STEP_RETIRED;
    }
    inode->now = st.st_ino;
    g_hash_table_insert(a->remade, inode, GUINT_TO_POINTER(number));
    return 0;
}

/* Put the inode at dirfd/name from dir/from. last: no other name needs it. */
static int place(struct attacher *a, int from_dir, const char *from,
                 const struct step_binding *binding, bool last)
{
    int rc = -EXDEV;

    if (!last)
        rc = sys_linkat(from_dir, from, a->dirfd, binding->name);
    if (last || rc == -EPERM || rc == -EMLINK)
        rc = rename_relaxed(from_dir, from, a->dirfd, binding->name);
    if (rc == -EACCES) {
        restore_relax(a->dirfd);
        rc = rename_relaxed(from_dir, from, a->dirfd, binding->name);
    }
    return rc;
}

static int bring_back(struct attacher *a, const struct step_binding *binding,
                      bool last)
{
    struct restore *r = a->r;
    struct step_inode *inode = binding->before;
    struct staged_name staged = staged_name(inode->ino);
    struct step_name kept = step_inode_blob(inode->ino);
    int rc;

    if (inode->flags & STEP_RETIRED) {
        staged = remade_name(
            GPOINTER_TO_UINT(g_hash_table_lookup(a->remade, inode)));
        if (inode->now && is_there(r->staging, staged.text, inode->now))
            return place(a, r->staging, staged.text, binding, last);
    } else if (is_there(r->staging, staged.text, inode->ino)) {
        return place(a, r->staging, staged.text, binding, last);
    } else if (is_there(r->blobs, kept.text, inode->ino)) {
        rc = place(a, r->blobs, kept.text, binding, last);
        if (rc == 0 && last)
            held_links_change(r->held, inode->ino, -1);
        return rc;
    } else if (restore_search(r->root, inode->ino, r->staging, staged.text) ==
               0) {
        return place(a, r->staging, staged.text, binding, last);
    }
    if (!can_remake(inode))
        return -ENODATA;
    rc = remake(a, inode, &staged);
    return rc < 0 ? rc : place(a, r->staging, staged.text, binding, last);
}

static bool is_in_place(struct attacher *a, const struct step_binding *binding)
{
    struct stat st;

    return sys_stat_name(a->dirfd, binding->name, &st) == 0 &&
           step_is_now(binding->before, st.st_ino);
}

static int enter_dir(struct attacher *a, const struct step_inode *dir)
{
    if (a->dir == dir)
        return 0;
    fd_close(&a->dirfd);
    a->dirfd = restore_open_dir(a->r, dir);
    a->dir = a->dirfd < 0 ? NULL : dir;
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
    if (is_in_place(a, binding))
        return 0;
    return bring_back(a, binding, missing <= 1);
}

/* The bindings that named something, in the order of their directories. */
static GPtrArray *sorted_bindings(struct attacher *a)
{
    GPtrArray *list = g_ptr_array_new();
    GHashTableIter iter;
    gpointer key;

    g_hash_table_iter_init(&iter, a->r->step->bindings);
    while (g_hash_table_iter_next(&iter, &key, NULL)) {
        struct step_binding *binding = key;
        int missing;

        if (!binding->before)
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
        .remade = g_hash_table_new(NULL, NULL),
        .dirfd = -1,
    };
    g_autoptr(GPtrArray) bindings = sorted_bindings(&a);
    int rc = 0;

    for (guint i = 0; rc == 0 && i < bindings->len; i++) {
        const struct step_binding *binding = g_ptr_array_index(bindings, i);

        rc = attach_binding(&a, binding);
        if (rc < 0) {
            g_autofree char *path = step_path_before(r->step, binding->dir,
                                                     binding->name);

            g_string_assign(r->trouble, path ? path : binding->name);
        }
    }
    fd_close(&a.dirfd);
    g_hash_table_unref(a.missing);
    g_hash_table_unref(a.remade);
    return rc;
}
