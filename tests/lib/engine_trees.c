/* SPDX-License-Identifier: Apache-2.0
 *
 * engine_trees - see engine_trees.h.
 */
#include "tests/lib/engine_trees.h"

#include <string.h>
#include <unistd.h>

int engine_put(struct world *w, const char *path, int flags, const char *text)
{
    return w->backend->put(w, path, flags, text, strlen(text), 0);
}

void engine_fill_small(struct world *w)
{
    g_autofree char *large = g_strnfill(1000000, 'x');

    world_host_dir(w, "src/components");
    world_host_dir(w, "empty-dir");
    world_host_file(w, "empty.txt", "");
    world_host_file(w, "small.txt", "hello world");
    world_host_file(w, "large.bin", large);
    world_host_file(w, "src/main.c", "int main(void) { return 0; }\n");
    world_host_file(w, "src/components/app.c", "static int app;\n");
    world_host_file(w, "run.sh", "#!/bin/sh\necho ok\n");
    g_autofree char *script = world_host_path(w, "run.sh");
    OK(chmod(script, 0755));
}

void engine_fill_links(struct world *w)
{
    g_autofree char *from = NULL, *to = NULL, *third = NULL;

    engine_fill_small(w);
    from = world_host_path(w, "small.txt");
    to = world_host_path(w, "src/hard");
    third = world_host_path(w, "third");
    OK(link(from, to));
    OK(link(from, third));
    g_free(to);
    to = world_host_path(w, "soft");
    OK(symlink("src/main.c", to));
    g_free(to);
    to = world_host_path(w, "dangling");
    OK(symlink("/no/such/\xff place", to));
}

void engine_remove_tree(struct world *w, const char *path)
{
    g_autofree char *full = world_host_path(w, path);
    g_autoptr(GDir) dir = g_dir_open(full, 0, NULL);
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    const char *name;

    while ((name = g_dir_read_name(dir)))
        g_ptr_array_add(names, g_strdup(name));
    for (guint i = 0; i < names->len; i++) {
        g_autofree char *child = path[0]
                                     ? g_strdup_printf(
                                           "%s/%s", path,
                                           (char *)g_ptr_array_index(names, i))
                                     : g_strdup(g_ptr_array_index(names, i));
        struct stat st;

        DO(stat, child, &st);
        if (S_ISDIR(st.st_mode)) {
            engine_remove_tree(w, child);
            DO(rmdir, child);
        } else {
            DO(unlink, child);
        }
    }
}

void engine_rename_into_new_dir(struct world *w)
{
    DO(mkdir, "n1", 0755);
    DO(mkdir, "n1/n2", 0755);
    DO(rename, "src", "n1/n2/src", 0);
    DO(rename, "small.txt", "n1/s", 0);
    DO(rename, "n1/n2/src/components", "n1/c", 0);
    WRITE("n1/c/app.c", "x");
    DO(unlink, "n1/s");
    CREATE("n1/n2/junk", "junk");
}

void engine_hardlink_remove_one(struct world *w)
{
    struct stat st;

    DO(unlink, "src/hard");
    DO(stat, "small.txt", &st);
    g_assert_cmpint(st.st_nlink, ==, 2);
    WRITE("third", "after");
}
