/* SPDX-License-Identifier: Apache-2.0
 *
 * control-history-test - clients get event.history_changed.
 *
 * It is sent when another client of the control socket changes the history.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <glib.h>
#include <jansson.h>

#include "common/errors.h"
#include "interceptor/interceptor.h"
#include "tests/lib/control_client.h"
#include "tests/lib/engine_trees.h"
#include "tests/lib/oracle.h"
#include "tests/lib/world.h"

enum {
    QUEUE = 4 << 20,    /* limit of control.c's queue for a client */
    SOCKET = 1 << 20,   /* the kernel's buffer, and more */
    EVENT_MAX = 2 << 20 /* bytes of an event */
};

struct fixture {
    struct world *world;        /* its client acts, */
    struct control_client *two; /* this one gets events */
    int silent;                 /* this one never reads */
};

static int attach(struct fixture *f)
{
    g_autoptr(GError) error = NULL;
    int pair[2];

    g_assert_no_errno(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
    ic_control_attach(world_folder_ic(f->world), pair[1], &error);
    g_assert_no_error(error);
    return pair[0];
}

static void set_up(struct fixture *f, gconstpointer data)
{
    f->world = world_new(&world_folder);
    ic_set_log(0, NULL);
    world_start(f->world);
    f->two = control_client_new(attach(f));
    f->silent = -1;
}

static void tear_down(struct fixture *f, gconstpointer data)
{
    if (f->silent >= 0)
        close(f->silent);
    control_client_free(f->two);
    f->world->backend->stop(f->world);
    world_free(f->world);
}

/* Make this file in a step. */
static int64_t make(struct fixture *f, const char *path)
{
    struct world *w = f->world;
    int64_t id = world_step(w);

    CREATE(path, "text");
    world_end_step(w);
    return id;
}

/* Expect the next event to name exactly these steps (0-terminated). */
static json_t *expect(struct fixture *f, const char *operation, ...)
{
    json_t *payload = control_client_wait_event(f->two,
                                                "event.history_changed");
    json_t *steps = json_object_get(payload, "steps");
    size_t count = 0;
    va_list ids;

    g_assert_cmpstr(json_string_value(json_object_get(payload, "operation")),
                    ==, operation);
    va_start(ids, operation);
    for (int64_t id; (id = va_arg(ids, int64_t)); count++)
        g_assert_cmpint(json_integer_value(json_object_get(
                            json_array_get(steps, count), "step_id")),
                        ==, id);
    va_end(ids);
    g_assert_true(json_is_array(steps));
    g_assert_cmpuint(json_array_size(steps), ==, count);
    return payload;
}

/* Expect no further event: a reply follows earlier events. */
static void expect_no_more(struct fixture *f)
{
    g_autoptr(GError) error = NULL;
    json_t *status = control_client_request(f->two, "status", NULL, &error);

    g_assert_no_error(error);
    json_decref(status);
    g_assert_null(control_client_event(f->two, "event.history_changed"));
    json_decref(world_request(f->world, "status", NULL));
    g_assert_null(f->world->backend->event(f->world, "event.history_changed"));
}

/* ---- events -------------------------------------------------------------- */

static void other_clients_get_it(struct fixture *f, gconstpointer data)
{
    int64_t a = make(f, "a"), b = make(f, "b"), end = 0;
    json_t *payload, *report, *change;

    json_decref(world_undo(f->world, 2));
    payload = expect(f, "rollback", b, a, end);
    report = json_array_get(json_object_get(payload, "steps"), 0);
    change = json_array_get(json_object_get(report, "changes"), 0);
    g_assert_cmpstr(json_string_value(json_object_get(change, "path")), ==,
                    "b");
    g_assert_null(json_object_get(payload, "truncated"));
    json_decref(payload);
    json_decref(world_redo(f->world, 1));
    json_decref(expect(f, "redo", a, end));
    json_decref(world_request(f->world, "discard", NULL));
    json_decref(expect(f, "discard", end));
    expect_no_more(f);
}

/* The client that made the request may be gone before it is done. */
static void sent_if_client_is_gone(struct fixture *f, gconstpointer data)
{
    static const char request[] =
        "{\"type\":\"rollback\",\"request_id\":\"1\"}\n";
    int64_t a = make(f, "a"), end = 0;
    int fd = attach(f);

    g_assert_cmpint(send(fd, request, strlen(request), MSG_NOSIGNAL), ==,
                    (ssize_t)strlen(request));
    shutdown(fd, SHUT_WR);
    json_decref(expect(f, "rollback", a, end));
    close(fd);
    json_decref(
        f->world->backend->wait_event(f->world, "event.history_changed"));
    expect_no_more(f);
}

static void not_sent_without_change(struct fixture *f, gconstpointer data)
{
    make(f, "a");
    world_refused(f->world, "rollback", json_pack("{s:i}", "steps", 0), 1004);
    world_refused(f->world, "rollback", json_pack("{s:i}", "steps", 2), 3000);
    world_refused(f->world, "redo", NULL, 3007);
    json_decref(world_request(f->world, "preview", NULL));
    json_decref(world_request(f->world, "history", NULL));
    expect_no_more(f);
}

/* A rollback of two steps stops after the first. */
static void sent_after_partial_rollback(struct fixture *f, gconstpointer data)
{
    int64_t b, end = 0;

    make(f, "a");
    world_host_file(f->world, "a", "mine");
    b = make(f, "b");
    world_refused(f->world, "rollback", json_pack("{s:i}", "steps", 2), 3001);
    g_assert_false(json_array_size(json_object_get(
                       f->world->backend->error_data(f->world), "steps")) == 0);
    json_decref(expect(f, "rollback", b, end));
    expect_no_more(f);
}

/* ---- bounds -------------------------------------------------------------- */

static int64_t make_with_command(struct fixture *f, const char *path,
                                 size_t len)
{
    struct world *w = f->world;
    g_autofree char *command = g_strnfill(len, 'x');
    int64_t id = w->next_id++;

    json_decref(world_request(w, "step.open",
                              json_pack("{s:I, s:s}", "step_id", (json_int_t)id,
                                        "command", command)));
    CREATE(path, "text");
    world_end_step(w);
    return id;
}

/* Steps beyond the bound are left out, and the event says so. */
static void an_event_is_bounded(struct fixture *f, gconstpointer data)
{
    int64_t end = 0, a = make(f, "a");
    int64_t b = make_with_command(f, "b", EVENT_MAX), c = make(f, "c");
    json_t *payload, *steps;

    json_decref(world_undo(f->world, 3));
    payload = expect(f, "rollback", c, b, a, end);
    steps = json_object_get(payload, "steps");
    for (size_t i = 0; i < 3; i++) {
        json_t *report = json_array_get(steps, i);
        size_t changes = json_array_size(json_object_get(report, "changes"));

        g_assert_cmpuint(changes, ==, i != 1);
        g_assert_true(json_is_boolean(json_object_get(report, "truncated")));
        g_assert_cmpint(json_is_true(json_object_get(report, "truncated")), ==,
                        i == 1);
    }
    g_assert_cmpuint(json_dumpb(payload, NULL, 0, 0), <, EVENT_MAX);
    json_decref(payload);
}

/* Make steps as large as a guest can make them. */
static void make_large(struct fixture *f, unsigned steps)
{
    enum { FILES = 1000, NAME = 240 };
    struct world *w = f->world;
    g_autofree char *name = g_strnfill(NAME, '\1'); /* JSON needs six bytes for
                                                     * each */

    for (unsigned i = 0; i < steps; i++) {
        world_step(w);
        for (unsigned j = 0; j < FILES; j++) {
            g_autofree char *path = g_strdup_printf("%s%u-%u", name, i, j);

            CREATE(path, "");
        }
        world_end_step(w);
    }
}

/* A reply that is larger than the queue is refused. */
static void replies_are_bounded(struct fixture *f, gconstpointer data)
{
    enum { STEPS = 4, ANSWER_MAX = 9 << 20 };
    static const char *const types[] = { "history", "preview", "rollback",
                                         "redo" };

    make_large(f, STEPS);
    for (size_t i = 0; i < G_N_ELEMENTS(types); i++) {
        const char *member = i == 0 ? "limit" : "steps";
        json_t *answer = world_request(f->world, types[i],
                                       json_pack("{s:i}", member, STEPS));
        json_t *steps = json_object_get(answer, "steps");
        json_t *last = json_array_get(steps, STEPS - 1);

        g_assert_cmpuint(json_array_size(steps), ==, STEPS);
        g_assert_cmpuint(json_dumpb(answer, NULL, 0, 0), <, ANSWER_MAX);
        g_assert_cmpint(json_integer_value(json_object_get(last, "affected")),
                        ==, 1000);
        g_assert_true(json_is_true(json_object_get(last, "truncated")));
        json_decref(answer);
    }
}

/* The queue for a client that does not read is bounded. */
static void queue_is_bounded(struct fixture *f, gconstpointer data)
{
    static char buffer[1 << 16];
    size_t got = 0;
    ssize_t n;

    f->silent = attach(f);
    make_with_command(f, "a", 500000);
    for (int i = 0; i < 20; i++) {
        json_decref(world_undo(f->world, 1));
        json_decref(world_redo(f->world, 1));
    }
    shutdown(f->silent, SHUT_WR);
    while ((n = recv(f->silent, buffer, sizeof(buffer), 0)) > 0)
        got += (size_t)n;
    g_assert_cmpuint(got, >, 1000000);
    g_assert_cmpuint(got, <, QUEUE + SOCKET);
}

/* rollback with "down_to" undoes a step by its id, with all later ones. */
static void down_to_undoes_later_steps(struct fixture *f, gconstpointer data)
{
    struct world *w = f->world;
    g_autoptr(GPtrArray) first = NULL, later = NULL;
    int64_t id;

    make(f, "one");
    first = world_snapshot(w);
    id = make(f, "two");
    CREATE("outside of steps", "text");
    later = world_snapshot(w);
    world_refused(w, "rollback", json_pack("{s:I}", "down_to", id + 1),
                  ERROR_NOTHING_TO_UNDO);
    world_refused(w, "rollback",
                  json_pack("{s:I, s:i}", "down_to", id, "steps", 1),
                  ERROR_INVALID_FIELD);
    world_refused(w, "rollback", json_pack("{s:s}", "down_to", "2"),
                  ERROR_INVALID_FIELD);
    world_assert_equal(w, later);
    json_decref(
        world_request(w, "rollback", json_pack("{s:I}", "down_to", id)));
    world_assert_equal(w, first);
    json_decref(expect(f, "rollback", (int64_t)-1, id, (int64_t)0));
    g_assert_cmpuint(world_history_count(w), ==, 1);
    world_refused(w, "rollback", json_pack("{s:I}", "down_to", id),
                  ERROR_NOTHING_TO_UNDO);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *path;
        void (*run)(struct fixture *, gconstpointer);
    } cases[] = {
        { "/control-history/other-clients-get-it", other_clients_get_it },
        { "/control-history/sent-if-client-is-gone", sent_if_client_is_gone },
        { "/control-history/not-sent-without-change", not_sent_without_change },
        { "/control-history/sent-after-partial-rollback",
          sent_after_partial_rollback },
        { "/control-history/down-to-undoes-later-steps",
          down_to_undoes_later_steps },
        { "/control-history/event-is-bounded", an_event_is_bounded },
        { "/control-history/replies-are-bounded", replies_are_bounded },
        { "/control-history/queue-is-bounded", queue_is_bounded },
    };

    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
        g_test_add(cases[i].path, struct fixture, NULL, set_up, cases[i].run,
                   tear_down);
    return g_test_run();
}
