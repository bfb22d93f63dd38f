/* SPDX-License-Identifier: Apache-2.0
 *
 * past - see past.h.
 *
 * past_resolve() follows what a record says to the inode's path after that
 * step, which is past_resolve() at a later level. So the recursion ends, and is
 * at most as deep as there are steps.
 */
#include "interceptor/past/past.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "common/errors.h"
#include "common/fd.h"
#include "interceptor/capture/search.h"
#include "interceptor/engine/folder.h"
#include "interceptor/engine/rollback.h"
#include "interceptor/engine/rollback_step.h"
#include "interceptor/log/post_state.h"
#include "interceptor/sys/sys.h"

enum { LOOK_FLAGS = O_PATH | O_NOFOLLOW };

/* ---- steps --------------------------------------------------------------- */

static void free_step(gpointer step)
{
    step_free(step);
}

static gboolean load(struct ic *ic, int64_t id, bool unprotected_too,
                     GPtrArray *steps, GError **error)
{
    fd_auto int dir = undo_log_open_step(ic->log, id);
    g_autoptr(step_auto) step = NULL;

    /* The names of a step that changed another folder mean nothing here. */
    if (!(unprotected_too ? rollback_read_step(ic, dir, &step, error)
                          : rollback_load_step(ic, dir, false, &step, error)) ||
        !folder_check(ic, step, true, error))
        return FALSE;
    g_ptr_array_add(steps, g_steal_pointer(&step));
    return TRUE;
}

static size_t find(const struct undo_log_entry *entries, size_t count,
                   int64_t id)
{
    size_t i = 0;

    while (i < count && entries[i].id != id)
        i++;
    return i;
}

gboolean past_open(struct ic *ic, int64_t id, bool unprotected_too,
                   struct past *ret_past, GError **error)
{
    g_autoptr(GPtrArray) steps = g_ptr_array_new_with_free_func(free_step);
    size_t count;
    const struct undo_log_entry *entries = undo_log_entries(ic->log, &count);
    size_t first = find(entries, count, id);

    if (first == count) {
        g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                    "step %" G_GINT64_FORMAT ": not in the history", id);
        return FALSE;
    }
    if (count - first > PAST_MAX_STEPS) {
        g_set_error(error, STEPBACK_ERROR, ERROR_TOO_LARGE,
                    "only the newest %d steps can be examined; step "
                    "%" G_GINT64_FORMAT " is older",
                    PAST_MAX_STEPS, id);
        return FALSE;
    }
    for (size_t i = first; i < count; i++) {
        if (!load(ic, entries[i].id, unprotected_too && i == first, steps,
                  error))
            return FALSE;
    }
    ret_past->ic = ic;
    ret_past->steps = g_steal_pointer(&steps);
    return TRUE;
}

void past_clear(struct past *past)
{
    g_clear_pointer(&past->steps, g_ptr_array_unref);
}

static struct step *step_at(const struct past *past, unsigned index)
{
    return g_ptr_array_index(past->steps, index);
}

int past_open_blobs(const struct past *past, unsigned step)
{
    fd_auto int dir = undo_log_open_step(past->ic->log,
                                         step_at(past, step)->id);

    if (dir < 0)
        return dir;
    return sys_openat(dir, STEP_BLOBS, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
}

/* ---- records ------------------------------------------------------------- */

static struct step_inode *find_retired(const struct step *step, uint64_t ino)
{
    for (guint i = 0; i < step->retired->len; i++) {
        struct step_inode *inode = g_ptr_array_index(step->retired, i);

        if (inode->ino == ino)
            return inode;
    }
    return NULL;
}

/* Return the record of the inode that had this number before the step: if one
 * with it was removed in the step, it is that one. */
static struct step_inode *find_record(const struct past *past, uint64_t ino,
                                      unsigned step)
{
    struct step_inode *retired = find_retired(step_at(past, step), ino);

    return retired ? retired : step_find_inode(step_at(past, step), ino);
}

/* Return the inode that was removed since and had this number, which another
 * one has now. */
static const struct step_inode *find_dead(const struct step *step, uint64_t ino)
{
    for (guint i = 0; i < step->retired->len; i++) {
        const struct step_inode *inode = g_ptr_array_index(step->retired, i);

        if (inode->flags & STEP_LOST && inode->recorded == ino)
            return inode;
    }
    return NULL;
}

const struct step_inode *past_record(const struct past *past,
                                     const struct past_node *node,
                                     unsigned step)
{
    const struct step_inode *record;

    if (node->gone && step == node->gone_in)
        return node->gone;
    if (node->gone && step > node->gone_in)
        return NULL;
    record = step_find_inode(step_at(past, step), node->ino);
    return record || !node->gone ? record
                                 : find_dead(step_at(past, step), node->ino);
}

const struct step_inode *past_content_record(const struct past *past,
                                             const struct past_node *node,
                                             unsigned step)
{
    const struct step_inode *record = past_record(past, node, step);

    return record && record->flags & STEP_DATA ? record : NULL;
}

/* ---- places of an inode -------------------------------------------------- */

/* Return the inode's path after the step, as the step recorded it, or NULL. */
static char *path_after(const struct step *step, uint64_t recorded)
{
    const struct post_state *found = NULL;
    GString *path;

    for (guint i = 0; step->post && !found && i < step->post->len; i++) {
        const struct post_state *post = g_ptr_array_index(step->post, i);

        if (post->dir && post->state.ino == recorded)
            found = post;
    }
    if (!found)
        return NULL;
    path = g_string_new(NULL);
    for (; found->dir; found = found->dir) {
        if (path->len > 0)
            g_string_prepend_c(path, '/');
        g_string_prepend(path, found->name);
    }
    return g_string_free(path, FALSE);
}

/* Look in the log. 1, 0 or -errno. */
static int find_kept(const struct past *past, unsigned step, uint64_t ino,
                     struct past_node *ret_node)
{
    fd_auto int blobs = past_open_blobs(past, step);
    fd_auto int fd = -1;
    struct stat st;

    if (blobs < 0)
        return blobs;
    fd = sys_openat(blobs, step_inode_blob(ino).text, LOOK_FLAGS, 0);
    if (fd < 0)
        return fd == -ENOENT ? 0 : fd;
    if (sys_stat_fd(fd, &st) < 0 || st.st_ino != ino)
        return -ESTALE;
    *ret_node = (struct past_node){ .ino = ino, .fd = fd_steal(&fd) };
    return 1;
}

static int take_found(int dirfd, const char *name, uint64_t ino, void *opaque)
{
    struct past_node *node = opaque;

    node->fd = sys_openat(dirfd, name, LOOK_FLAGS, 0);
    return node->fd < 0 ? node->fd : 0;
}

/* Search the tree for a name that no record contains. */
static int find_anywhere(const struct past *past, uint64_t ino,
                         struct past_node *ret_node)
{
    struct past_node node = { .ino = ino, .fd = -1 };
    int rc = search_file(past->ic->root->fd, ino, take_found, &node);

    if (rc < 0)
        return rc == -ENOENT ? -ESTALE : rc;
    *ret_node = node;
    return 0;
}

/* Look where the step's end record has it. 1; 0: no entry; or -errno. */
static int find_after(const struct past *past, unsigned step, uint64_t ino,
                      uint64_t recorded, struct past_node *ret_node)
{
    g_autofree char *path = path_after(step_at(past, step), recorded);
    struct past_node node;
    int rc = path ? past_resolve(past, path, step + 1, &node) : -ENOENT;

    if (rc < 0)
        return rc == -ENOENT || rc == -ESTALE ? 0 : rc;
    if (node.ino != ino) {
        past_node_clear(&node);
        return 0;
    }
    *ret_node = node;
    return 1;
}

/* Return the next step's record of the inode, or NULL. */
static const struct step_inode *next_record(const struct past *past,
                                            uint64_t ino, unsigned *step)
{
    const struct step_inode *found = NULL;

    while (!found && ++*step < past->steps->len)
        found = find_record(past, ino, *step);
    return found;
}

/* Find what a binding of this step names. */
static int follow(const struct past *past, const struct step_inode *inode,
                  unsigned step, struct past_node *ret_node)
{
    uint64_t ino = inode->ino;

    while (inode) {
        int rc;

        if (inode->flags & STEP_LOST)
            return -ESTALE;
        if (inode->flags & STEP_RETIRED) {
            *ret_node = (struct past_node){ ino, -1, inode, step };
            return 0;
        }
        rc = find_kept(past, step, ino, ret_node);
        if (rc == 0)
            rc = find_after(past, step, ino, inode->recorded, ret_node);
        if (rc != 0)
            return MIN(rc, 0);
        inode = next_record(past, ino, &step);
    }
    return find_anywhere(past, ino, ret_node);
}

/* ---- names --------------------------------------------------------------- */

/* Look up a name in an existing directory; no step has touched that name. */
static int look(const struct past *past, const struct past_node *dir,
                const char *name, struct past_node *ret_node)
{
    fd_auto int fd = dir->fd < 0 ? -ENOENT
                                 : sys_openat(dir->fd, name, LOOK_FLAGS, 0);
    struct stat st;
    int rc = fd < 0 ? fd : sys_stat_fd(fd, &st);

    if (rc < 0)
        return rc == -ENOTDIR ? -ENOENT : rc;
    if (st.st_dev != past->ic->root->dev &&
        st.st_dev != undo_log_dev(past->ic->log))
        return -ENOENT; /* a mount point: not in the share */
    *ret_node = (struct past_node){ .ino = st.st_ino, .fd = fd_steal(&fd) };
    return 0;
}

static int look_up(const struct past *past, const struct past_node *dir,
                   const char *name, unsigned level, struct past_node *ret_node)
{
    for (unsigned i = level; i < past->steps->len; i++) {
        struct step_inode *record = (struct step_inode *)past_record(past, dir,
                                                                     i);
        const struct step_binding *binding =
            record ? step_find_binding(step_at(past, i), record, name) : NULL;

        if (binding)
            return binding->before ? follow(past, binding->before, i, ret_node)
                                   : -ENOENT;
    }
    return look(past, dir, name, ret_node);
}

static int look_up_part(const struct past *past, struct past_node *dir,
                        const char *name, unsigned level)
{
    struct past_node node;
    int rc;

    if (name[0] == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return -ENOENT;
    rc = look_up(past, dir, name, level, &node);
    if (rc < 0)
        return rc;
    past_node_clear(dir);
    *dir = node;
    return 0;
}

int past_resolve(const struct past *past, const char *path, unsigned level,
                 struct past_node *ret_node)
{
    g_auto(GStrv) names = g_strsplit(path, "/", -1);
    struct past_node node = { .ino = past->ic->root->ino };
    int rc = 0;

    node.fd = sys_openat(past->ic->root->fd, ".", O_PATH | O_DIRECTORY, 0);
    if (node.fd < 0)
        return node.fd;
    for (size_t i = 0; rc == 0 && names[i]; i++)
        rc = look_up_part(past, &node, names[i], level);
    if (rc < 0)
        past_node_clear(&node);
    else
        *ret_node = node;
    return rc;
}

/* ---- folders ------------------------------------------------------------- */

static int add_name(int fd, const struct dirent *entry, void *opaque)
{
    g_hash_table_add(opaque, g_strdup(entry->d_name));
    return 0;
}

static int list_now(int fd, GHashTable *names)
{
    return sys_dir_each_fd(sys_reopen(fd, O_RDONLY | O_DIRECTORY), add_name,
                           names);
}

static void list_then(const struct past *past, const struct past_node *dir,
                      unsigned level, GHashTable *names)
{
    for (unsigned i = level; i < past->steps->len; i++) {
        const struct step_inode *record = past_record(past, dir, i);

        for (guint k = 0;
             record && record->bindings && k < record->bindings->len; k++) {
            const struct step_binding *binding = g_ptr_array_index(
                record->bindings, k);

            g_hash_table_add(names, g_strdup(binding->name));
        }
    }
}

int past_list(const struct past *past, const char *path, unsigned level,
              GHashTable **ret_names)
{
    g_autoptr(GHashTable)
        names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    struct past_node dir;
    int rc = past_resolve(past, path, level, &dir);

    if (rc < 0)
        return rc;
    if (dir.fd >= 0)
        rc = list_now(dir.fd, names);
    list_then(past, &dir, level, names);
    past_node_clear(&dir);
    if (rc == 0)
        *ret_names = g_steal_pointer(&names);
    return rc;
}

void past_node_clear(struct past_node *node)
{
    fd_close(&node->fd);
}
