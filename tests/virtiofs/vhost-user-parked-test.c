/* SPDX-License-Identifier: Apache-2.0
 *
 * vhost-user-parked-test - a guest whose requests are parked.
 *
 * Floods of them, their order, and rings that are stopped or reset meanwhile.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "daemon/parked.h"
#include "tests/virtiofs/parked_guest.h"
#include "virtiofs/vhost/vu_message.h"

enum {
    FLOOD = PARKED_MAX + 2000,
    GROWTH_KB = 64 << 10, /* limit of the daemon's growth in a flood */
    FEW = 100,
};

#define OK(call) g_assert_cmpint((call), ==, 0)

/* ---- floods -------------------------------------------------------------- */

static long resident_kb(struct guest *g)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/status",
                                            (int)g->client->pid);
    g_autofree char *text = NULL;
    const char *line;

    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    line = strstr(text, "VmRSS:");
    g_assert_nonnull(line);
    return strtol(line + strlen("VmRSS:"), NULL, 10);
}

/* 10,000 wait, further ones get ENOSPC, and the daemon serves reads. */
static void flood(gconstpointer data)
{
    bool allow = GPOINTER_TO_INT(data);
    unsigned too_many = FLOOD + 1 - PARKED_MAX;
    struct guest *g = guest_new();
    long before;

    guest_hold(g);
    before = resident_kb(g);
    guest_put_folders(g, FLOOD);
    guest_kick(g);
    guest_wait_answered(g, too_many);
    guest_expect_answers(g, 0, too_many, -ENOSPC);
    guest_read_on(g);
    client_expect_alive(g->client);
    g_assert_cmpint(resident_kb(g) - before, <, GROWTH_KB);
    g_assert_cmpuint(guest_count_folders(g), ==, 0);
    g_assert_true(guest_exists(g, "victim"));
    g_assert_cmpuint(guest_answered(g), ==, too_many);
    guest_confirm(g, allow ? "allow" : "deny");
    guest_wait_answered(g, FLOOD + 1);
    guest_expect_answers(g, too_many, FLOOD + 1, allow ? 0 : -EPERM);
    g_assert_true(guest_exists(g, "victim") == !allow);
    g_assert_cmpuint(guest_count_folders(g), ==, allow ? PARKED_MAX - 1 : 0);
    guest_close_step(g, !allow);
    guest_free(g);
}

/* ---- order --------------------------------------------------------------- */

/* Writes of one file are made, and answered, in their order. */
static void order(void)
{
    struct guest *g = guest_new();
    g_autofree char *path = g_build_filename(g->client->share, "file", NULL);
    g_autofree char *text = NULL;
    unsigned last = FEW - 1;
    uint64_t node, fh;
    int error;

    OK(fuse_client_create(g->client, FUSE_ROOT_ID, "file", O_RDWR, &node, &fh));
    guest_hold(g);
    for (unsigned i = 0; i < FEW; i++)
        guest_put_write(g, node, fh, i);
    /* It does not wait; once it is answered all earlier requests wait. */
    guest_put_name(g, FUSE_LOOKUP, "file");
    guest_kick(g);
    guest_wait_answered(g, 1);
    guest_confirm(g, "allow");
    guest_wait_answered(g, FEW + 2);
    for (unsigned n = 0; n <= FEW; n++) {
        g_assert_cmpuint(guest_answer(g, n + 1, &error), ==, n);
        OK(error);
    }
    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    OK(memcmp(text, &last, sizeof(last)));
    guest_close_step(g, false);
    guest_free(g);
}

/* ---- rings that stop ----------------------------------------------------- */

/* The front-end stops the rings to pause the guest, and decides meanwhile. */
static void pause_guest(gconstpointer data)
{
    bool allow = GPOINTER_TO_INT(data);
    struct guest *g = guest_new();
    uint32_t base;

    guest_hold(g);
    guest_put_folders(g, FEW);
    guest_kick(g);
    guest_read_on(g);
    base = guest_stop_queue(g);
    guest_confirm(g, allow ? "allow" : "deny");
    g_assert_cmpuint(guest_answered(g), ==, 0);
    g_assert_cmpuint(guest_count_folders(g), ==, 0);
    guest_start_queue(g, base);
    guest_wait_answered(g, FEW + 1);
    /* What had not been read at the stop came after the decision. */
    guest_expect_answers(g, 0, FEW + 1, allow ? 0 : -EPERM);
    guest_close_step(g, !allow);
    guest_free(g);
}

/* A guest that reboots does not wait for old requests. */
static void reset_guest(gconstpointer data)
{
    bool device = GPOINTER_TO_INT(data);
    struct guest *g = guest_new();

    guest_hold(g);
    guest_put_folders(g, FEW);
    guest_kick(g);
    guest_read_on(g);
    guest_stop_queue(g);
    if (device)
        g_assert_true(
            client_tell(g->client, VU_RESET_DEVICE, NULL, 0, NULL, 0));
    guest_clear_queue(g);
    guest_start_queue(g, 0);
    for (unsigned i = 0; device && i < CLIENT_QUEUES; i++)
        client_start_queue(g->client, i);
    fuse_client_init(g->client);
    guest_confirm(g, "allow");
    guest_put_name(g, FUSE_MKDIR, "folder-after");
    guest_kick(g);
    guest_wait_answered(g, 1);
    guest_expect_answers(g, 0, 1, 0);
    g_assert_true(guest_exists(g, "victim"));
    g_assert_cmpuint(guest_count_folders(g), ==, 1);
    guest_close_step(g, false);
    guest_free(g);
}

/* A misbehaving guest sends INIT on the same rings: what waits is answered. */
static void init_again(void)
{
    struct guest *g = guest_new();

    guest_hold(g);
    guest_put_folders(g, FEW);
    guest_kick(g);
    fuse_client_init(g->client);
    guest_confirm(g, "deny");
    guest_wait_answered(g, FEW + 1);
    g_assert_true(guest_exists(g, "victim"));
    g_assert_cmpuint(guest_count_folders(g), ==, 0);
    guest_close_step(g, true);
    guest_free(g);
}

/* The front-end disconnects while requests wait: the daemon exits with status
 * 0. */
static void disconnect(void)
{
    struct guest *g = guest_new();

    guest_hold(g);
    guest_put_folders(g, FEW);
    guest_kick(g);
    guest_read_on(g);
    guest_free(g);
}

/* The guest changes a waiting request: the new content is executed. */
static void changed_request(gconstpointer data)
{
    bool outside = GPOINTER_TO_INT(data);
    struct guest *g = guest_new();
    struct fuse_interrupt_in nothing = { .unique = GUEST_UNIQUE(1000) };
    struct iovec args = { &nothing, sizeof(nothing) };

    guest_hold(g);
    guest_put_folders(g, 1);
    guest_put(g, FUSE_INTERRUPT, 0, &args, 1);
    guest_kick(g);
    guest_wait_answered(g, 1); /* so the one before it waits by now */
    if (outside)
        g->ring.desc[2].addr = 1ull << 50;
    else
        g->ring.desc[2].len = 3;
    guest_confirm(g, "allow");
    guest_wait_answered(g, outside ? 2 : 3);
    g_assert_false(guest_exists(g, "victim"));
    g_assert_cmpuint(guest_count_folders(g), ==, 0);
    guest_read_on(g);
    client_expect_alive(g->client);
    guest_free(g);
}

/* ---- interrupts ---------------------------------------------------------- */

static void interrupt(void)
{
    struct guest *g = guest_new();
    struct fuse_interrupt_in in = { .unique = GUEST_UNIQUE(2) };
    struct iovec args = { &in, sizeof(in) };
    int error;

    guest_hold(g);
    guest_put_folders(g, 3);
    guest_put(g, FUSE_INTERRUPT, 0, &args, 1);
    guest_kick(g);
    guest_wait_answered(g, 2); /* the interrupt itself, without a reply */
    for (unsigned n = 0; n < 2; n++) {
        if (g->ring.used->ring[n].id / 2 != 4) {
            g_assert_cmpuint(guest_answer(g, n, &error), ==, 2);
            g_assert_cmpint(error, ==, -EINTR);
        }
    }
    guest_confirm(g, "allow");
    guest_wait_answered(g, 5);
    guest_expect_answers(g, 2, 5, 0);
    g_assert_false(guest_exists(g, "folder1"));
    g_assert_cmpuint(guest_count_folders(g), ==, 2);
    guest_free(g);
}

/* ---- the list alone ------------------------------------------------------ */

static void count_wake(void *opaque)
{
    ++*(unsigned *)opaque;
}

/* The engine's notification may arrive between the attempt and the parking. */
static void unit(void)
{
    unsigned wakes = 0;
    struct parked *parked = parked_new();
    struct parked_queue *queue = parked_queue_new(parked, count_wake, &wakes,
                                                  g_free);
    struct parked_request taken;
    uint64_t releases = parked_releases(parked);

    OK(parked_put(queue, releases, 1, g_strdup("one"), 4));
    g_assert_false(parked_take(queue, &taken));
    parked_release(parked, 0);
    g_assert_cmpuint(wakes, ==, 1);
    OK(parked_put(queue, releases, 2, g_strdup("two"), 4)); /* ready at once */
    g_assert_cmpuint(wakes, ==, 2);
    for (uint64_t i = 1; i <= 2; i++) {
        g_assert_true(parked_take(queue, &taken));
        g_assert_cmpuint(taken.unique, ==, i);
        OK(taken.error);
        g_free(taken.data);
    }
    g_assert_false(parked_has_ready(queue));
    releases = parked_releases(parked);
    parked_release(parked, -EPERM);
    parked_release(parked, 0);
    g_assert_cmpint(parked_put(queue, releases, 3, NULL, 0), ==, -EPERM);
    releases = parked_releases(parked);
    parked_interrupt(parked, 4);
    g_assert_cmpint(parked_put(queue, releases, 4, NULL, 0), ==, -EINTR);
    OK(parked_put(queue, releases, 4, g_strdup("four"), 5));
    g_assert_cmpint(parked_put(queue, releases, 5, NULL, PARKED_MAX_BYTES), ==,
                    -ENOSPC);
    g_assert_cmpuint(parked_count(queue), ==, 1);
    parked_queue_free(queue);
    parked_free(parked);
}

/* Signals end only the wait for a lock, whether it has begun or not. */
static void held_signals(void)
{
    unsigned wakes = 0;
    struct parked *parked = parked_new();
    struct parked_queue *queue = parked_queue_new(parked, count_wake, &wakes,
                                                  g_free);
    struct parked_request taken;
    uint64_t releases = parked_releases(parked);

    parked_hold_signals(parked);
    parked_interrupt(parked, 1);
    OK(parked_put(queue, releases, 1, g_strdup("early"), 6));
    OK(parked_put(queue, releases, 2, g_strdup("late"), 5));
    OK(parked_put_lock(queue, releases, 3, g_strdup("lock"), 5));
    parked_interrupt(parked, 2);
    g_assert_false(parked_has_ready(queue));
    parked_interrupt(parked, 3);
    g_assert_true(parked_take(queue, &taken));
    g_assert_cmpuint(taken.unique, ==, 3);
    g_assert_cmpint(taken.error, ==, -EINTR);
    g_free(taken.data);
    parked_interrupt(parked, 4);
    g_assert_cmpint(parked_put_lock(queue, releases, 4, NULL, 0), ==, -EINTR);
    parked_release(parked, 0);
    for (uint64_t i = 1; i <= 2; i++) {
        g_assert_true(parked_take(queue, &taken));
        g_assert_cmpuint(taken.unique, ==, i);
        OK(taken.error);
        g_free(taken.data);
    }
    parked_queue_free(queue);
    parked_free(parked);
}

static const struct {
    const char *path;
    void (*run)(gconstpointer data);
    gconstpointer data;
} cases[] = {
    { "/parked/SG-07-DOS-02/flood-denied", flood },
    { "/parked/SG-07-DOS-02/flood-allowed", flood, GINT_TO_POINTER(1) },
    { "/parked/pause/allowed", pause_guest, GINT_TO_POINTER(1) },
    { "/parked/pause/denied", pause_guest },
    { "/parked/reset/rings", reset_guest },
    { "/parked/reset/device", reset_guest, GINT_TO_POINTER(1) },
    { "/parked/changed/shorter", changed_request },
    { "/parked/changed/outside", changed_request, GINT_TO_POINTER(1) },
};

/* ---- descriptors --------------------------------------------------------- */

/* Use up all descriptors. */
static void take_descriptors(struct guest *g)
{
    struct rlimit few = { 200, 200 }, many;
    uint64_t fh;
    int r;

    OK(prlimit(g->client->pid, RLIMIT_NOFILE, NULL, &many));
    few.rlim_max = many.rlim_max;
    OK(prlimit(g->client->pid, RLIMIT_NOFILE, &few, NULL));
    do
        r = fuse_client_opendir(g->client, FUSE_ROOT_ID, &fh);
    while (r == 0);
    g_assert_cmpint(r, ==, -ENFILE);
}

/* A guest with all descriptors cannot prevent the undo of its changes. */
static void undo_without_descriptors(void)
{
    struct guest *g = guest_new();
    g_autoptr(GError) error = NULL;
    json_t *answer;

    answer = control_client_request(g->control, "step.open",
                                    json_pack("{s:i}", "step_id", 1), &error);
    g_assert_no_error(error);
    json_decref(answer);
    OK(fuse_client_remove(g->client, FUSE_UNLINK, FUSE_ROOT_ID, "victim"));
    take_descriptors(g);
    answer = control_client_request(
        g->control, "step.close",
        json_pack("{s:i, s:i}", "step_id", 1, "quiet_ms", 0), &error);
    g_assert_no_error(error);
    json_decref(answer);
    answer = control_client_request(g->control, "rollback",
                                    json_pack("{s:i}", "steps", 1), &error);
    g_assert_no_error(error);
    json_decref(answer);
    g_assert_true(guest_exists(g, "victim"));
    guest_free(g);
}

int main(int argc, char **argv)
{
    umask(0);
    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
        g_test_add_data_func(cases[i].path, cases[i].data, cases[i].run);
    g_test_add_func("/parked/unit", unit);
    g_test_add_func("/parked/held-signals", held_signals);
    g_test_add_func("/parked/order", order);
    g_test_add_func("/parked/init-again", init_again);
    g_test_add_func("/parked/disconnect", disconnect);
    g_test_add_func("/parked/interrupt", interrupt);
    g_test_add_func("/parked/undo-without-descriptors",
                    undo_without_descriptors);
    return g_test_run();
}
