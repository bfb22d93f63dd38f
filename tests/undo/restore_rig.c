/* SPDX-License-Identifier: Apache-2.0
 *
 * restore_rig - see restore_rig.h.
 */
#include "tests/undo/restore_rig.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/json_bytes.h"
#include "tests/lib/engine_trees.h"

/* ---- worlds -------------------------------------------------------------- */

static void fill(struct world *w)
{
    g_autofree char *linked = world_host_path(w, "linked");
    g_autofree char *other = world_host_path(w, "dir/other-link");
    g_autofree char *symbolic = world_host_path(w, "symbolic");
    g_autofree char *odd = world_host_path(w, "odd-\xff\x01");
    g_autofree char *big = world_host_path(w, "big");
    int fd;

    world_host_dir(w, "dir/sub/deeper");
    world_host_dir(w, "empty");
    world_host_file(w, "file", "what was there");
    world_host_file(w, "second", "the second file");
    world_host_file(w, "bystander", "nobody asks for this");
    world_host_file(w, "dir/file", "in a folder");
    world_host_file(w, "dir/sub/one", "one");
    world_host_file(w, "dir/sub/deeper/two", "two");
    world_host_file(w, "odd-\xff\x01", "a name that is not UTF-8");
    world_host_file(w, "linked", "two names");
    OK(link(linked, other));
    OK(symlink("dir/file", symbolic));
    g_assert_true(g_file_test(odd, G_FILE_TEST_EXISTS));
    fd = open(big, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    OK(ftruncate(fd, RESTORE_RIG_BIG + 100));
    g_assert_cmpint(pwrite(fd, "middle", 6, RESTORE_RIG_BIG / 2), ==, 6);
    close(fd);
}

bool restore_rig_begin(struct restore_rig *t, gconstpointer backend,
                       restore_rig_change *first)
{
    *t = (struct restore_rig){ .w = world_new(backend) };
    fill(t->w);
    if (!world_start(t->w)) {
        world_free(t->w);
        return false;
    }
    t->before = world_snapshot(t->w);
    world_step(t->w);
    first(t->w);
    world_end_step(t->w);
    t->after = world_snapshot(t->w);
    return true;
}

void restore_rig_end(struct restore_rig *t)
{
    g_ptr_array_unref(t->before);
    g_ptr_array_unref(t->after);
    world_free(t->w);
}

/* ---- restoring ----------------------------------------------------------- */

static json_t *list_of(const char *const *paths)
{
    json_t *list = json_array();

    for (; *paths; paths++)
        json_array_append_new(list, json_bytes_path(*paths));
    return list;
}

json_t *restore_rig_payload(const char *const *paths, bool force)
{
    return json_pack("{s:o, s:b}", "paths", list_of(paths), "force", force);
}

/* The oracle escapes the paths of its lines. */
static bool is_below(const char *path, const char *top)
{
    g_autofree char *a = g_strescape(path, "\\"), *b = g_strescape(top, NULL);
    size_t len = strlen(b);

    return strncmp(a, b, len) == 0 && (!a[len] || a[len] == '/');
}

static bool is_asked(const char *path, const char *const *paths)
{
    bool asked = false;

    for (; *paths && !asked; paths++)
        asked = is_below(path, *paths);
    return asked;
}

/* Its time changes with its entries. */
static bool is_above(const char *path, const char *const *paths)
{
    bool above = strcmp(path, ".") == 0;

    for (; *paths && !above; paths++)
        above = is_below(*paths, path);
    return above;
}

/* Return path -> line, without "same-as", which names paths that were not asked
 * for. Directories above what was asked for only have to exist. */
static GHashTable *table_of(GPtrArray *lines, const char *const *paths,
                            bool asked)
{
    GHashTable *table = g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
                                              g_free);

    for (guint i = 0; i < lines->len; i++) {
        const char *line = g_ptr_array_index(lines, i);
        char *path = g_strndup(line, strcspn(line, " "));
        const char *same = strstr(line, " same-as:");

        if (is_asked(path, paths) != asked)
            g_free(path);
        else if (!asked && is_above(path, paths))
            g_hash_table_insert(table, path, g_strdup("above"));
        else
            g_hash_table_insert(
                table, path,
                g_strndup(line, same ? (size_t)(same - line) : strlen(line)));
    }
    return table;
}

static void compare(GPtrArray *wanted, GPtrArray *now, const char *const *paths,
                    bool asked)
{
    g_autoptr(GHashTable) a = table_of(wanted, paths, asked);
    g_autoptr(GHashTable) b = table_of(now, paths, asked);
    GHashTableIter iter;
    gpointer path, line;

    g_hash_table_iter_init(&iter, a);
    while (g_hash_table_iter_next(&iter, &path, &line))
        g_assert_cmpstr(g_hash_table_lookup(b, path), ==, line);
    g_hash_table_iter_init(&iter, b);
    while (g_hash_table_iter_next(&iter, &path, &line)) {
        if (g_hash_table_contains(a, path))
            continue;
        g_test_message("left: %s", (const char *)path);
        /* A directory above was made. */
        g_assert_true(!asked && is_above(path, paths));
    }
}

void restore_rig_compare(struct restore_rig *t, const char *const *paths)
{
    g_autoptr(GPtrArray) now = world_snapshot(t->w);

    compare(t->before, now, paths, true);
    compare(t->after, now, paths, false);
}

json_t *restore_rig_restore(struct restore_rig *t, const char *const *paths)
{
    json_t *answer = world_request(t->w, "restore",
                                   restore_rig_payload(paths, false));
    json_t *steps = json_object_get(answer, "steps");
    json_t *step = json_array_get(steps, 0);

    g_assert_cmpuint(json_array_size(steps), ==, 1);
    g_assert_cmpstr(json_string_value(json_object_get(step, "type")), ==,
                    "api");
    g_assert_true(json_is_true(json_object_get(step, "undoable")));
    t->w->next_id = json_integer_value(json_object_get(step, "step_id")) + 1;
    return answer;
}

json_t *restore_rig_check(struct restore_rig *t, const char *const *paths)
{
    json_t *answer = restore_rig_restore(t, paths);
    g_autoptr(GPtrArray) restored = world_snapshot(t->w);

    restore_rig_compare(t, paths);
    json_decref(world_undo(t->w, 1));
    world_assert_equal(t->w, t->after);
    json_decref(world_redo(t->w, 1));
    world_assert_equal(t->w, restored);
    json_decref(world_undo(t->w, 1));
    world_assert_equal(t->w, t->after);
    return answer;
}

void restore_rig_refused(struct restore_rig *t, const char *const *paths,
                         int code)
{
    g_autoptr(GPtrArray) now = world_snapshot(t->w);
    guint count = world_history_count(t->w);

    world_refused(t->w, "restore", restore_rig_payload(paths, false), code);
    world_assert_equal(t->w, now);
    g_assert_cmpuint(world_history_count(t->w), ==, count);
}

/* ---- a step ------------------------------------------------------------- */

void restore_rig_change_much(struct world *w)
{
    WRITE("file", "CHANGED and longer than it was");
    DO(unlink, "second");
    engine_remove_tree(w, "dir");
    DO(rmdir, "dir");
    DO(mkdir, "new", 0755);
    CREATE("new/inside", "made by the step");
    CREATE("made", "made by the step");
    DO(unlink, "symbolic");
    DO(symlink, "elsewhere", "symbolic");
    DO(chmod, "bystander", 0600);
    DO(unlink, "odd-\xff\x01");
}
