/* SPDX-License-Identifier: Apache-2.0
 *
 * shim-test - the shim and its messages, without a virtual machine.
 */
#include <errno.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <jansson.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "shim/wire.h"
#include "tests/shim/shim_client.h"

static void test_hello(struct shim_client *shim, gconstpointer data)
{
    shim_expect_hello(shim);
    shim_send_text(shim, "{\"type\":\"hello\"}\n");
    shim_expect_hello(shim);
    /* A line may arrive in pieces, and several lines at once. */
    shim_send_text(shim, "{\"type\":\"hel");
    g_usleep(50000);
    shim_send_text(shim, "lo\"}\n{\"type\":\"hello\"}\n{\"type\":\"hello\"}\n");
    shim_expect_hello(shim);
    shim_expect_hello(shim);
    shim_expect_hello(shim);
}

static void test_exec(struct shim_client *shim, gconstpointer data)
{
    shim_expect_hello(shim);
    shim_check_run(shim, 1, "echo out; echo err >&2", "out\n", "err\n", 0);
    shim_check_run(shim, 2, "exit 7", "", "", 7);
    shim_check_run(shim, 3, "printf '%s' \"quote ' \\\" and \xe2\x82\xac\"",
                   "quote ' \" and \xe2\x82\xac", "", 0);
    shim_check_run(shim, 4, "cat", "", "", 0); /* stdin is /dev/null */
    shim_check_run(shim, 5, "printf %s \"$(pwd)\"", shim->folder, "", 0);
}

static void test_exit_codes(struct shim_client *shim, gconstpointer data)
{
    struct shim_outcome outcome;

    shim_expect_hello(shim);
    outcome = shim_run(shim, 1, "kill -KILL $$");
    g_assert_cmpint(outcome.exit_code, ==, 137);
    g_assert_cmpint(outcome.signal, ==, 9);
    shim_outcome_clear(&outcome);
    outcome = shim_run(shim, 2, "/no/such/program");
    g_assert_cmpint(outcome.exit_code, ==, 127);
    g_assert_cmpint(outcome.err->len, >, 0);
    shim_outcome_clear(&outcome);
    outcome = shim_run(shim, 3, "touch x; ./x");
    g_assert_cmpint(outcome.exit_code, ==, 126);
    shim_outcome_clear(&outcome);
    /* Signals are as at a login: neither blocked nor ignored. */
    outcome = shim_run(shim, 4, "kill -PIPE $$; echo lives");
    g_assert_cmpint(outcome.signal, ==, SIGPIPE);
    shim_outcome_clear(&outcome);
    outcome = shim_run(shim, 5, "grep -E 'Sig(Blk|Ign)' /proc/self/status");
    g_assert_cmpstr(outcome.out->str, ==,
                    "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
    shim_outcome_clear(&outcome);
}

static void test_environment(struct shim_client *shim, gconstpointer data)
{
    struct shim_outcome outcome;

    shim_expect_hello(shim);
    shim_send(shim,
              json_pack("{ss si ss ss s{ss ss ss}}", "type", WIRE_EXEC, "id", 1,
                        "command",
                        "echo \"$A|$B|$HOME|$USER|$LANG\"; env | grep -c .; "
                        "test -n \"$PATH\" && test -n \"$TERM\"",
                        "cwd", "/", "env", "A", "x y\nz", "B", "", "LANG",
                        "C"));
    shim_expect_started(shim, 1);
    outcome = shim_finish(shim, 1);
    g_assert_true(g_str_has_prefix(outcome.out->str, "x y\nz||/root|root|C\n"));
    g_assert_cmpint(outcome.exit_code, ==, 0);
    shim_outcome_clear(&outcome);
    /* The next command inherits nothing of a command's environment. */
    shim_check_run(shim, 2, "echo \"$A\"", "\n", "", 0);
    /* The shim's own fds are not inherited. */
    shim_check_run(shim, 3, "ls /proc/self/fd | wc -l", "4\n", "", 0);
}

static void test_request_of_bytes(struct shim_client *shim, gconstpointer data)
{
    g_autofree char *folder = g_build_filename(shim->folder, "odd\xff", NULL);
    const char *command = "printf '%s|\xfe|%s|' \"$A\" \"${PWD##*/}\"; cat";
    g_autofree char *text = g_base64_encode((const guchar *)command,
                                            strlen(command));
    g_autofree char *cwd = g_base64_encode((const guchar *)folder,
                                           strlen(folder));
    struct shim_outcome outcome;

    g_assert_cmpint(g_mkdir(folder, 0700), ==, 0);
    shim_expect_hello(shim);
    shim_send(shim, json_pack("{ss si ss ss ss ss s{ss}}", "type", WIRE_EXEC,
                              "id", 1, "encoding", "base64", "command", text,
                              "cwd", cwd, "input", "AP8=", "env", "A", "/SB4"));
    shim_expect_started(shim, 1);
    outcome = shim_finish(shim, 1);
    g_assert_cmpmem(outcome.out->str, outcome.out->len,
                    "\xfd x|\xfe|odd\xff|\0\xff", 13);
    g_assert_cmpint(outcome.exit_code, ==, 0);
    shim_outcome_clear(&outcome);
    g_rmdir(folder);
}

static void test_bad_requests(struct shim_client *shim, gconstpointer data)
{
    static const struct {
        const char *line, *error;
        int id;
    } cases[] = {
        { "{\"type\":\"exec\",\"id\":1}", "id and a command", 1 },
        { "{\"type\":\"exec\",\"id\":1,\"argv\":[]}", "argv is empty", 1 },
        { "{\"type\":\"exec\",\"id\":1,\"argv\":[1]}", "argv must", 1 },
        { "{\"type\":\"exec\",\"id\":1,\"command\":\"x\",\"login\":true}",
          "command, argv or login", 1 },
        { "{\"type\":\"exec\",\"id\":1,\"command\":\"x\",\"user\":7}", "user",
          1 },
        { "{\"type\":\"exec\",\"id\":1,\"command\":\"x\",\"stdin\":1}", "stdin",
          1 },
        { "{\"type\":\"exec\",\"id\":1,\"command\":\"x\",\"tty\":{}}", "tty",
          1 },
        { "{\"type\":\"exec\",\"id\":1,\"command\":\"x\",\"window\":-1}",
          "window", 1 },
        { "{\"type\":\"input\",\"id\":9}", "no such command", 9 },
        { "{\"type\":\"resize\",\"id\":9}", "no such command", 9 },
        { "{\"type\":\"signal\",\"id\":9}", "no such command", 9 },
        { "{\"type\":\"credit\",\"id\":9}", "no such command", 9 },
        { "{\"type\":\"exec\",\"command\":\"x\"}", "id and a command", -1 },
        { "{\"type\":\"exec\",\"id\":\"1\",\"command\":\"x\"}", "id and", -1 },
        { "{\"type\":\"exec\",\"id\":1,\"command\":\"a\\u0000\"}", "id and",
          1 },
        { "{\"type\":\"exec\",\"id\":1,\"command\":\"x\",\"cwd\":1}", "cwd",
          1 },
        { "{\"type\":\"exec\",\"id\":1,\"command\":\"x\",\"env\":[]}", "env",
          1 },
        { "{\"type\":\"exec\",\"id\":1,\"command\":\"x\",\"env\":{\"A\":1}}",
          "env", 1 },
        { "{\"type\":\"exec\",\"id\":1,\"command\":\"x\",\"env\":{\"A=\":\"\"}"
          "}",
          "env", 1 },
        { "{\"type\":\"exec\",\"id\":1,\"command\":\"x\",\"env\":{\"\":\"\"}}",
          "env", 1 },
        { "{\"type\":\"exec\",\"id\":1,\"command\":\"x\","
          "\"encoding\":\"base64\"}",
          "base64", 1 },
        { "{\"type\":\"exec\",\"id\":1,\"command\":\"eA==\",\"cwd\":1,"
          "\"encoding\":\"base64\"}",
          "base64", 1 },
        { "{\"type\":\"exec\",\"id\":1,\"command\":\"AHg=\","
          "\"encoding\":\"base64\"}",
          "id and a command", 1 },
        { "{\"type\":\"exec\",\"id\":1,\"command\":\"x\","
          "\"encoding\":\"hex\"}",
          "base64", 1 },
        { "{\"type\":\"exec\",\"id\":1,\"command\":\"eA==\","
          "\"env\":{\"A\":\"A=B=\"},\"encoding\":\"base64\"}",
          "base64", 1 },
        { "{\"type\":\"cancel\"}", "cancel needs", -1 },
        { "{\"type\":\"cancel\",\"id\":9}", "no such command", 9 },
        { "{\"type\":\"mount\",\"tag\":\"x\"}", "mount needs", -1 },
        { "{\"type\":\"refresh\",\"tag\":\"x\"}", "refresh needs", -1 },
        { "{\"type\":\"refresh\",\"id\":3,\"tag\":7}", "refresh needs", 3 },
        { "{\"type\":\"reboot\",\"id\":3}", "unknown message", 3 },
        { "{\"type\":7}", "no type", -1 },
        { "{}", "no type", -1 },
        { "[]", "no type", -1 },
        { "", "malformed", -1 },
        { "nonsense", "malformed", -1 },
        { "{\"type\":\"hello\"} x", "malformed", -1 },
        { "{\"type\":\"\xff\"}", "malformed", -1 },
    };

    shim_expect_hello(shim);
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *shown = g_strescape(cases[i].line, NULL);

        g_test_message("%s", shown);
        shim_send_text(shim, cases[i].line);
        shim_send_text(shim, "\n");
        shim_expect_error(shim, cases[i].error, cases[i].id);
    }
    shim_check_run(shim, 2, "echo fine", "fine\n", "", 0);
}

static void test_mount_errors(struct shim_client *shim, gconstpointer data)
{
    static const struct {
        const char *path, *fstype, *error;
    } cases[] = {
        { "relative", "virtiofs", "absolute" },
        { "/mnt/x", "ext4", "unknown file system" },
        { "/proc", "virtiofs", "already" },
    };

    shim_expect_hello(shim);
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        json_t *mounted;

        shim_send(shim, json_pack("{ss ss ss ss sb}", "type", WIRE_MOUNT, "tag",
                                  "t", "path", cases[i].path, "fstype",
                                  cases[i].fstype, "read_only", 0));
        mounted = shim_expect(shim, WIRE_MOUNTED);
        g_assert_cmpstr(shim_text(mounted, "tag"), ==, "t");
        g_assert_cmpstr(shim_text(mounted, "status"), ==, "error");
        g_assert_nonnull(strstr(shim_text(mounted, "message"), cases[i].error));
        json_decref(mounted);
    }
}

/* The host waits for the answer. */
static void test_refresh_errors(struct shim_client *shim, gconstpointer data)
{
    json_t *refreshed;

    shim_expect_hello(shim);
    shim_send_text(shim, "{\"type\":\"refresh\",\"tag\":\"t\",\"id\":7,"
                         "\"names\":[[1,\"a\"]]}\n");
    refreshed = shim_expect(shim, WIRE_REFRESHED);
    g_assert_cmpstr(shim_text(refreshed, "tag"), ==, "t");
    g_assert_cmpint(json_integer_value(json_object_get(refreshed, "id")), ==,
                    7);
    g_assert_cmpstr(shim_text(refreshed, "status"), ==, "error");
    g_assert_nonnull(strstr(shim_text(refreshed, "message"), "not mounted"));
    json_decref(refreshed);
}

static void test_missing_cwd(struct shim_client *shim, gconstpointer data)
{
    struct shim_outcome outcome;

    shim_expect_hello(shim);
    shim_send_text(shim, "{\"type\":\"exec\",\"id\":1,\"command\":\"echo no\","
                         "\"cwd\":\"/no/such\"}\n");
    shim_expect_started(shim, 1);
    outcome = shim_finish(shim, 1);
    g_assert_cmpint(outcome.exit_code, ==, 126);
    g_assert_cmpstr(outcome.out->str, ==, "");
    g_assert_nonnull(strstr(outcome.err->str, "/no/such: No such file"));
    shim_outcome_clear(&outcome);
}

static void test_oversize_line(struct shim_client *shim, gconstpointer data)
{
    g_autofree char *blanks = g_strnfill(3 * WIRE_MAX_LINE, ' ');
    static const char hello[] = "{\"type\":\"hello\"}\n";

    shim_expect_hello(shim);
    shim_send_bytes(shim, blanks, 3 * WIRE_MAX_LINE);
    shim_expect_error(shim, "longer than", -1);
    shim_send_text(shim, "\n");
    shim_send_text(shim, hello);
    shim_expect_hello(shim);
    /* One byte too long, and exactly as long as allowed. */
    shim_send_bytes(shim, blanks, WIRE_MAX_LINE - strlen(hello) + 2);
    shim_send_text(shim, hello);
    shim_expect_error(shim, "longer than", -1);
    shim_send_bytes(shim, blanks, WIRE_MAX_LINE - strlen(hello) + 1);
    shim_send_text(shim, hello);
    shim_expect_hello(shim);
}

/* Longer than an argument may be for the kernel. */
static void test_long_command(struct shim_client *shim, gconstpointer data)
{
    g_autoptr(GString) command = g_string_new("cat <<'END' | wc -c\n");

    shim_expect_hello(shim);
    while (command->len < 900 * 1024)
        g_string_append(command, "a line of a long here-document\n");
    g_string_append(command, "END\nexit 3\n");
    shim_send_exec(shim, 1, command->str);
    shim_expect_started(shim, 1);
    struct shim_outcome outcome = shim_finish(shim, 1);
    g_assert_cmpint(outcome.exit_code, ==, 3);
    g_assert_cmpint(atoi(outcome.out->str), ==,
                    (int)(command->len - strlen("cat <<'END' | wc -c\n") -
                          strlen("END\nexit 3\n")));
    shim_outcome_clear(&outcome);
}

/* Output that is not text, and text whose characters are split between chunks.
 */
static void test_bytes(struct shim_client *shim, gconstpointer data)
{
    struct shim_outcome outcome;

    shim_expect_hello(shim);
    outcome = shim_run(shim, 1, "printf 'a\\377\\000b'");
    g_assert_cmpmem(outcome.out->str, outcome.out->len, "a\377\000b", 4);
    g_assert_true(outcome.base64);
    shim_outcome_clear(&outcome);

    outcome = shim_run(shim, 2,
                       "printf 'x\\342\\202'; sleep 0.2; printf '\\254\\303'; "
                       "sleep 0.2; printf '\\251'");
    g_assert_cmpstr(outcome.out->str, ==, "x\xe2\x82\xac\xc3\xa9");
    g_assert_false(outcome.base64);
    shim_outcome_clear(&outcome);

    /* An incomplete character is output at the end. */
    outcome = shim_run(shim, 3, "printf 'x\\342\\202'");
    g_assert_cmpmem(outcome.out->str, outcome.out->len, "x\xe2\x82", 3);
    g_assert_true(outcome.base64);
    shim_outcome_clear(&outcome);

    outcome = shim_run(shim, 4,
                       "printf x; i=0; while [ $i -lt 60000 ]; do "
                       "printf '\\342\\202\\254'; i=$((i + 1)); done");
    g_assert_cmpint(outcome.out->len, ==, 180001);
    g_assert_true(g_utf8_validate(outcome.out->str, -1, NULL));
    g_assert_false(outcome.base64);
    shim_outcome_clear(&outcome);
}

/* Much output to a host that does not read: the command waits, nothing is lost,
 * each stream keeps its order, and control messages get through. */
static void test_flood(struct shim_client *shim, gconstpointer data)
{
    const int lines = 400000;
    g_autofree char *command = g_strdup_printf("seq %d & seq %d >&2; wait",
                                               lines, lines);
    g_autoptr(GString) want = g_string_new(NULL);
    struct shim_outcome outcome;

    for (int i = 1; i <= lines; i++)
        g_string_append_printf(want, "%d\n", i);
    shim_expect_hello(shim);
    shim_send_exec(shim, 1, command);
    shim_expect_started(shim, 1);
    g_usleep(500000);
    outcome = shim_finish(shim, 1);
    g_assert_cmpint(outcome.exit_code, ==, 0);
    g_assert_true(g_string_equal(outcome.out, want));
    g_assert_true(g_string_equal(outcome.err, want));
    shim_outcome_clear(&outcome);
}

/* A host that sends and never reads is stopped, without ever more memory; when
 * it reads, all replies are there. */
static void test_greedy_host(struct shim_client *shim, gconstpointer data)
{
    static const char hello[] = "{\"type\":\"hello\"}\n";
    int sent = 0, got = 0;

    shim_expect_hello(shim);
    while (sent < 200000) {
        ssize_t put = send(shim->fd, hello, strlen(hello),
                           MSG_DONTWAIT | MSG_NOSIGNAL);

        if (put < 0 && errno == EAGAIN)
            break;
        if (put < (ssize_t)strlen(hello))
            shim_send_bytes(shim, hello + put, strlen(hello) - (size_t)put);
        sent++;
    }
    g_assert_cmpint(sent, <, 200000);
    for (; got < sent; got++)
        shim_expect_hello(shim);
}

static void test_shutdown(struct shim_client *shim, gconstpointer data)
{
    char byte;

    shim_expect_hello(shim);
    shim_send_text(shim, "{\"type\":\"hello\"}\n{\"type\":\"shutdown\"}\n");
    shim_expect_hello(shim);
    g_assert_cmpint(recv(shim->fd, &byte, 1, 0), ==, 0);
}

/* A supervisor that was killed during the start of its sandbox. */
static void test_gone_before(struct shim_client *shim, gconstpointer data)
{
    g_assert_cmpint(shim_run_without_host(), ==, 0);
}

static const struct shim_test tests[] = {
    { "hello", test_hello },
    { "gone-before", test_gone_before },
    { "exec", test_exec },
    { "exit-codes", test_exit_codes },
    { "environment", test_environment },
    { "request-of-bytes", test_request_of_bytes },
    { "bad-requests", test_bad_requests },
    { "mount-errors", test_mount_errors },
    { "refresh-errors", test_refresh_errors },
    { "missing-cwd", test_missing_cwd },
    { "oversize-line", test_oversize_line },
    { "long-command", test_long_command },
    { "bytes", test_bytes },
    { "flood", test_flood },
    { "greedy-host", test_greedy_host },
    { "shutdown", test_shutdown },
};

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    shim_add_tests(tests, G_N_ELEMENTS(tests));
    return g_test_run();
}
