/* SPDX-License-Identifier: Apache-2.0
 *
 * shim-terminal-test - executions on a terminal: keys, job control, resizes,
 * signals, and output and input that must not be lost.
 */
#include <glib.h>
#include <jansson.h>
#include <signal.h>
#include <string.h>

#include "shim/wire.h"
#include "tests/shim/shim_result.h"

static json_t *with_tty(const char *command)
{
    return json_pack("{ss s{si si} s{ss}}", "command", command, "tty", "rows",
                     24, "columns", 80, "env", "TERM", "xterm");
}

static void test_tty(struct shim_client *shim, gconstpointer data)
{
    struct shim_result result = SHIM_RESULT;

    shim_expect_hello(shim);
    shim_start(shim, 1,
               with_tty("[ -t 0 ] && [ -t 1 ] && [ -t 2 ] && stty size && "
                        "trap 'stty size; exit 3' WINCH && echo ready && "
                        "while :; do sleep 0.05; done"));
    shim_read_until(shim, &result, "ready\r\n");
    shim_send(shim, json_pack("{ss si si si}", "type", WIRE_RESIZE, "id", 1,
                              "rows", 50, "columns", 132));
    shim_check_end(shim, &result, "24 80\r\nready\r\n50 132\r\n", 3);
    g_string_free(result.out, TRUE);
}

/* ^C reaches a whole pipeline, ^D is the end of input, and no signal of a
 * terminal ends the session's leader. */
static void test_tty_keys(struct shim_client *shim, gconstpointer data)
{
    struct shim_result result = SHIM_RESULT;

    shim_expect_hello(shim);
    shim_start(shim, 1, with_tty("stty -echo; echo ready; cat | cat; echo no"));
    shim_read_until(shim, &result, "ready\r\n");
    shim_send_input(shim, 1, "line\n", FALSE);
    shim_read_until(shim, &result, "line\r\n");
    shim_send_input(shim, 1, "\003", FALSE);
    shim_check_end(shim, &result, "ready\r\nline\r\n", 130);
    shim_start(shim, 2, with_tty("stty -echo; echo ready; cat; echo end"));
    shim_read_until(shim, &result, "ready\r\n");
    shim_send_input(shim, 2, "line\n", TRUE);
    shim_check_end(shim, &result, "ready\r\nline\r\nend\r\n", 0);
    shim_start(shim, 3, with_tty("stty -echo; echo ready; read x; echo no"));
    shim_read_until(shim, &result, "ready\r\n");
    shim_send_input(shim, 3, "\034", FALSE); /* ^\ */
    shim_check_end(shim, &result, "ready\r\n", 131);
    g_string_free(result.out, TRUE);
}

/* What is written just before the end is not lost when the terminal goes. */
static void test_tty_last_output(struct shim_client *shim, gconstpointer data)
{
    g_autoptr(GString) want = g_string_new(NULL);
    struct shim_result result = SHIM_RESULT;

    for (int i = 1; i <= 3000; i++)
        g_string_append_printf(want, "%d\r\n", i);
    shim_expect_hello(shim);
    for (int id = 1; id <= 20; id++) {
        shim_start(shim, id, with_tty("exec seq 3000"));
        shim_check_end(shim, &result, want->str, 0);
    }
    g_string_free(result.out, TRUE);
}

/* Job control: ^Z stops the foreground, fg continues it. */
static void test_tty_jobs(struct shim_client *shim, gconstpointer data)
{
    struct shim_result result = SHIM_RESULT;

    shim_expect_hello(shim);
    shim_start(shim, 1,
               json_pack("{s[sss] s{si si} s{ss}}", "argv", "bash", "--norc",
                         "--noediting", "tty", "rows", 24, "columns", 80, "env",
                         "PS1", "> "));
    shim_read_until(shim, &result, "> ");
    shim_send_input(shim, 1, "stty -echo\n", FALSE);
    shim_read_until(shim, &result, "stty -echo\r\n> ");
    shim_send_input(shim, 1, "cat\n", FALSE);
    shim_send_input(shim, 1, "one\n", FALSE);
    shim_read_until(shim, &result, "one\r\n");
    shim_send_input(shim, 1, "\032", FALSE); /* ^Z */
    shim_read_until(shim, &result, "cat\r\n> ");
    shim_send_input(shim, 1, "fg\n", FALSE);
    shim_read_until(shim, &result, "cat\r\n");
    shim_send_input(shim, 1, "two\n", FALSE);
    shim_read_until(shim, &result, "two\r\n");
    shim_send_input(shim, 1, "\004", FALSE);
    shim_read_until(shim, &result, "> ");
    shim_send_input(shim, 1, "exit 9\n", FALSE);
    shim_read_until(shim, &result, NULL);
    g_assert_cmpint(result.exit_code, ==, 9);
    g_string_free(result.out, TRUE);
}

/* A background process on the terminal neither delays the end nor lives on
 * unknown. */
static void test_tty_background(struct shim_client *shim, gconstpointer data)
{
    struct shim_result result = SHIM_RESULT;
    struct shim_outcome outcome;

    shim_expect_hello(shim);
    shim_start(shim, 1, with_tty("setsid -f sleep 3 & wait; echo x"));
    outcome = shim_finish(shim, 1);
    g_assert_cmpstr(outcome.out->str, ==, "x\r\n");
    g_assert_cmpint(outcome.processes, ==, 1);
    shim_outcome_clear(&outcome);
    shim_start(shim, 2, with_tty("yes & sleep 0.3; exit 4"));
    outcome = shim_finish(shim, 2);
    g_assert_cmpint(outcome.exit_code, ==, 4);
    shim_outcome_clear(&outcome);
    shim_start(shim, 3, with_tty("trap '' HUP TERM; echo ready; sleep 1000"));
    shim_read_until(shim, &result, "ready\r\n");
    shim_send_cancel(shim, 3);
    outcome = shim_finish(shim, 3);
    g_assert_cmpint(outcome.processes, ==, 0);
    g_assert_cmpint(outcome.exit_code, !=, 0);
    shim_outcome_clear(&outcome);
    g_string_free(result.out, TRUE);
}

static void test_signal(struct shim_client *shim, gconstpointer data)
{
    struct shim_result result = SHIM_RESULT;

    shim_expect_hello(shim);
    shim_start(shim, 1,
               json_pack("{ss}", "command",
                         "trap 'echo usr1; exit 5' USR1; echo ready; "
                         "while :; do :; done"));
    shim_read_until(shim, &result, "ready\n");
    shim_send(shim, json_pack("{ss si si}", "type", WIRE_SIGNAL, "id", 1,
                              "signal", SIGUSR1));
    shim_check_end(shim, &result, "ready\nusr1\n", 5);
    shim_start(shim, 2, with_tty("stty -echo; echo ready; exec sleep 1000"));
    shim_read_until(shim, &result, "ready\r\n");
    shim_send(shim, json_pack("{ss si si}", "type", WIRE_SIGNAL, "id", 2,
                              "signal", SIGINT));
    shim_check_end(shim, &result, "ready\r\n", 130);
    g_string_free(result.out, TRUE);
}

/* 100,000 lines at once, as a paste into an editor, all arrive. */
static void test_tty_paste(struct shim_client *shim, gconstpointer data)
{
    enum { LINES = 100000, AT_A_TIME = 1000 };
    json_int_t sent = 0;
    struct shim_result result = SHIM_RESULT;

    shim_expect_hello(shim);
    shim_start(shim, 1,
               with_tty("stty -echo; echo ready; head -n 100000 | sha256sum"));
    shim_read_until(shim, &result, "ready\r\n");
    g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA256);
    for (int line = 0; line < LINES; line += AT_A_TIME) {
        g_autoptr(GString) text = g_string_new(NULL);

        for (int i = 0; i < AT_A_TIME; i++)
            g_string_append_printf(text, "pasted line %d\n", line + i);
        g_checksum_update(sum, (guchar *)text->str, (gssize)text->len);
        while (sent + (json_int_t)text->len - result.taken > WIRE_INPUT_WINDOW)
            shim_take(&result, shim_receive(shim));
        shim_send_input(shim, 1, text->str, FALSE);
        sent += (json_int_t)text->len;
    }
    shim_read_until(shim, &result, NULL);
    g_assert_nonnull(strstr(result.out->str, g_checksum_get_string(sum)));
    g_string_free(result.out, TRUE);
}

static const struct shim_test tests[] = {
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
