/* SPDX-License-Identifier: Apache-2.0
 *
 * shim-exec-test - executions side by side: arguments, users, standard input
 * and flow control.
 */
#include <glib.h>
#include <jansson.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim/wire.h"
#include "tests/shim/shim_result.h"

/* ---- several ------------------------------------------------------------ */

/* A second one runs while the first waits, and each has its own output. */
static void test_side_by_side(struct shim_client *shim, gconstpointer data)
{
    struct shim_result result = SHIM_RESULT;

    shim_expect_hello(shim);
    shim_start(shim, 1, json_pack("{ss sb}", "command", "cat", "stdin", 1));
    shim_check_run(shim, 2, "echo two", "two\n", "", 0);
    shim_send_input(shim, 1, "one\n", TRUE);
    shim_check_end(shim, &result, "one\n", 0);
    g_string_free(result.out, TRUE);
}

static void test_same_id(struct shim_client *shim, gconstpointer data)
{
    shim_expect_hello(shim);
    shim_start(shim, 1, json_pack("{ss sb}", "command", "cat", "stdin", 1));
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
        shim_start(shim, id, json_pack("{ss}", "command", "sleep 1000"));
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
    struct shim_result result = SHIM_RESULT;
    gint64 begin;

    shim_expect_hello(shim);
    shim_start(shim, 1,
               json_pack("{ss si}", "command", "yes", "window", 100000));
    while (result.out->len < 100000)
        shim_take(&result, shim_receive(shim));
    begin = g_get_monotonic_time();
    for (int id = 2; id < 12; id++)
        shim_check_run(shim, id, "echo two", "two\n", "", 0);
    g_assert_cmpint(g_get_monotonic_time() - begin, <, 10 * G_USEC_PER_SEC);
    shim_send_credit(shim, 1, 4000);
    while (result.out->len < 104000)
        shim_take(&result, shim_receive(shim));
    g_assert_cmpint(result.out->len, ==, 104000);
    shim_send_cancel(shim, 1);
    shim_send_credit(shim, 1, 1000000);
    shim_read_until(shim, &result, NULL);
    g_string_free(result.out, TRUE);
}

/* ---- arguments and users ------------------------------------------------ */

static void test_argv(struct shim_client *shim, gconstpointer data)
{
    struct shim_result result = SHIM_RESULT;

    shim_expect_hello(shim);
    shim_start(shim, 1,
               json_pack("{s[ssss]}", "argv", "printf", "%s|", "a b", "$HOME"));
    shim_check_end(shim, &result, "a b|$HOME|", 0);
    shim_start(
        shim, 2,
        json_pack("{s[s] s{ss}}", "argv", "env", "env", "PATH", "/nowhere"));
    shim_read_until(shim, &result, NULL);
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
    struct shim_result result = SHIM_RESULT;

    shim_expect_hello(shim);
    shim_start(shim, 1,
               json_pack("{s[ss] ss ss}", "argv", "bWtkaXI=", "ZP8=", "cwd",
                         here, "encoding", "base64"));
    shim_check_end(shim, &result, "", 0);
    shim_start(shim, 2,
               json_pack("{s[sss] ss s{ss} ss}", "argv",
                         "c2g=", "LWM=", "cHdkOyBlY2hvICIkWCI=", "cwd", there,
                         "env", "X", "/w==", "encoding", "base64"));
    while (!result.ended) {
        json_t *message = shim_receive(shim);

        if (g_str_equal(shim_text(message, "type"), WIRE_OUTPUT)) {
            gsize len;
            g_autofree guchar *bytes = g_base64_decode(
                shim_text(message, "data"), &len);

            g_string_append_len(result.out, (char *)bytes, (gssize)len);
            json_decref(message);
        } else {
            shim_take(&result, message);
        }
    }
    g_autofree char *want = g_strdup_printf("%s\n\xff\n", folder);
    g_assert_cmpstr(result.out->str, ==, want);
    g_string_free(result.out, TRUE);
}

static void test_users(struct shim_client *shim, gconstpointer data)
{
    struct shim_result result = SHIM_RESULT;

    if (geteuid() != 0) {
        g_test_skip("only root can become another user");
        return;
    }
    shim_expect_hello(shim);
    shim_start(shim, 1,
               json_pack("{ss ss ss}", "command",
                         "id -un; id -gn; id -G; echo $HOME $USER $LOGNAME",
                         "user", "daemon", "cwd", "/"));
    shim_check_end(shim, &result,
                   "daemon\ndaemon\n1\n/usr/sbin daemon daemon\n", 0);
    shim_start(shim, 2,
               json_pack("{ss ss ss}", "command", "id -u; id -g; echo $HOME",
                         "user", "4711:12", "cwd", "/"));
    shim_check_end(shim, &result, "4711\n12\n/\n", 0);
    shim_start(
        shim, 3,
        json_pack("{ss ss ss}", "command", "id", "user", "nosuch", "cwd", "/"));
    shim_check_end(shim, &result,
                   "stepback-shim: nosuch: no such user in the guest\n", 126);
    shim_start(shim, 4,
               json_pack("{ss ss ss}", "command", "id", "user", "daemon:nosuch",
                         "cwd", "/"));
    shim_check_end(shim, &result,
                   "stepback-shim: daemon:nosuch: no such group in the guest\n",
                   126);
    g_string_free(result.out, TRUE);
}

/* ---- standard input ----------------------------------------------------- */

/* The window holds what a command does not read yet; more than it is refused,
 * and what was taken is told to the byte. */
static void test_input_window(struct shim_client *shim, gconstpointer data)
{
    g_autofree char *window = g_strnfill(WIRE_INPUT_WINDOW, 'x');
    json_int_t before;
    struct shim_result result = SHIM_RESULT;

    shim_expect_hello(shim);
    shim_start(shim, 1,
               json_pack("{ss sb}", "command",
                         "while [ ! -e go ]; do sleep 0.01; done; wc -c",
                         "stdin", 1));
    shim_send_input(shim, 1, window, FALSE);
    /* The pipe took a part of it at most; then as much again is too much. */
    while (result.taken < WIRE_INPUT_WINDOW)
        shim_take(&result, shim_receive(shim));
    shim_send_input(shim, 1, window, FALSE);
    before = result.taken;
    shim_send_input(shim, 1, "x", FALSE);
    shim_expect_error(shim, "exceeds its window", 1);
    g_autofree char *go = g_build_filename(shim->folder, "go", NULL);
    g_assert_true(g_file_set_contents(go, "", 0, NULL));
    while (result.taken - before < WIRE_INPUT_WINDOW)
        shim_take(&result, shim_receive(shim));
    shim_send_input(shim, 1, "abc", TRUE);
    shim_read_until(shim, &result, NULL);
    g_assert_cmpint(atoi(result.out->str), ==, 2 * WIRE_INPUT_WINDOW + 3);
    g_string_free(result.out, TRUE);
}

/* All bytes pass through, by base64, and in order. */
static void test_input_bytes(struct shim_client *shim, gconstpointer data)
{
    guchar bytes[256];
    g_autofree char *base64 = NULL;
    struct shim_result result = SHIM_RESULT;

    for (int i = 0; i < 256; i++)
        bytes[i] = (guchar)i;
    base64 = g_base64_encode(bytes, sizeof(bytes));
    shim_expect_hello(shim);
    shim_start(shim, 1,
               json_pack("{ss sb}", "command", "sha256sum", "stdin", 1));
    shim_send(shim, json_pack("{ss si ss ss sb}", "type", WIRE_INPUT, "id", 1,
                              "encoding", "base64", "data", base64, "eof", 1));
    shim_read_until(shim, &result, NULL);
    g_autofree char *sum = g_compute_checksum_for_data(G_CHECKSUM_SHA256, bytes,
                                                       sizeof(bytes));
    g_assert_true(g_str_has_prefix(result.out->str, sum));
    g_string_free(result.out, TRUE);
}

/* A command that closes its input, or never reads it, hangs nothing. */
static void test_input_unread(struct shim_client *shim, gconstpointer data)
{
    g_autofree char *half = g_strnfill(WIRE_INPUT_WINDOW / 2, 'x');
    struct shim_result result = SHIM_RESULT;

    shim_expect_hello(shim);
    shim_start(shim, 1,
               json_pack("{ss sb}", "command",
                         "exec <&-; echo closed; sleep 0.2", "stdin", 1));
    shim_read_until(shim, &result, "closed\n");
    for (int i = 0; i < 8; i++) {
        json_int_t want = result.taken + WIRE_INPUT_WINDOW / 2;

        shim_send_input(shim, 1, half, FALSE);
        while (!result.ended && result.taken < want)
            shim_take(&result, shim_receive(shim));
    }
    shim_check_end(shim, &result, "closed\n", 0);
    shim_check_run(shim, 2, "echo two", "two\n", "", 0);
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
};

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    shim_add_tests(tests, G_N_ELEMENTS(tests));
    return g_test_run();
}
