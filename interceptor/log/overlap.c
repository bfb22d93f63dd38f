/* SPDX-License-Identifier: Apache-2.0
 *
 * overlap - see overlap.h.
 */
#include "interceptor/log/overlap.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>

#include "common/fd.h"
#include "interceptor/log/post_state.h"
#include "interceptor/sys/sys.h"

struct overlap {
    bool any; /* the step's changes are unknown */

    /* Sets of owned paths; "." is the root. */
    GHashTable *touched; /* with all their parent folders */
    GHashTable *trees;   /* paths whose whole subtree counts */
};

/* ---- paths --------------------------------------------------------------- */

/* Add a path (ownership taken). NULL: the path is unknown. */
static void add_path(struct overlap *overlap, char *path, bool tree)
{
    g_autofree char *up = path;
    char *slash;

    if (!path) {
        overlap->any = true;
        return;
    }
    if (tree)
        g_hash_table_add(overlap->trees, g_strdup(path));
    g_hash_table_add(overlap->touched, g_strdup("."));
    while (*up && g_hash_table_add(overlap->touched, g_strdup(up))) {
        slash = strrchr(up, '/');
        if (!slash)
            break;
        *slash = '\0';
    }
}

/* ---- before the step ----------------------------------------------------- */

static void add_home(struct overlap *overlap, const struct step *step,
                     const struct step_inode *inode)
{
    if (step_has_home(step, inode))
        add_path(overlap, step_path_before(step, inode, NULL), false);
}

static void add_before(struct overlap *overlap, const struct step *step)
{
    GHashTableIter iter;
    gpointer value;

    g_hash_table_iter_init(&iter, step->inodes);
    while (g_hash_table_iter_next(&iter, NULL, &value))
        add_home(overlap, step, value);
    for (guint i = 0; i < step->retired->len; i++)
        add_home(overlap, step, g_ptr_array_index(step->retired, i));
    g_hash_table_iter_init(&iter, step->bindings);
    while (g_hash_table_iter_next(&iter, &value, NULL)) {
        const struct step_binding *binding = value;

        add_path(overlap, step_path_before(step, binding->dir, binding->name),
                 true);
    }
}

/* ---- after it ------------------------------------------------------------ */

/* Return a new string; NULL if the path is too long. */
static char *post_path(const struct post_state *post)
{
    g_autoptr(GString) path = g_string_new(post->name);

    for (post = post->dir; post && post->dir; post = post->dir) {
        g_string_prepend_c(path, '/');
        g_string_prepend(path, post->name);
        if (path->len >= PATH_MAX)
            return NULL;
    }
    return g_string_free(g_steal_pointer(&path), FALSE);
}

/* The step neither made nor moved an inode whose path is already in the set;
 * any other path counts with its whole subtree. */
static void add_after(struct overlap *overlap, const struct step *step)
{
    for (guint i = 0; i < step->post->len; i++) {
        const struct post_state *post = g_ptr_array_index(step->post, i);
        char *path = post->dir ? post_path(post) : NULL;

        if (!post->dir)
            continue;
        add_path(overlap, path,
                 path && !g_hash_table_contains(overlap->touched, path));
    }
}

/* ---- more names than are known ------------------------------------------- */

/* Count the post-state lines of each inode: number -> count. */
static GHashTable *count_lines(const struct step *step)
{
    GHashTable *lines = g_hash_table_new(g_int64_hash, g_int64_equal);

    for (guint i = 0; i < step->post->len; i++) {
        struct post_state *post = g_ptr_array_index(step->post, i);
        guint count = GPOINTER_TO_UINT(
            g_hash_table_lookup(lines, &post->state.ino));

        g_hash_table_insert(lines, &post->state.ino,
                            GUINT_TO_POINTER(count + 1));
    }
    return lines;
}

static bool has_more_links(const struct step *step, GHashTable *lines)
{
    for (guint i = 0; i < step->post->len; i++) {
        const struct post_state *post = g_ptr_array_index(step->post, i);

        if (post->links >
            GPOINTER_TO_UINT(g_hash_table_lookup(lines, &post->state.ino)))
            return true;
    }
    return false;
}

/* The step left the inode at no name it knows. So the log holds it or a copy of
 * it, or it has other names. */
static bool may_be_elsewhere(const struct step_inode *inode, int blobs)
{
    struct stat st;

    if (!(inode->flags & (STEP_DATA | STEP_META)) ||
        (inode->meta && S_ISDIR(inode->meta->mode)))
        return false;
    if (sys_stat_name(blobs, step_inode_blob(inode->ino).text, &st) < 0)
        return true;
    return !S_ISDIR(st.st_mode) && st.st_nlink > 1;
}

/* An outside edit through a name that no record has would change the step's
 * file. */
static bool has_hidden_names(const struct step *step, int dir)
{
    fd_auto int blobs = sys_openat(dir, STEP_BLOBS,
                                   O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    g_autoptr(GHashTable) lines = count_lines(step);
    bool found = has_more_links(step, lines);
    GHashTableIter iter;
    gpointer value;

    g_hash_table_iter_init(&iter, step->inodes);
    while (!found && g_hash_table_iter_next(&iter, NULL, &value)) {
        const struct step_inode *inode = value;

        found = !g_hash_table_contains(lines, &inode->recorded) &&
                may_be_elsewhere(inode, blobs);
    }
    return found;
}

/* ---- the set ------------------------------------------------------------ */

struct overlap *overlap_new(const struct step *step, int dir)
{
    struct overlap *overlap = g_new0(struct overlap, 1);

    overlap->any = !step || step->damaged || !post_state_is_complete(step) ||
                   has_hidden_names(step, dir);
    overlap->touched = g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
                                             NULL);
    overlap->trees = g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
                                           NULL);
    if (overlap->any)
        return overlap;
    add_before(overlap, step);
    add_after(overlap, step);
    return overlap;
}

static bool is_in_tree(const struct overlap *overlap, const char *path)
{
    g_autofree char *up = g_strdup(path);
    char *slash;

    while ((slash = strrchr(up, '/'))) {
        *slash = '\0';
        if (g_hash_table_contains(overlap->trees, up))
            return true;
    }
    return false;
}

bool overlap_has(const struct overlap *overlap,
                 const struct ic_barrier *barrier)
{
    if (overlap->any || barrier->more > 0 || barrier->paths->len == 0)
        return true;
    for (guint i = 0; i < barrier->paths->len; i++) {
        const char *path = g_ptr_array_index(barrier->paths, i);

        if (g_hash_table_contains(overlap->touched, path) ||
            is_in_tree(overlap, path))
            return true;
    }
    return false;
}

void overlap_free(struct overlap *overlap)
{
    if (!overlap)
        return;
    g_hash_table_unref(overlap->touched);
    g_hash_table_unref(overlap->trees);
    g_free(overlap);
}
