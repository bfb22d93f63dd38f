/* SPDX-License-Identifier: Apache-2.0
 *
 * watch_dirs - see watch_dirs.h.
 */
#include "interceptor/watch/watch_dirs.h"

#include <limits.h>
#include <string.h>

static struct watch_dir *dir_ref(struct watch_dir *dir)
{
    if (dir)
        dir->refs++;
    return dir;
}

void watch_dir_unref(struct watch_dir *dir)
{
    /* No recursion: a deep path is a long chain. */
    while (dir && --dir->refs == 0) {
        struct watch_dir *parent = dir->parent;

        g_bytes_unref(dir->key);
        g_free(dir->name);
        g_free(dir);
        dir = parent;
    }
}

static void unref(gpointer dir)
{
    watch_dir_unref(dir);
}

GHashTable *watch_dirs_new(void)
{
    return g_hash_table_new_full(g_bytes_hash, g_bytes_equal, NULL, unref);
}

/* Events of two concurrent renames may arrive in an order that would make a
 * directory its own ancestor; such a chain would have no end. */
static bool is_below(const struct watch_dir *dir, const struct watch_dir *above)
{
    for (; dir; dir = dir->parent) {
        if (dir == above)
            return true;
    }
    return false;
}

struct watch_dir *watch_dirs_put(GHashTable *dirs, GBytes *key,
                                 struct watch_dir *parent, const char *name,
                                 bool *ret_new)
{
    struct watch_dir *dir = g_hash_table_lookup(dirs, key);
    struct watch_dir *old = NULL;

    *ret_new = !dir;
    if (!dir) {
        dir = g_new0(struct watch_dir, 1);
        dir->refs = 1;
        dir->key = g_bytes_ref(key);
        g_hash_table_insert(dirs, dir->key, dir);
    }
    dir->gone = is_below(parent, dir);
    if (dir->gone)
        parent = NULL;
    old = dir->parent;
    dir->parent = dir_ref(parent);
    watch_dir_unref(old);
    g_free(dir->name);
    dir->name = g_strdup(name);
    return dir;
}

void watch_dirs_remove(GHashTable *dirs, struct watch_dir *dir)
{
    dir->gone = dir->removed = true;
    g_hash_table_remove(dirs, dir->key);
}

static bool prepend(char *buffer, size_t *at, const char *name)
{
    size_t len = strlen(name);
    bool slash = buffer[*at] != '\0';

    if (len + slash > *at)
        return false;
    if (slash)
        buffer[--*at] = '/';
    *at -= len;
    memcpy(buffer + *at, name, len);
    return true;
}

char *watch_dir_path(const struct watch_dir *dir, const char *name)
{
    char buffer[PATH_MAX] = "";
    size_t at = sizeof(buffer) - 1;

    buffer[at] = '\0';
    if (name && *name && strcmp(name, ".") != 0 && !prepend(buffer, &at, name))
        return NULL;
    for (; dir; dir = dir->parent) {
        if (dir->gone || (dir->parent && !prepend(buffer, &at, dir->name)))
            return NULL;
    }
    return g_strdup(buffer[at] ? buffer + at : ".");
}
