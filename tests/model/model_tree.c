/* SPDX-License-Identifier: Apache-2.0
 *
 * model_tree - see model_tree.h.
 */
#include "tests/model/model_tree.h"

#include <string.h>
#include <sys/stat.h>

#include "tests/lib/oracle.h"

char *model_tree_path(const char *line)
{
    static const char *const types[] = { " file ",  " dir ",  " symlink ",
                                         " fifo ",  " char ", " block ",
                                         " socket " };
    const char *end = NULL;
    g_autofree char *shown = NULL;

    for (size_t i = 0; i < G_N_ELEMENTS(types); i++) {
        const char *at = strstr(line, types[i]);

        if (at && (!end || at < end))
            end = at;
    }
    shown = g_strndup(line, end ? (gsize)(end - line) : 0);
    return g_strcompress(shown);
}

const char *model_tree_find(GPtrArray *tree, const char *path)
{
    for (guint i = 0; i < tree->len; i++) {
        g_autofree char *at = model_tree_path(g_ptr_array_index(tree, i));

        if (strcmp(at, path) == 0)
            return g_ptr_array_index(tree, i);
    }
    return NULL;
}

static GPtrArray *without(GPtrArray *tree, const char *path)
{
    GPtrArray *rest = g_ptr_array_new();

    for (guint i = 0; i < tree->len; i++) {
        g_autofree char *at = model_tree_path(g_ptr_array_index(tree, i));

        if (strcmp(at, path) != 0)
            g_ptr_array_add(rest, g_ptr_array_index(tree, i));
    }
    return rest;
}

char *model_tree_diff(GPtrArray *wanted, GPtrArray *now, const char *loose)
{
    g_autoptr(GPtrArray) a = NULL, b = NULL;

    if (!loose)
        return oracle_diff(wanted, now);
    a = without(wanted, loose);
    b = without(now, loose);
    return oracle_diff(a, b);
}

bool model_tree_line_equal(const char *a, const char *b)
{
    g_autoptr(GPtrArray) x = g_ptr_array_new(), y = g_ptr_array_new();
    g_autofree char *diff = NULL;

    g_ptr_array_add(x, (gpointer)a);
    g_ptr_array_add(y, (gpointer)b);
    diff = oracle_diff(x, y);
    return !diff;
}

static bool is_at_or_below(const char *line, const char *path)
{
    g_autofree char *at = model_tree_path(line);
    size_t len = strlen(path);

    return strncmp(at, path, len) == 0 && (at[len] == '\0' || at[len] == '/');
}

void model_tree_add(GPtrArray *tree, GPtrArray *from, const char *path)
{
    for (guint i = 0; i < from->len; i++) {
        const char *line = g_ptr_array_index(from, i);

        if (is_at_or_below(line, path))
            g_ptr_array_add(tree, g_strdup(line));
    }
}

GHashTable *model_tree_places(GPtrArray *tree, const char *share)
{
    GHashTable *places = g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
                                               g_free);

    for (guint i = 0; i < tree->len; i++) {
        g_autofree char *path = model_tree_path(g_ptr_array_index(tree, i));
        g_autofree char *full = g_build_filename(share, path, NULL);
        struct stat st;

        if (lstat(full, &st) < 0)
            continue;
        g_hash_table_insert(
            places, g_steal_pointer(&path),
            g_memdup2(&(uint64_t){ st.st_ino }, sizeof(uint64_t)));
    }
    return places;
}
