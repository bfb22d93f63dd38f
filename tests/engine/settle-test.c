/* SPDX-License-Identifier: Apache-2.0
 *
 * settle-test - the end of a step whose processes have ended, while the client
 * still writes in the background.
 *
 * A thread plays the client's kernel: it writes to a file that is open when the
 * end of the step is requested, and closes it.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "tests/lib/world.h"

/* A step that waits for too much takes PATIENT_MS; QUICK_MS is enough on a busy
 * machine. */
enum { LATE_MS = 40, QUIET_MS = 300, PATIENT_MS = 10000, QUICK_MS = 5000 };

struct late {
    struct world *w;
    void *handle;
};

static json_t *close_settled(struct world *w, int64_t id, int quiet_ms)
{
    return world_request(w, "step.close",
                         json_pack("{s:I, s:i, s:i, s:i, s:b}", "step_id",
                                   (json_int_t)id, "exit_code", 0, "quiet_ms",
                                   quiet_ms, "max_ms", PATIENT_MS, "settle",
                                   1));
}

/* Return how many ms closing the step takes. */
static gint64 time_close(struct world *w, int64_t id, int quiet_ms)
{
    gint64 start = g_get_monotonic_time();

    json_decref(close_settled(w, id, quiet_ms));
    return (g_get_monotonic_time() - start) / 1000;
}

static gpointer write_late(gpointer data)
{
    struct late *late = data;

    for (int i = 0; i < 4; i++) {
        g_usleep(LATE_MS * 1000 / 4);
        g_assert_cmpint(
            late->w->backend->write(late->w, late->handle, "late", 4, 4 * i),
            ==, 0);
    }
    late->w->backend->close(late->w, late->handle);
    return NULL;
}

static struct world *start(gconstpointer backend)
{
    struct world *w = world_new(backend);

    world_host_file(w, "file", "former content");
    if (world_start(w))
        return w;
    world_free(w);
    return NULL;
}

static void late_writes_belong_to_the_step(gconstpointer data)
{
    world_auto struct world *w = start(data);
    g_autoptr(GPtrArray) before = NULL;
    struct late late = { .w = w };
    GThread *thread;
    json_t *report;
    int64_t id;

    if (!w)
        return;
    before = world_snapshot(w);
    id = world_step(w);
    late.handle = w->backend->open(w, "file", O_RDWR);
    g_assert_nonnull(late.handle);
    thread = g_thread_new("late", write_late, &late);
    report = close_settled(w, id, PATIENT_MS);
    g_thread_join(thread);
    world_assert_affected(report, "file", NULL);
    json_decref(report);
    world_assert_changed(w, before);
    g_assert_cmpuint(world_history_count(w), ==, 1);
    world_undo_to(w, 1, before);
}

static void nothing_open_ends_at_once(gconstpointer data)
{
    world_auto struct world *w = start(data);
    int64_t id;

    if (!w)
        return;
    id = world_step(w);
    g_assert_cmpint(w->backend->put(w, "file", 0, "new", 3, 0), ==, 0);
    g_assert_cmpint(time_close(w, id, PATIENT_MS), <, QUICK_MS);
}

/* A server that has had its log open since before the step. */
static void older_files_do_not_delay_the_end(gconstpointer data)
{
    world_auto struct world *w = start(data);
    void *older, *reader;
    int64_t id;

    if (!w)
        return;
    older = w->backend->open(w, "file", O_RDWR);
    id = world_step(w);
    reader = w->backend->open(w, "file", O_RDONLY);
    g_assert_true(older && reader);
    g_assert_cmpint(w->backend->write(w, older, "log", 3, 0), ==, 0);
    g_assert_cmpint(time_close(w, id, PATIENT_MS), <, QUICK_MS);
    w->backend->close(w, older);
    w->backend->close(w, reader);
}

static void kept_files_delay_the_end_for_the_quiet_time(gconstpointer data)
{
    world_auto struct world *w = start(data);
    gint64 took;
    void *kept;
    int64_t id;

    if (!w)
        return;
    id = world_step(w);
    kept = w->backend->open(w, "file", O_RDWR);
    g_assert_nonnull(kept);
    took = time_close(w, id, QUIET_MS);
    g_assert_cmpint(took, >=, QUIET_MS - 10);
    g_assert_cmpint(took, <, QUICK_MS);
    id = world_step(w); /* not of this step */
    g_assert_cmpint(time_close(w, id, PATIENT_MS), <, QUICK_MS);
    w->backend->close(w, kept);
}

int main(int argc, char **argv)
{
    static const struct world_backend *const backends[] = { &world_folder,
                                                            &world_mount,
                                                            &world_9p };
    static const struct {
        const char *name;
        void (*run)(gconstpointer backend);
    } cases[] = {
        { "late-writes-belong-to-the-step", late_writes_belong_to_the_step },
        { "nothing-open-ends-at-once", nothing_open_ends_at_once },
        { "older-files-do-not-delay-the-end",
          older_files_do_not_delay_the_end },
        { "kept-files-delay-the-end-for-the-quiet-time",
          kept_files_delay_the_end_for_the_quiet_time },
    };

    g_test_init(&argc, &argv, NULL);
    for (size_t b = 0; b < G_N_ELEMENTS(backends); b++) {
        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
            g_autofree char *path = g_strdup_printf(
                "/settle/%s/%s", backends[b]->name, cases[i].name);

            g_test_add_data_func(path, backends[b], cases[i].run);
        }
    }
    return g_test_run();
}
