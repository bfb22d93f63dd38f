/* SPDX-License-Identifier: Apache-2.0
 *
 * shim_client - see shim_client.h.
 */
#include "tests/shim/shim_client.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/wire.h"

void shim_set_up(struct shim_client *shim, gconstpointer no_cgroups)
{
    char number[16];
    int ends[2];
    g_autofree char *socket_option = NULL;

    g_assert_no_errno(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    shim->folder = g_dir_make_tmp("shim-XXXXXX", NULL);
    shim->in = g_string_new(NULL);
    shim->fd = ends[0];
    g_snprintf(number, sizeof(number), "--port=%d", ends[1]);
    socket_option = g_strdup_printf("--step-socket=%s/steps/socket",
                                    shim->folder);
    shim->pid = fork();
    if (shim->pid == 0) {
        close(ends[0]);
        execl(SHIM_PROGRAM, SHIM_PROGRAM, number, "--no-init", socket_option,
              no_cgroups ? "--no-cgroups" : NULL, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
}

void shim_end(struct shim_client *shim)
{
    int status;

    if (shim->pid == 0)
        return;
    if (shim->fd >= 0)
        close(shim->fd);
    shim->fd = -1;
    g_assert_cmpint(waitpid(shim->pid, &status, 0), ==, shim->pid);
    g_assert_cmpint(status, ==, 0);
    shim->pid = 0;
}

int shim_run_without_host(void)
{
    g_autofree char *option = NULL;
    int ends[2], status = -1;
    pid_t pid;

    g_assert_no_errno(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    close(ends[0]);
    option = g_strdup_printf("--port=%d", ends[1]);
    pid = fork();
    if (pid == 0) {
        alarm(SHIM_TIMEOUT_MS / 1000);
        execl(SHIM_PROGRAM, SHIM_PROGRAM, option, "--no-init", "--no-cgroups",
              (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
    return status;
}

void shim_tear_down(struct shim_client *shim, gconstpointer data)
{
    g_autofree char *clean = g_strdup_printf("rm -rf '%s'", shim->folder);

    shim_end(shim);
    g_assert_cmpint(system(clean), ==, 0);
    g_string_free(shim->in, TRUE);
    g_free(shim->folder);
}

void shim_send_bytes(struct shim_client *shim, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t put = send(shim->fd, bytes, len, MSG_NOSIGNAL);

        g_assert_cmpint(put, >, 0);
        bytes += put;
        len -= (size_t)put;
    }
}

void shim_send_text(struct shim_client *shim, const char *text)
{
    shim_send_bytes(shim, text, strlen(text));
}

/* Takes the message. */
void shim_send(struct shim_client *shim, json_t *message)
{
    g_autofree char *text = json_dumps(message, JSON_COMPACT);

    g_assert_nonnull(text);
    shim_send_text(shim, text);
    shim_send_text(shim, "\n");
    json_decref(message);
}

void shim_send_exec(struct shim_client *shim, int id, const char *command)
{
    shim_send(shim, json_pack("{ss si ss ss}", "type", WIRE_EXEC, "id", id,
                              "command", command, "cwd", shim->folder));
}

void shim_send_cancel(struct shim_client *shim, int id)
{
    shim_send(shim, json_pack("{ss si}", "type", WIRE_CANCEL, "id", id));
}

/* The next message, a new reference. */
json_t *shim_receive(struct shim_client *shim)
{
    for (;;) {
        char *newline = memchr(shim->in->str, '\n', shim->in->len);
        struct pollfd fd = { shim->fd, POLLIN, 0 };
        char chunk[65536];
        ssize_t got;

        if (newline) {
            size_t len = (size_t)(newline - shim->in->str);
            json_error_t error;
            json_t *message = json_loadb(shim->in->str, len, 0, &error);

            g_assert_cmpint(len, <=, WIRE_MAX_LINE);
            if (!message)
                g_error("not JSON: %s", error.text);
            g_string_erase(shim->in, 0, (gssize)len + 1);
            return message;
        }
        g_assert_cmpint(poll(&fd, 1, SHIM_TIMEOUT_MS), ==, 1);
        got = recv(shim->fd, chunk, sizeof(chunk), 0);
        g_assert_cmpint(got, >, 0);
        g_string_append_len(shim->in, chunk, got);
    }
}

const char *shim_text(json_t *message, const char *key)
{
    return json_string_value(json_object_get(message, key));
}

json_int_t shim_number(json_t *message, const char *key)
{
    json_t *value = json_object_get(message, key);

    g_assert_true(json_is_integer(value));
    return json_integer_value(value);
}

/* The next message, which must be of this type. New reference. */
json_t *shim_expect(struct shim_client *shim, const char *type)
{
    json_t *message = shim_receive(shim);
    g_autofree char *dump = json_dumps(message, 0);

    g_test_message("%s", dump);
    g_assert_cmpstr(shim_text(message, "type"), ==, type);
    return message;
}

/* The next message is an error whose text holds this. */
void shim_expect_error(struct shim_client *shim, const char *part, int id)
{
    json_t *message = shim_expect(shim, WIRE_ERROR);

    g_assert_nonnull(strstr(shim_text(message, "message"), part));
    if (id >= 0)
        g_assert_cmpint(shim_number(message, "id"), ==, id);
    else
        g_assert_null(json_object_get(message, "id"));
    json_decref(message);
}

void shim_expect_hello(struct shim_client *shim)
{
    json_t *hello = shim_expect(shim, WIRE_HELLO);

    g_assert_cmpint(shim_number(hello, "version"), ==, WIRE_VERSION);
    g_assert_nonnull(shim_text(hello, "shim_version"));
    g_assert_nonnull(shim_text(hello, "kernel"));
    g_assert_cmpint(shim_number(hello, "shim_ms"), >, 0);
    g_assert_cmpint(shim_number(hello, "shim_ms"), <=,
                    shim_number(hello, "uptime_ms"));
    json_decref(hello);
}

void shim_outcome_clear(struct shim_outcome *outcome)
{
    g_string_free(outcome->out, TRUE);
    g_string_free(outcome->err, TRUE);
}

static void add_output(struct shim_outcome *outcome, json_t *message)
{
    GString *to = g_str_equal(shim_text(message, "stream"), "stdout")
                      ? outcome->out
                      : outcome->err;
    const char *data = shim_text(message, "data");

    g_assert_nonnull(data);
    if (shim_text(message, "encoding")) {
        gsize len;
        g_autofree guchar *bytes = g_base64_decode(data, &len);

        g_assert_cmpstr(shim_text(message, "encoding"), ==, "base64");
        g_string_append_len(to, (const char *)bytes, (gssize)len);
        outcome->base64 = TRUE;
    } else {
        g_string_append(to, data);
    }
}

/* All up to step_completed. Clear it. */
struct shim_outcome shim_finish(struct shim_client *shim, int id)
{
    struct shim_outcome outcome = { g_string_new(NULL), g_string_new(NULL) };

    for (;;) {
        json_t *message = shim_receive(shim);
        const char *type = shim_text(message, "type");

        if (!g_str_equal(type, WIRE_OUTPUT) &&
            !g_str_equal(type, WIRE_STEP_COMPLETED)) {
            g_autofree char *dump = json_dumps(message, 0);

            g_error("unexpected: %s", dump);
        }
        g_assert_cmpint(shim_number(message, "id"), ==, id);
        if (g_str_equal(type, WIRE_STEP_COMPLETED)) {
            outcome.exit_code = shim_number(message, "exit_code");
            if (json_object_get(message, "signal"))
                outcome.signal = shim_number(message, "signal");
            outcome.processes = shim_number(message, "processes");
            json_decref(message);
            return outcome;
        }
        add_output(&outcome, message);
        json_decref(message);
    }
}

void shim_expect_started(struct shim_client *shim, int id)
{
    json_t *message = shim_expect(shim, WIRE_STEP_STARTED);

    g_assert_cmpint(shim_number(message, "id"), ==, id);
    json_decref(message);
}

struct shim_outcome shim_run(struct shim_client *shim, int id,
                             const char *command)
{
    shim_send_exec(shim, id, command);
    shim_expect_started(shim, id);
    return shim_finish(shim, id);
}

/* Run it and compare. */
void shim_check_run(struct shim_client *shim, int id, const char *command,
                    const char *out, const char *err, int exit_code)
{
    struct shim_outcome outcome = shim_run(shim, id, command);

    g_assert_cmpstr(outcome.out->str, ==, out);
    g_assert_cmpstr(outcome.err->str, ==, err);
    g_assert_cmpint(outcome.exit_code, ==, exit_code);
    shim_outcome_clear(&outcome);
}

void shim_add_tests(const struct shim_test *tests, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        g_autofree char *with = g_strconcat("/shim/cgroup/", tests[i].name,
                                            NULL);
        g_autofree char *without = g_strconcat("/shim/proc/", tests[i].name,
                                               NULL);

        g_test_add(with, struct shim_client, NULL, shim_set_up, tests[i].run,
                   shim_tear_down);
        g_test_add(without, struct shim_client, SHIM_NO_CGROUPS, shim_set_up,
                   tests[i].run, shim_tear_down);
    }
}
