/* SPDX-License-Identifier: Apache-2.0
 *
 * restore_detach - see restore_detach.h and restore.h.
 *
 * Directories are processed in two kinds of places: at home, reached from the
 * root through directories that are at home, and in staging. Those in staging
 * are queued, the others are walked (walker.h), so depth costs neither stack
 * nor fds.
 *
 * What the step created and no redo needs is removed at once, which frees space
 * for what comes back. If there is no space for a staging directory either,
 * only that removal runs, after which there may be.
 */
#include "interceptor/restore/restore_detach.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "interceptor/restore/restore_edited.h"
#include "interceptor/restore/restore_names.h"
#include "interceptor/restore/restore_relax.h"
#include "interceptor/sys/btime.h"
#include "interceptor/sys/sys.h"
#include "interceptor/sys/tree_walk.h"

enum { DIR_FLAGS = O_PATH | O_DIRECTORY | O_NOFOLLOW };

/* A file's clock may lag this far behind the clock of processes. */
enum { CLOCK_STEP_US = 20000 };

static int detach_in_created(struct restore *r, int dirfd, GArray *queue);

/* The file changed late, or is older than the step: another process has moved
 * it here, alone or with a directory; then the file's ctime does not show it.
 */
static bool may_be_foreign(const struct restore *r, int dirfd, const char *name,
                           const struct stat *st)
{
    int64_t born;

    if (r->foreign_since == INT64_MAX)
        return false;
    if (sys_time_us(&st->st_ctim) > r->foreign_since)
        return true;
    born = btime_of_name(dirfd, name);
    return born > 0 && born / 1000 < r->step->started_us - CLOCK_STEP_US;
}

/* Return whether the step created the entry and no redo needs it. */
static bool is_rubbish(const struct restore *r, int dirfd, const char *name,
                       const struct stat *st)
{
    return !S_ISDIR(st->st_mode) && !step_find_inode(r->step, st->st_ino) &&
           (r->keep < 0 || (r->foreign_since < INT64_MAX &&
                            !may_be_foreign(r, dirfd, name, st)));
}

/* Save content that may be another process's and exists nowhere else. */
static int save_rubbish(struct restore *r, int dirfd, const char *name,
                        const struct stat *st)
{
    return r->keep >= 0 || !may_be_foreign(r, dirfd, name, st)
               ? 0
               : restore_save_name(r, dirfd, name, st);
}

/* Remove what is in a directory that the step created. */
static int make_room_in(struct restore *r, int dirfd, const char *name,
                        const struct stat *st, GArray *queue)
{
    fd_auto int fd = -1;

    r->wants_staging = true;
    if (!S_ISDIR(st->st_mode) || step_find_inode(r->step, st->st_ino))
        return 0;
    fd = sys_openat(dirfd, name, DIR_FLAGS, 0);
    return fd < 0 ? fd : detach_in_created(r, fd, queue);
}

static int detach(struct restore *r, int dirfd, const char *name,
                  const struct stat *st, GArray *queue)
{
    uint64_t ino = st->st_ino;
    struct staged_name staged = restore_staged_name(ino);
    struct stat there;
    int rc;

    if (is_rubbish(r, dirfd, name, st)) {
        rc = save_rubbish(r, dirfd, name, st);
        if (rc < 0)
            return rc;
        rc = sys_unlinkat(dirfd, name, 0);
        if (rc != -EACCES)
            return rc;
        restore_relax(r, dirfd);
        return sys_unlinkat(dirfd, name, 0);
    }
    if (r->staging < 0)
        return make_room_in(r, dirfd, name, st, queue);
    rc = restore_rename(r, dirfd, name, r->staging, staged.text);
    /* Another link of the inode is there already. */
    if (rc == -EEXIST && !S_ISDIR(st->st_mode) &&
        sys_stat_name(r->staging, staged.text, &there) == 0 &&
        there.st_ino == ino)
        return sys_unlinkat(dirfd, name, 0);
    if (rc == 0 && S_ISDIR(st->st_mode))
        g_array_append_val(queue, ino);
    return rc;
}

/* Return whether this inode stays at the binding's name. A lost inode has no
 * other place (restore_lost.h); it gives way only to the inode that had the
 * name. */
static bool stays(struct restore *r, const struct step_binding *binding,
                  uint64_t ino)
{
    const struct step_inode *inode = step_find_inode(r->step, ino);

    if (binding->before && step_is_now(binding->before, ino))
        return true;
    if (step_is_vacant(binding))
        return !inode || !step_has_name(inode);
    return !binding->before && inode && inode->flags & STEP_LOST;
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
            restore_relax(r, dirfd);
            rc = sys_stat_name(dirfd, binding->name, &st);
        }
        if (rc == -ENOENT || (rc == 0 && stays(r, binding, st.st_ino)))
            continue;
        if (rc == 0)
            rc = detach(r, dirfd, binding->name, &st, queue);
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* In a recorded directory, and in those of its subdirectories that have records
 * and are at home, detach what the bindings do not name. */
static int detach_in_recorded(struct restore *r, int dirfd,
                              const struct step_inode *dir, GArray *queue)
{
    g_autoptr(GPtrArray) stack = g_ptr_array_new();
    struct walker walker;
    int rc = 0;

    restore_walker_init(&walker, r, dirfd, dir);
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

            /* Depth 0: part of a cycle, in a damaged log. */
            if (child->depth > 0 && (child->bindings || child->children))
                g_ptr_array_add(stack, child);
        }
    }
    walker_clear(&walker);
    return rc;
}

/* In a directory that the step created: detach what the step moved or linked
 * there; what the step created stays in it. */
struct created {
    struct restore *r;
    GArray *queue;
};

static void relax(int dirfd, void *opaque)
{
    restore_relax(((const struct created *)opaque)->r, dirfd);
}

static int visit_created(int dirfd, const struct dirent *entry, void *opaque)
{
    struct created *created = opaque;
    struct stat st;
    int rc = sys_stat_name(dirfd, entry->d_name, &st);

    if (rc < 0)
        return rc;
    if (is_rubbish(created->r, dirfd, entry->d_name, &st) ||
        step_find_inode(created->r->step, st.st_ino))
        return detach(created->r, dirfd, entry->d_name, &st, created->queue);
    return S_ISDIR(st.st_mode) ? TREE_ENTER : TREE_SKIP;
}

static int detach_in_created(struct restore *r, int dirfd, GArray *queue)
{
    struct created created = { r, queue };

    return tree_walk(dirfd, visit_created, relax, &created);
}

/* A lost directory holds its former content, and perhaps entries that the step
 * moved or linked there, which return to their own names. Its bindings do not
 * tell them apart (restore_drop_lost()). */
static int visit_lost(int dirfd, const struct dirent *entry, void *opaque)
{
    struct created *lost = opaque;
    const struct step_inode *inode;
    struct stat st;
    int rc = sys_stat_name(dirfd, entry->d_name, &st);

    if (rc < 0)
        return rc;
    inode = step_find_inode(lost->r->step, st.st_ino);
    if (inode && step_has_name(inode))
        return detach(lost->r, dirfd, entry->d_name, &st, lost->queue);
    return S_ISDIR(st.st_mode) ? TREE_ENTER : TREE_SKIP;
}

static int detach_in_lost(struct restore *r, int dirfd, GArray *queue)
{
    struct created lost = { r, queue };

    return tree_walk(dirfd, visit_lost, relax, &lost);
}

static int detach_in_staged(struct restore *r, uint64_t ino, GArray *queue)
{
    fd_auto int fd = sys_openat(r->staging, restore_staged_name(ino).text,
                                DIR_FLAGS, 0);
    const struct step_inode *inode = step_find_inode(r->step, ino);

    if (fd < 0)
        return fd == -ENOENT ? 0 : fd;
    if (!inode)
        return detach_in_created(r, fd, queue);
    return inode->flags & STEP_LOST ? detach_in_lost(r, fd, queue)
                                    : detach_in_recorded(r, fd, inode, queue);
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

static int queue_if_dir(int fd, const struct dirent *entry, void *opaque)
{
    GArray *queue = opaque;
    uint64_t ino = strtoull(entry->d_name, NULL, 10);
    struct stat st;
    int rc = ino == 0 ? 0 : sys_stat_name(fd, entry->d_name, &st);

    if (ino > 0 && rc == 0 && S_ISDIR(st.st_mode))
        g_array_append_val(queue, ino);
    return rc;
}

/* Queue directories that an interrupted run detached but did not process. */
static int queue_staged(struct restore *r, GArray *queue)
{
    return sys_dir_each(r->staging, ".", queue_if_dir, queue);
}

int restore_detach(struct restore *r)
{
    g_autoptr(GArray) queue = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    int rc = r->staging < 0 ? 0 : queue_staged(r, queue);

    if (rc == 0)
        rc = detach_in_recorded(r, r->root, r->step->root, queue);
    if (rc == 0)
        rc = drain_queue(r, queue);
    return rc;
}
