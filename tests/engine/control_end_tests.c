/* SPDX-License-Identifier: Apache-2.0
 *
 * control_end_tests - clients that stop sending, or hang up.
 *
 * A client of the control socket that stops sending gets its replies; one that
 * is gone is dropped.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <glib.h>
#include <jansson.h>

#include "common/unix_socket.h"
#include "interceptor/interceptor.h"
#include "tests/engine/engine_tests.h"
#include "tests/lib/oracle.h"
#include "tests/lib/world.h"

enum { MANY = 200 };

struct fixture {
    struct world *world; /* for its folders; never started */
    struct ic *ic;
    int fd; /* of the client */
};

static void connect_client(struct fixture *f)
{
    g_autoptr(GError) error = NULL;
    int pair[2];

    g_assert_no_errno(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
    ic_control_attach(f->ic, pair[1], &error);
    g_assert_no_error(error);
    f->fd = pair[0];
}

static void set_up(struct fixture *f, gconstpointer data)
{
    struct ic_options options = { .no_timer = true, .no_watch = true };
    g_autoptr(GError) error = NULL;

    f->world = world_new(&world_folder);
    options.share = f->world->share;
    options.undo_dir = f->world->undo_dir;
    ic_set_log(0, NULL);
    f->ic = ic_open_share(&options, &error);
    g_assert_no_error(error);
    connect_client(f);
}

static void tear_down(struct fixture *f, gconstpointer data)
{
    ic_close(f->ic);
    world_free(f->world);
}

static void put(struct fixture *f, const char *type, int id, int step)
{
    g_autofree char *line = g_strdup_printf(
        "{\"type\":\"%s\",\"request_id\":\"%d\",\"payload\":"
        "{\"step_id\":%d}}\n",
        type, id, step);

    g_assert_cmpint(send(f->fd, line, strlen(line), MSG_NOSIGNAL), ==,
                    (ssize_t)strlen(line));
}

/* Expect exactly this number of replies, in order, before the engine hangs up.
 */
static void expect_answers(struct fixture *f, int count)
{
    FILE *in = fdopen(f->fd, "r");
    char line[4096];
    int n = 0;

    while (fgets(line, sizeof(line), in)) {
        json_t *answer = json_loads(line, 0, NULL);
        const char *id = json_string_value(
            json_object_get(answer, "request_id"));

        if (id) { /* not an event */
            g_assert_cmpstr(
                json_string_value(json_object_get(answer, "status")), ==, "ok");
            g_assert_cmpint(atoi(id), ==, ++n);
        }
        json_decref(answer);
    }
    fclose(in);
    g_assert_cmpint(n, ==, count);
}

/* ---- clients that stop sending ------------------------------------------- */

static void one_request(struct fixture *f, gconstpointer data)
{
    put(f, "status", 1, 0);
    shutdown(f->fd, SHUT_WR);
    expect_answers(f, 1);
}

/* Every request runs, also those queued behind another. */
static void a_step(struct fixture *f, gconstpointer data)
{
    put(f, "step.open", 1, 1);
    put(f, "step.close", 2, 1);
    put(f, "step.open", 3, 2);
    put(f, "step.close", 4, 2);
    shutdown(f->fd, SHUT_WR);
    expect_answers(f, 4);
}

/* The last line may lack its newline; an incomplete message is ignored. */
static void no_newline(struct fixture *f, gconstpointer data)
{
    static const char last[] = "{\"type\":\"status\",\"request_id\":\"2\"}";

    put(f, "status", 1, 0);
    g_assert_cmpint(send(f->fd, last, strlen(last), MSG_NOSIGNAL), ==,
                    (ssize_t)strlen(last));
    shutdown(f->fd, SHUT_WR);
    expect_answers(f, 2);
    connect_client(f);
    put(f, "status", 1, 0);
    g_assert_cmpint(send(f->fd, last, 5, MSG_NOSIGNAL), ==, 5);
    shutdown(f->fd, SHUT_WR);
    expect_answers(f, 1);
}

static void many_requests(struct fixture *f, gconstpointer data)
{
    for (int i = 1; i <= MANY; i++)
        put(f, "status", i, 0);
    shutdown(f->fd, SHUT_WR);
    expect_answers(f, MANY);
}

static void nothing(struct fixture *f, gconstpointer data)
{
    shutdown(f->fd, SHUT_WR);
    expect_answers(f, 0);
}

/* ---- clients that are gone ----------------------------------------------- */

/* Queued requests are dropped with the client: the step that it opened stays
 * open. */
static void gone(struct fixture *f, gconstpointer data)
{
    for (int i = 1; i <= MANY; i++)
        put(f, "status", i, 0);
    close(f->fd);
    connect_client(f);
    one_request(f, data);
}

static void gone_after_half(struct fixture *f, gconstpointer data)
{
    put(f, "step.open", 1, 1);
    put(f, "step.close", 2, 1);
    shutdown(f->fd, SHUT_WR);
    close(f->fd);
    connect_client(f);
    one_request(f, data);
}

/* The watcher's last report goes to a client that was accepted after the engine
 * began to end. */
static void closed_meanwhile(struct fixture *f, gconstpointer data)
{
    g_autofree char *edit = g_strdup_printf("touch '%s/file'", f->world->share);
    g_autofree char *sock = g_strconcat(f->world->share, ".sock", NULL);
    struct ic_options options = { .share = f->world->share,
                                  .undo_dir = f->world->undo_dir,
                                  .no_timer = true };

    g_clear_pointer(&f->ic, ic_close);
    close(f->fd);
    for (int i = 0; i < MANY; i++) {
        g_autoptr(GError) error = NULL;
        struct ic *ic = ic_open_share(&options, &error);
        gint64 until;
        int fd;

        g_assert_no_error(error);
        ic_control_listen(ic, sock, &error);
        g_assert_no_error(error);
        g_assert_true(
            g_spawn_command_line_sync(edit, NULL, NULL, NULL, &error));
        fd = unix_socket_connect(sock, 0);
        g_assert_cmpint(fd, >=, 0);
        until = g_get_monotonic_time() + i;
        while (g_get_monotonic_time() < until)
            ;
        ic_close(ic);
        close(fd);
    }
}

void add_control_end_tests(void)
{
    static const struct {
        const char *path;
        void (*run)(struct fixture *, gconstpointer);
    } cases[] = {
        { "/control-end/half/one-request-is-answered", one_request },
        { "/control-end/half/queued-requests-run", a_step },
        { "/control-end/half/last-line-needs-no-newline", no_newline },
        { "/control-end/half/many-requests-are-answered", many_requests },
        { "/control-end/half/nothing-is-sent", nothing },
        { "/control-end/gone/at-once", gone },
        { "/control-end/gone/after-half", gone_after_half },
        { "/control-end/closed-meanwhile", closed_meanwhile },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
        g_test_add(cases[i].path, struct fixture, NULL, set_up, cases[i].run,
                   tear_down);
}
