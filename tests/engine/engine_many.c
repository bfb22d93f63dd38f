/* SPDX-License-Identifier: Apache-2.0
 *
 * engine_many - cases of engine_cases.h: large directories.
 *
 * Also the size of their records in the log.
 */
#include "tests/lib/engine_cases.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* -m slow for more; no assertion depends on the number. */
enum { QUICK_ENTRIES = 1500, ENTRIES = 100000 };

static unsigned entries(void)
{
    return g_test_slow() ? ENTRIES : QUICK_ENTRIES;
}

static void fill_many(struct world *w)
{
    g_autofree char *path = world_host_path(w, "many");
    int fd;

    engine_fill_small(w);
    world_host_dir(w, "many/sub");
    fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    g_assert_cmpint(fd, >=, 0);
    for (unsigned i = 0; i < entries(); i++) {
        char name[32];

        snprintf(name, sizeof(name), i % 100 ? "%u" : "sub/%u", i);
        OK(mknodat(fd, name, S_IFREG | 0644, 0));
    }
    close(fd);
}

static void remove_many(struct world *w)
{
    engine_remove_tree(w, "many");
    DO(rmdir, "many");
}

static void remove_check(G_GNUC_UNUSED struct world *w, json_t *report)
{
    g_assert_cmpint(json_integer_value(json_object_get(report, "affected")), ==,
                    entries() + 2);
}

static void rename_many(struct world *w)
{
    DO(rename, "many", "src/moved", 0);
    DO(rename, "src/moved/sub", "sub", 0);
}

/* The same for a directory of a hundred thousand files as for an empty one. */
static void rename_check(struct world *w, json_t *report)
{
    g_autofree char *manifest = g_build_filename(w->undo_dir, "steps", "1",
                                                 "manifest.jsonl", NULL);
    g_autofree char *text = NULL;
    g_autoptr(GError) error = NULL;
    unsigned lines = 0;
    gsize len;

    world_assert_affected(report, "many", "src/moved", "many/sub", "sub", NULL);
    g_file_get_contents(manifest, &text, &len, &error);
    g_assert_no_error(error);
    for (const char *at = text; (at = strchr(at, '\n')); at++)
        lines++;
    g_assert_cmpuint(lines, <=, 20);
    g_assert_cmpuint(len, <=, 8192);
}

const struct undo_case engine_many_cases[] = {
    { "many/remove", fill_many, remove_many, remove_check },
    { "many/rename", fill_many, rename_many, rename_check },
};

const size_t engine_many_cases_count = G_N_ELEMENTS(engine_many_cases);
