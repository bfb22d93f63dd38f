/* SPDX-License-Identifier: Apache-2.0
 *
 * full-disk-test - the log runs out of disk space, or takes the client's.
 *
 * Each world is on its own file system, a small tmpfs; without the right to
 * mount one the tests are skipped.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/errors.h"
#include "tests/lib/full_disk.h"

#define OK(call) g_assert_cmpint((call), ==, 0)

static const struct world_backend *const backends[] = { &world_folder,
                                                        &world_mount,
                                                        &world_folder_copy };

/* ---- common -------------------------------------------------------------- */

static void configure(struct world *w, const char *name, int64_t value)
{
    json_decref(world_request(w, "configure",
                              json_pack("{s:I}", name, (json_int_t)value)));
}

static void unlink_step(struct world *w, const char *name)
{
    world_step(w);
    OK(w->backend->unlink(w, name));
    world_end_step(w);
}

/* Return the steps in the next event of eviction; 0: none. */
static int64_t evicted(struct world *w, const char *reason)
{
    int64_t id = 0;
    json_t *event;

    json_decref(world_request(w, "status", NULL));
    while (id == 0 && (event = w->backend->event(w, "event.warning"))) {
        if (g_strcmp0(json_string_value(json_object_get(event, "reason")),
                      reason) == 0)
            id = json_integer_value(
                json_array_get(json_object_get(event, "step_ids"), 0));
        json_decref(event);
    }
    return id;
}

/* ---- a full disk --------------------------------------------------------- */

/* When a client needs the space that the log holds, the oldest steps are
 * evicted. */
static void gives_way(gconstpointer data)
{
    struct world *w = full_disk_start(data);

    if (!w)
        return;
    configure(w, "min_free_bytes", -1);
    unlink_step(w, "a");
    unlink_step(w, "b");
    world_step(w);
    g_assert_cmpint(full_disk_write(w, "new", 44), ==, 44);
    world_end_step(w);
    g_assert_cmpint(evicted(w, "disk_full"), ==, 1);
    g_assert_cmpint(evicted(w, "disk_full"), ==, 0); /* 2 is left */
    json_decref(world_undo(w, 2));
    g_assert_null(world_read(w, "new"));
    full_disk_end(w);
}

/* With nothing left to evict the client gets an error, and can undo. */
static void no_room(gconstpointer data)
{
    struct world *w = full_disk_start(data);
    g_autoptr(GPtrArray) before = NULL;
    int count;

    if (!w)
        return;
    before = world_snapshot(w);
    world_step(w);
    count = full_disk_write(w, "new", 100);
    g_assert_cmpint(count, >, 20);
    g_assert_cmpint(count, <, 40);
    world_end_step(w);
    world_undo_to(w, 1, before);
    full_disk_end(w);
}

/* Removal frees a full disk, so it must not need space itself. */
static void removes(gconstpointer data)
{
    struct world *w = full_disk_start(data);
    g_autoptr(GPtrArray) before = NULL;

    if (!w)
        return;
    w->backend->stop(w);
    for (int i = 0; i < 300; i++) {
        g_autofree char *name = g_strdup_printf(
            "a-name-of-which-some-fill-a-block-%d", i);

        full_disk_file(w, name, 4096);
    }
    g_assert_true(world_start(w));
    before = world_snapshot(w);
    full_disk_fill(w);
    world_step(w);
    for (int i = 0; i < 300; i++) {
        g_autofree char *name = g_strdup_printf(
            "a-name-of-which-some-fill-a-block-%d", i);

        OK(w->backend->unlink(w, name));
    }
    world_end_step(w);
    g_assert_cmpuint(world_history_count(w), ==, 1);
    world_undo_to(w, 1, before);
    full_disk_end(w);
}

/* A log too small to make a difference is kept. */
static void small_steps_stay(gconstpointer data)
{
    struct world *w = full_disk_start(data);
    g_autoptr(GPtrArray) before = NULL;

    if (!w)
        return;
    full_disk_file(w, "precious", 4096);
    before = world_snapshot(w);
    unlink_step(w, "precious");
    world_step(w);
    OK(w->backend->put(w, "small", O_CREAT, "x", 1, 0));
    world_end_step(w);
    world_step(w);
    g_assert_cmpint(full_disk_write(w, "new", 100), <, 40);
    world_end_step(w);
    g_assert_cmpint(evicted(w, "disk_full"), ==, 0);
    g_assert_cmpuint(world_history_count(w), ==, 3);
    world_undo_to(w, 3, before);
    full_disk_end(w);
}

/* ---- no inodes ----------------------------------------------------------- */

static char *filling(struct world *w, int number)
{
    return g_strdup_printf("%s/filling-%d", w->base, number);
}

/* Afterwards no file or directory can be created. */
static void use_up_inodes(struct world *w)
{
    for (int i = 0;; i++) {
        g_autofree char *path = filling(w, i);
        int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);

        if (fd < 0) {
            g_assert_cmpint(errno, ==, ENOSPC);
            return;
        }
        close(fd);
    }
}

static void give_inodes_back(struct world *w, int count)
{
    for (int i = 0; i < count; i++) {
        g_autofree char *path = filling(w, i);

        OK(unlink(path));
    }
}

static void leave_inodes(struct world *w, int count)
{
    use_up_inodes(w);
    give_inodes_back(w, count);
}

/* Make a step with count free inodes, then with none: undo it, or recover after
 * a kill. */
static void rename_with(struct world *w, int count, bool killed)
{
    g_autoptr(GPtrArray) before = world_snapshot(w);
    g_autoptr(GError) error = NULL;
    json_t *opened;

    leave_inodes(w, count);
    opened = w->backend->request(
        w, "step.open", json_pack("{s:I}", "step_id", (json_int_t)w->next_id++),
        &error);
    if (opened) {
        OK(w->backend->rename(w, "a", "d", 0));
        OK(w->backend->chmod(w, "b", 0600));
        use_up_inodes(w);
        if (killed) {
            w->backend->kill(w);
            g_assert_true(world_start(w));
        } else {
            world_end_step(w);
            json_decref(world_undo(w, 1));
        }
        json_decref(opened);
    } else {
        g_assert_cmpint(count, <, 4);
    }
    world_assert_equal(w, before);
}

/* For any number of inodes that another process uses up. */
static void no_inodes(gconstpointer data)
{
    for (int i = 0; i < 16; i++) {
        struct world *w = full_disk_start_on(data, "nr_inodes=100,mode=0755",
                                             4096);

        if (!w)
            return;
        rename_with(w, i / 2, i & 1);
        full_disk_end(w);
    }
}

/* The step itself has used up everything; its log has space. */
static void share_is_full(gconstpointer data)
{
    for (int i = 0; i < 8; i++) {
        struct world *w = full_disk_start_on(
            data, i & 1 ? "nr_inodes=100,mode=0755" : "size=8m,mode=0755",
            4096);
        g_autoptr(GPtrArray) before = NULL;

        if (!w)
            return;
        before = world_snapshot(w);
        world_step(w);
        OK(w->backend->chmod(w, "a", 0600));
        OK(w->backend->unlink(w, "b"));
        OK(w->backend->rename(w, "a", "c", 0));
        OK(w->backend->mkdir(w, "new", 0755));
        for (int n = 0; i & 1; n++) {
            g_autofree char *name = g_strdup_printf("%sfile-%d",
                                                    i & 2 ? "new/" : "", n);

            if (w->backend->put(w, name, O_CREAT, "x", 1, 0) < 0)
                break;
        }
        if (!(i & 1))
            g_assert_cmpint(
                full_disk_write(w, i & 2 ? "new/file" : "file", 100), <, 9);
        if (i & 4) {
            w->backend->kill(w);
            g_assert_true(world_start(w));
        } else {
            world_end_step(w);
            json_decref(world_undo(w, 1));
        }
        world_assert_equal(w, before);
        full_disk_end(w);
    }
}

/* Space that another process has used up must not keep a mode from being
 * restored. */
static void full_by_others(gconstpointer data)
{
    struct world *w = full_disk_start_on(data, "nr_inodes=100,mode=0755", 4096);
    g_autoptr(GPtrArray) before = NULL;

    if (!w)
        return;
    before = world_snapshot(w);
    world_step(w);
    OK(w->backend->chmod(w, "a", 0600));
    OK(w->backend->put(w, "b", 0, "new", 3, 0));
    world_end_step(w);
    use_up_inodes(w);
    world_undo_to(w, 1, before);
    full_disk_end(w);
}

static bool is_anywhere(struct world *w, const char *text)
{
    const char *argv[] = { "grep", "-rqs", text, w->base, NULL };
    int status;

    g_assert_true(g_spawn_sync(NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH,
                               NULL, NULL, NULL, NULL, &status, NULL));
    return status == 0;
}

static void write_outside(struct world *w, const char *name, const char *text)
{
    g_autofree char *path = world_host_path(w, name);

    g_assert_true(g_file_set_contents(path, text, -1, NULL));
}

/* Files of another process in a directory of the step are kept when the step is
 * undone, even if there is no space for that at first: the log has lost its
 * reserve. */
static void others_are_kept(gconstpointer data)
{
    struct world *w = full_disk_start_on(data, "nr_inodes=100,mode=0755", 4096);
    g_autofree char *reserve = NULL, *spare = NULL;
    int64_t id;

    if (!w)
        return;
    reserve = g_build_filename(w->undo_dir, "reserve", NULL);
    spare = g_build_filename(w->undo_dir, "spare", NULL);
    id = world_step(w);
    OK(w->backend->mkdir(w, "new", 0755));
    OK(w->backend->rename(w, "a", "d", 0));
    write_outside(w, "new/theirs", "another process's text");
    OK(unlink(reserve));
    OK(rmdir(spare));
    use_up_inodes(w);
    world_refused(w, "step.abort", json_pack("{s:I}", "step_id", id),
                  ERROR_IO_ERROR);
    g_assert_true(is_anywhere(w, "another process's text"));
    give_inodes_back(w, 20);
    json_decref(world_undo(w, 1));
    g_assert_true(is_anywhere(w, "another process's text"));
    full_disk_end(w);
}

/* ---- little space -------------------------------------------------------- */

static void min_free(gconstpointer data)
{
    struct world *w = full_disk_start(data);
    g_autoptr(GPtrArray) before = NULL;

    if (!w)
        return;
    configure(w, "min_free_bytes", 40 * MIB);
    unlink_step(w, "a");
    g_assert_cmpint(evicted(w, "min_free"), ==, 0); /* never the newest */
    before = world_snapshot(w);
    unlink_step(w, "b");
    g_assert_cmpint(evicted(w, "min_free"), ==, 1);
    g_assert_cmpuint(world_history_count(w), ==, 1);
    world_undo_to(w, 1, before);
    full_disk_end(w);
}

/* If other files fill the disk, evicting small steps would not help. */
static void min_free_of_others(gconstpointer data)
{
    struct world *w = full_disk_start(data);

    if (!w)
        return;
    configure(w, "min_free_bytes", (int64_t)1 << 40);
    for (int i = 0; i < 4; i++) {
        world_step(w);
        OK(w->backend->chmod(w, "a", i % 2 ? 0600 : 0644));
        OK(w->backend->put(w, "small", O_CREAT, "x", 1, i));
        world_end_step(w);
    }
    g_assert_cmpint(evicted(w, "min_free"), ==, 0);
    g_assert_cmpuint(world_history_count(w), ==, 4);
    full_disk_end(w);
}

enum where { BESIDE = 1, ELSEWHERE = 2 }; /* place of the log */

static const struct {
    const char *name;
    void (*run)(gconstpointer backend);
    enum where where;
} cases[] = {
    { "oldest-steps-are-evicted", gives_way, BESIDE },
    { "a-full-disk-can-be-undone", no_room, BESIDE },
    { "removal-needs-no-space", removes, BESIDE },
    { "small-steps-are-kept", small_steps_stay, BESIDE },
    { "undo-works-without-free-inodes", no_inodes, BESIDE },
    { "undo-works-after-the-step-filled-the-disk", share_is_full,
      BESIDE | ELSEWHERE },
    { "modes-are-restored-on-a-full-disk", full_by_others, BESIDE | ELSEWHERE },
    { "foreign-files-are-kept", others_are_kept, BESIDE },
    { "min-free-evicts-steps", min_free, BESIDE },
    { "min-free-keeps-small-steps", min_free_of_others, BESIDE },
};

int main(int argc, char **argv)
{
    full_disk_init(&argc, &argv);
    for (size_t i = 0; i < G_N_ELEMENTS(backends); i++) {
        for (size_t j = 0; j < G_N_ELEMENTS(cases); j++) {
            g_autofree char *path = g_strdup_printf(
                "/full-disk/%s/%s", backends[i]->name, cases[j].name);

            if (cases[j].where &
                (backends[i]->log_elsewhere ? ELSEWHERE : BESIDE))
                g_test_add_data_func(path, backends[i], cases[j].run);
        }
    }
    return g_test_run();
}
