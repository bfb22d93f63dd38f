/* SPDX-License-Identifier: Apache-2.0
 *
 * full-disk-redo-test - undo of a step that filled the disk frees the space.
 *
 * Except if the redo has the only copy of another process's edits.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "tests/engine/engine_tests.h"
#include "tests/lib/full_disk.h"

#define OK(call) g_assert_cmpint((call), ==, 0)

static int64_t free_bytes(struct world *w)
{
    struct statvfs st;

    OK(statvfs(w->base, &st));
    return (int64_t)(st.f_bavail * st.f_frsize);
}

static json_int_t redoable(struct world *w)
{
    json_t *answer = world_request(w, "history", NULL);
    json_int_t count = json_integer_value(json_object_get(answer, "redoable"));

    json_decref(answer);
    return count;
}

/* A step fills the disk. */
static void fill_step(struct world *w)
{
    world_step(w);
    g_assert_cmpint(full_disk_write(w, "new", 100), <, 40);
    world_end_step(w);
}

/* Undo of a step that filled the disk frees the space. */
static void undo_makes_room(gconstpointer data)
{
    struct world *w = full_disk_start(data);
    g_autoptr(GPtrArray) before = NULL;
    json_t *answer;
    const char *text;

    if (!w)
        return;
    before = world_snapshot(w);
    fill_step(w);
    g_assert_cmpint(free_bytes(w), <, 2 * MIB);
    answer = world_undo(w, 1);
    text = json_string_value(
        json_array_get(json_object_get(answer, "warnings"), 0));
    g_assert_nonnull(text);
    g_assert_nonnull(strstr(text, "cannot be redone"));
    json_decref(answer);
    world_assert_equal(w, before);
    w->backend->stop(w); /* the kernel may cache the inode until then */
    g_assert_true(world_start(w));
    for (int i = 0; i < 1000 && free_bytes(w) < 20 * MIB; i++)
        g_usleep(10000);
    g_assert_cmpint(free_bytes(w), >=, 20 * MIB);
    g_assert_cmpint(redoable(w), ==, 0);
    full_disk_end(w);
}

/* Unless the redo has the only copy of another process's edits. */
static void undo_keeps_edits(gconstpointer data)
{
    struct world *w = full_disk_start(data);
    g_autofree char *path = NULL;
    json_t *answer;
    char byte = 0;
    int fd;

    if (!w)
        return;
    fill_step(w);
    path = world_host_path(w, "new");
    fd = open(path, O_RDWR);
    g_assert_cmpint(pwrite(fd, "!", 1, 5), ==, 1);
    close(fd);
    answer = world_request(w, "rollback", json_pack("{s:b}", "force", 1));
    json_decref(answer);
    g_assert_false(g_file_test(path, G_FILE_TEST_EXISTS));
    g_assert_cmpint(redoable(w), ==, 1);
    json_decref(world_redo(w, 1));
    fd = open(path, O_RDONLY);
    g_assert_cmpint(pread(fd, &byte, 1, 5), ==, 1);
    g_assert_cmpint(byte, ==, '!');
    close(fd);
    full_disk_end(w);
}

/* Nor does it if that would gain next to nothing. */
static void a_small_redo_stays(gconstpointer data)
{
    struct world *w = full_disk_start(data);

    if (!w)
        return;
    full_disk_fill(w);
    world_step(w);
    OK(w->backend->unlink(w, "c"));
    world_end_step(w);
    json_decref(world_undo(w, 1));
    g_assert_cmpint(redoable(w), ==, 1);
    json_decref(world_redo(w, 1));
    full_disk_end(w);
}

static const struct world_case cases[] = {
    { "undo-frees-space", undo_makes_room },
    { "undo-keeps-edits", undo_keeps_edits },
    { "a-small-redo-is-kept", a_small_redo_stays },
};

int main(int argc, char **argv)
{
    full_disk_init(&argc, &argv);
    full_disk_add_cases("/full-disk-redo", cases, G_N_ELEMENTS(cases));
    add_full_disk_restore_tests();
    return g_test_run();
}
