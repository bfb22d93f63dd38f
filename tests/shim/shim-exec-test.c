/* SPDX-License-Identifier: Apache-2.0
 *
 * shim-exec-test - executions side by side: arguments, users, standard input,
 * flow control and terminals.
 */
#include <glib.h>
#include <jansson.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim/wire.h"
#include "tests/shim/shim_client.h"

/* ---- helpers
 * -------------------------------------------------------------------- */

/* Sends exec with these members; takes them. */
static void start(struct shim_client *shim, int id, json_t *members)
{
    json_object_set_new(members, "type", json_string(WIRE_EXEC));
    json_object_set_new(members, "id", json_integer(id));
    if (!json_object_get(members, "cwd"))
        json_object_set_new(members, "cwd", json_string(shim->folder));
    shim_send(shim, members);
    shim_expect_started(shim, id);
}

static void send_input(struct shim_client *shim, int id, const char *text,
                       gboolean end)
{
    shim_send(shim, json_pack("{ss si ss sb}", "type", WIRE_INPUT, "id", id,
                              "data", text, "eof", end));
}

static void send_credit(struct shim_client *shim, int id, int bytes)
{
    shim_send(shim, json_pack("{ss si si}", "type", WIRE_CREDIT, "id", id,
                              "bytes", bytes));
}

/* All messages up to the execution's end: its output, and what was taken. */
struct result {
    GString *out;
    json_int_t exit_code, taken;
    gboolean ended;
};

static void take(struct result *result, json_t *message)
{
    const char *type = shim_text(message, "type");

    if (g_str_equal(type, WIRE_INPUT_TAKEN)) {
        result->taken += shim_number(message, "bytes");
    } else if (g_str_equal(type, WIRE_OUTPUT)) {
        const char *data = shim_text(message, "data");

        g_assert_null(shim_text(message, "encoding"));
        g_string_append(result->out, data);
    } else {
        g_assert_cmpstr(type, ==, WIRE_STEP_COMPLETED);
        result->exit_code = shim_number(message, "exit_code");
        result->ended = TRUE;
    }
    json_decref(message);
}

/* Read until the output so far ends with the text, or the execution ends. */
static void read_until(struct shim_client *shim, struct result *result,
                       const char *text)
{
    while (!result->ended &&
           !(text && g_str_has_suffix(result->out->str, text)))
        take(result, shim_receive(shim));
    g_test_message("%s", result->out->str);
    if (text)
        g_assert_true(g_str_has_suffix(result->out->str, text));
}

static void check_end(struct shim_client *shim, struct result *result,
                      const char *out, int exit_code)
{
    read_until(shim, result, NULL);
    g_assert_cmpstr(result->out->str, ==, out);
    g_assert_cmpint(result->exit_code, ==, exit_code);
    g_string_free(result->out, TRUE);
    *result = (struct result){ g_string_new(NULL) };
}

#define RESULT                                                                 \
    {                                                                          \
        g_string_new(NULL)                                                     \
    }

/* ---- several
 * ---------------------------------------------------------------------- */

/* A second one runs while the first waits, and each has its own output. */
static void test_side_by_side(struct shim_client *shim, gconstpointer data)
{
    struct result result = RESULT;

    shim_expect_hello(shim);
    start(shim, 1, json_pack("{ss sb}", "command", "cat", "stdin", 1));
    shim_check_run(shim, 2, "echo two", "two\n", "", 0);
    send_input(shim, 1, "one\n", TRUE);
    check_end(shim, &result, "one\n", 0);
    g_string_free(result.out, TRUE);
}

static void test_same_id(struct shim_client *shim, gconstpointer data)
{
    shim_expect_hello(shim);
    start(shim, 1, json_pack("{ss sb}", "command", "cat", "stdin", 1));
    shim_send_exec(shim, 1, "echo again");
    shim_expect_error(shim, "id is in use", 1);
    shim_send_cancel(shim, 1);
    struct shim_outcome outcome = shim_finish(shim, 1);
    g_assert_cmpint(outcome.signal, ==, SIGTERM);
    shim_outcome_clear(&outcome);
}

static void test_too_many(struct shim_client *shim, gconstpointer data)
{
    shim_expect_hello(shim);
    for (int id = 1; id <= WIRE_MAX_EXECUTIONS; id++)
        start(shim, id, json_pack("{ss}", "command", "sleep 1000"));
    shim_send_exec(shim, 100, "echo more");
    shim_expect_error(shim, "already running", 100);
    shim_send_cancel(shim, 7);
    struct shim_outcome outcome = shim_finish(shim, 7);
    shim_outcome_clear(&outcome);
    shim_check_run(shim, 100, "echo more", "more\n", "", 0);
}

/* One that floods without a reader of its output delays no other. */
static void test_flood_beside(struct shim_client *shim, gconstpointer data)
{
    struct result result = RESULT;
    gint64 begin;

    shim_expect_hello(shim);
    start(shim, 1, json_pack("{ss si}", "command", "yes", "window", 100000));
    while (result.out->len < 100000)
        take(&result, shim_receive(shim));
    begin = g_get_monotonic_time();
    for (int id = 2; id < 12; id++)
        shim_check_run(shim, id, "echo two", "two\n", "", 0);
    g_assert_cmpint(g_get_monotonic_time() - begin, <, 10 * G_USEC_PER_SEC);
    send_credit(shim, 1, 4000);
    while (result.out->len < 104000)
        take(&result, shim_receive(shim));
    g_assert_cmpint(result.out->len, ==, 104000);
    shim_send_cancel(shim, 1);
    send_credit(shim, 1, 1000000);
    read_until(shim, &result, NULL);
    g_string_free(result.out, TRUE);
}

/* ---- arguments and users
 * ------------------------------------------------------------ */

static void test_argv(struct shim_client *shim, gconstpointer data)
{
    struct result result = RESULT;

    shim_expect_hello(shim);
    start(shim, 1,
          json_pack("{s[ssss]}", "argv", "printf", "%s|", "a b", "$HOME"));
    check_end(shim, &result, "a b|$HOME|", 0);
    start(shim, 2,
          json_pack("{s[s] s{ss}}", "argv", "env", "env", "PATH", "/nowhere"));
    read_until(shim, &result, NULL);
    g_assert_cmpint(result.exit_code, ==, 127);
    g_string_truncate(result.out, 0);
    result.ended = FALSE;
    g_string_free(result.out, TRUE);
}

/* Bytes that are not UTF-8: a word, the folder, a variable. */
static void test_bytes(struct shim_client *shim, gconstpointer data)
{
    g_autofree char *folder = g_strdup_printf("%s/d\xff", shim->folder);
    g_autofree char *here = g_base64_encode((guchar *)shim->folder,
                                            strlen(shim->folder));
    g_autofree char *there = g_base64_encode((guchar *)folder, strlen(folder));
    struct result result = RESULT;

    shim_expect_hello(shim);
    start(shim, 1,
          json_pack("{s[ss] ss ss}", "argv", "bWtkaXI=", "ZP8=", "cwd", here,
                    "encoding", "base64"));
    check_end(shim, &result, "", 0);
    start(shim, 2,
          json_pack("{s[sss] ss s{ss} ss}", "argv",
                    "c2g=", "LWM=", "cHdkOyBlY2hvICIkWCI=", "cwd", there, "env",
                    "X", "/w==", "encoding", "base64"));
    while (!result.ended) {
        json_t *message = shim_receive(shim);

        if (g_str_equal(shim_text(message, "type"), WIRE_OUTPUT)) {
            gsize len;
            g_autofree guchar *bytes = g_base64_decode(
                shim_text(message, "data"), &len);

            g_string_append_len(result.out, (char *)bytes, (gssize)len);
            json_decref(message);
        } else {
            take(&result, message);
        }
    }
    g_autofree char *want = g_strdup_printf("%s\n\xff\n", folder);
    g_assert_cmpstr(result.out->str, ==, want);
    g_string_free(result.out, TRUE);
}

static void test_users(struct shim_client *shim, gconstpointer data)
{
    struct result result = RESULT;

    if (geteuid() != 0) {
        g_test_skip("only root can become another user");
        return;
    }
    shim_expect_hello(shim);
    start(shim, 1,
          json_pack("{ss ss ss}", "command",
                    "id -un; id -gn; id -G; echo $HOME $USER $LOGNAME", "user",
                    "daemon", "cwd", "/"));
    check_end(shim, &result, "daemon\ndaemon\n1\n/usr/sbin daemon daemon\n", 0);
    start(shim, 2,
          json_pack("{ss ss ss}", "command", "id -u; id -g; echo $HOME", "user",
                    "4711:12", "cwd", "/"));
    check_end(shim, &result, "4711\n12\n/\n", 0);
    start(
        shim, 3,
        json_pack("{ss ss ss}", "command", "id", "user", "nosuch", "cwd", "/"));
    check_end(shim, &result,
              "stepback-shim: nosuch: no such user in the guest\n", 126);
    start(shim, 4,
          json_pack("{ss ss ss}", "command", "id", "user", "daemon:nosuch",
                    "cwd", "/"));
    check_end(shim, &result,
              "stepback-shim: daemon:nosuch: no such group in the guest\n",
              126);
    g_string_free(result.out, TRUE);
}

/* ---- standard input
 * ------------------------------------------------------------------- */

/* The window holds what a command does not read yet; more than it is refused,
 * and what was taken is told to the byte. */
static void test_input_window(struct shim_client *shim, gconstpointer data)
{
    g_autofree char *window = g_strnfill(WIRE_INPUT_WINDOW, 'x');
    json_int_t before;
    struct result result = RESULT;

    shim_expect_hello(shim);
    start(shim, 1,
          json_pack("{ss sb}", "command",
                    "while [ ! -e go ]; do sleep 0.01; done; wc -c", "stdin",
                    1));
    send_input(shim, 1, window, FALSE);
    /* The pipe took a part of it at most; then as much again is too much. */
    while (result.taken < WIRE_INPUT_WINDOW)
        take(&result, shim_receive(shim));
    send_input(shim, 1, window, FALSE);
    before = result.taken;
    send_input(shim, 1, "x", FALSE);
    shim_expect_error(shim, "exceeds its window", 1);
    g_autofree char *go = g_build_filename(shim->folder, "go", NULL);
    g_assert_true(g_file_set_contents(go, "", 0, NULL));
    while (result.taken - before < WIRE_INPUT_WINDOW)
        take(&result, shim_receive(shim));
    send_input(shim, 1, "abc", TRUE);
    read_until(shim, &result, NULL);
    g_assert_cmpint(atoi(result.out->str), ==, 2 * WIRE_INPUT_WINDOW + 3);
    g_string_free(result.out, TRUE);
}

/* All bytes pass through, by base64, and in order. */
static void test_input_bytes(struct shim_client *shim, gconstpointer data)
{
    guchar bytes[256];
    g_autofree char *base64 = NULL;
    struct result result = RESULT;

    for (int i = 0; i < 256; i++)
        bytes[i] = (guchar)i;
    base64 = g_base64_encode(bytes, sizeof(bytes));
    shim_expect_hello(shim);
    start(shim, 1, json_pack("{ss sb}", "command", "sha256sum", "stdin", 1));
    shim_send(shim, json_pack("{ss si ss ss sb}", "type", WIRE_INPUT, "id", 1,
                              "encoding", "base64", "data", base64, "eof", 1));
    read_until(shim, &result, NULL);
    g_autofree char *sum = g_compute_checksum_for_data(G_CHECKSUM_SHA256, bytes,
                                                       sizeof(bytes));
    g_assert_true(g_str_has_prefix(result.out->str, sum));
    g_string_free(result.out, TRUE);
}

/* A command that closes its input, or never reads it, hangs nothing. */
static void test_input_unread(struct shim_client *shim, gconstpointer data)
{
    g_autofree char *half = g_strnfill(WIRE_INPUT_WINDOW / 2, 'x');
    struct result result = RESULT;

    shim_expect_hello(shim);
    start(shim, 1,
          json_pack("{ss sb}", "command", "exec <&-; echo closed; sleep 0.2",
                    "stdin", 1));
    read_until(shim, &result, "closed\n");
    for (int i = 0; i < 8; i++) {
        json_int_t want = result.taken + WIRE_INPUT_WINDOW / 2;

        send_input(shim, 1, half, FALSE);
        while (!result.ended && result.taken < want)
            take(&result, shim_receive(shim));
    }
    check_end(shim, &result, "closed\n", 0);
    shim_check_run(shim, 2, "echo two", "two\n", "", 0);
    g_string_free(result.out, TRUE);
}

/* ---- terminals
 * ---------------------------------------------------------------------------
 */

static json_t *with_tty(const char *command)
{
    return json_pack("{ss s{si si} s{ss}}", "command", command, "tty", "rows",
                     24, "columns", 80, "env", "TERM", "xterm");
}

static void test_tty(struct shim_client *shim, gconstpointer data)
{
    struct result result = RESULT;

    shim_expect_hello(shim);
    start(shim, 1,
          with_tty("[ -t 0 ] && [ -t 1 ] && [ -t 2 ] && stty size && "
                   "trap 'stty size; exit 3' WINCH && echo ready && "
                   "while :; do sleep 0.05; done"));
    read_until(shim, &result, "ready\r\n");
    shim_send(shim, json_pack("{ss si si si}", "type", WIRE_RESIZE, "id", 1,
                              "rows", 50, "columns", 132));
    check_end(shim, &result, "24 80\r\nready\r\n50 132\r\n", 3);
    g_string_free(result.out, TRUE);
}

/* ^C reaches a whole pipeline, ^D is the end of input, and no signal of a
 * terminal ends the session's leader. */
static void test_tty_keys(struct shim_client *shim, gconstpointer data)
{
    struct result result = RESULT;

    shim_expect_hello(shim);
    start(shim, 1, with_tty("stty -echo; echo ready; cat | cat; echo no"));
    read_until(shim, &result, "ready\r\n");
    send_input(shim, 1, "line\n", FALSE);
    read_until(shim, &result, "line\r\n");
    send_input(shim, 1, "\003", FALSE);
    check_end(shim, &result, "ready\r\nline\r\n", 130);
    start(shim, 2, with_tty("stty -echo; echo ready; cat; echo end"));
    read_until(shim, &result, "ready\r\n");
    send_input(shim, 2, "line\n", TRUE);
    check_end(shim, &result, "ready\r\nline\r\nend\r\n", 0);
    start(shim, 3, with_tty("stty -echo; echo ready; read x; echo no"));
    read_until(shim, &result, "ready\r\n");
    send_input(shim, 3, "\034", FALSE); /* ^\ */
    check_end(shim, &result, "ready\r\n", 131);
    g_string_free(result.out, TRUE);
}

/* What is written just before the end is not lost when the terminal goes. */
static void test_tty_last_output(struct shim_client *shim, gconstpointer data)
{
    g_autoptr(GString) want = g_string_new(NULL);
    struct result result = RESULT;

    for (int i = 1; i <= 3000; i++)
        g_string_append_printf(want, "%d\r\n", i);
    shim_expect_hello(shim);
    for (int id = 1; id <= 20; id++) {
        start(shim, id, with_tty("exec seq 3000"));
        check_end(shim, &result, want->str, 0);
    }
    g_string_free(result.out, TRUE);
}

/* Job control: ^Z stops the foreground, fg continues it. */
static void test_tty_jobs(struct shim_client *shim, gconstpointer data)
{
    struct result result = RESULT;

    shim_expect_hello(shim);
    start(shim, 1,
          json_pack("{s[sss] s{si si} s{ss}}", "argv", "bash", "--norc",
                    "--noediting", "tty", "rows", 24, "columns", 80, "env",
                    "PS1", "> "));
    read_until(shim, &result, "> ");
    send_input(shim, 1, "stty -echo\n", FALSE);
    read_until(shim, &result, "stty -echo\r\n> ");
    send_input(shim, 1, "cat\n", FALSE);
    send_input(shim, 1, "one\n", FALSE);
    read_until(shim, &result, "one\r\n");
    send_input(shim, 1, "\032", FALSE); /* ^Z */
    read_until(shim, &result, "cat\r\n> ");
    send_input(shim, 1, "fg\n", FALSE);
    read_until(shim, &result, "cat\r\n");
    send_input(shim, 1, "two\n", FALSE);
    read_until(shim, &result, "two\r\n");
    send_input(shim, 1, "\004", FALSE);
    read_until(shim, &result, "> ");
    send_input(shim, 1, "exit 9\n", FALSE);
    read_until(shim, &result, NULL);
    g_assert_cmpint(result.exit_code, ==, 9);
    g_string_free(result.out, TRUE);
}

/* A background process on the terminal neither delays the end nor lives on
 * unknown. */
static void test_tty_background(struct shim_client *shim, gconstpointer data)
{
    struct result result = RESULT;
    struct shim_outcome outcome;

    shim_expect_hello(shim);
    start(shim, 1, with_tty("setsid -f sleep 3 & wait; echo x"));
    outcome = shim_finish(shim, 1);
    g_assert_cmpstr(outcome.out->str, ==, "x\r\n");
    g_assert_cmpint(outcome.processes, ==, 1);
    shim_outcome_clear(&outcome);
    start(shim, 2, with_tty("yes & sleep 0.3; exit 4"));
    outcome = shim_finish(shim, 2);
    g_assert_cmpint(outcome.exit_code, ==, 4);
    shim_outcome_clear(&outcome);
    start(shim, 3, with_tty("trap '' HUP TERM; echo ready; sleep 1000"));
    read_until(shim, &result, "ready\r\n");
    shim_send_cancel(shim, 3);
    outcome = shim_finish(shim, 3);
    g_assert_cmpint(outcome.processes, ==, 0);
    g_assert_cmpint(outcome.exit_code, !=, 0);
    shim_outcome_clear(&outcome);
    g_string_free(result.out, TRUE);
}

static void test_signal(struct shim_client *shim, gconstpointer data)
{
    struct result result = RESULT;

    shim_expect_hello(shim);
    start(shim, 1,
          json_pack("{ss}", "command",
                    "trap 'echo usr1; exit 5' USR1; echo ready; "
                    "while :; do :; done"));
    read_until(shim, &result, "ready\n");
    shim_send(shim, json_pack("{ss si si}", "type", WIRE_SIGNAL, "id", 1,
                              "signal", SIGUSR1));
    check_end(shim, &result, "ready\nusr1\n", 5);
    start(shim, 2, with_tty("stty -echo; echo ready; exec sleep 1000"));
    read_until(shim, &result, "ready\r\n");
    shim_send(shim, json_pack("{ss si si}", "type", WIRE_SIGNAL, "id", 2,
                              "signal", SIGINT));
    check_end(shim, &result, "ready\r\n", 130);
    g_string_free(result.out, TRUE);
}

/* 100,000 lines at once, as a paste into an editor, all arrive. */
static void test_tty_paste(struct shim_client *shim, gconstpointer data)
{
    enum { LINES = 100000, AT_A_TIME = 1000 };
    json_int_t sent = 0;
    struct result result = RESULT;

    shim_expect_hello(shim);
    start(shim, 1,
          with_tty("stty -echo; echo ready; head -n 100000 | sha256sum"));
    read_until(shim, &result, "ready\r\n");
    g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA256);
    for (int line = 0; line < LINES; line += AT_A_TIME) {
        g_autoptr(GString) text = g_string_new(NULL);

        for (int i = 0; i < AT_A_TIME; i++)
            g_string_append_printf(text, "pasted line %d\n", line + i);
        g_checksum_update(sum, (guchar *)text->str, (gssize)text->len);
        while (sent + (json_int_t)text->len - result.taken > WIRE_INPUT_WINDOW)
            take(&result, shim_receive(shim));
        send_input(shim, 1, text->str, FALSE);
        sent += (json_int_t)text->len;
    }
    read_until(shim, &result, NULL);
    g_assert_nonnull(strstr(result.out->str, g_checksum_get_string(sum)));
    g_string_free(result.out, TRUE);
}

static const struct shim_test tests[] = {
    { "side-by-side", test_side_by_side },
    { "same-id", test_same_id },
    { "too-many", test_too_many },
    { "flood-beside", test_flood_beside },
    { "argv", test_argv },
    { "bytes", test_bytes },
    { "users", test_users },
    { "input-window", test_input_window },
    { "input-bytes", test_input_bytes },
    { "input-unread", test_input_unread },
    { "tty", test_tty },
    { "tty-keys", test_tty_keys },
    { "tty-last-output", test_tty_last_output },
    { "tty-jobs", test_tty_jobs },
    { "tty-background", test_tty_background },
    { "tty-paste", test_tty_paste },
    { "signal", test_signal },
};

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    shim_add_tests(tests, G_N_ELEMENTS(tests));
    return g_test_run();
}
