/* SPDX-License-Identifier: Apache-2.0
 *
 * shim-processes-test - the processes of a command.
 *
 * Cancel reaches all of them, and the command's end does not wait for those in
 * the background.
 */
#include <glib.h>
#include <jansson.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "shim/wire.h"
#include "tests/shim/shim_client.h"

static gboolean file_exists(struct shim_client *shim, const char *name)
{
    g_autofree char *path = g_build_filename(shim->folder, name, NULL);

    return g_file_test(path, G_FILE_TEST_EXISTS);
}

static void wait_for_file(struct shim_client *shim, const char *name)
{
    for (int i = 0; i < SHIM_TIMEOUT_MS / 10 && !file_exists(shim, name); i++)
        g_usleep(10000);
    g_assert_true(file_exists(shim, name));
}

static void make_file(struct shim_client *shim, const char *name)
{
    g_autofree char *path = g_build_filename(shim->folder, name, NULL);

    g_assert_true(g_file_set_contents(path, "", 0, NULL));
}

/* Return the pid that a command wrote to a file. */
static pid_t read_pid(struct shim_client *shim, const char *name)
{
    g_autofree char *path = g_build_filename(shim->folder, name, NULL);
    g_autofree char *text = NULL;

    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    return (pid_t)atoi(text);
}

static gboolean is_alive(pid_t pid)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/stat", pid);
    g_autofree char *text = NULL;

    return g_file_get_contents(path, &text, NULL, NULL) &&
           !strstr(text, ") Z ");
}

/* Cancel reaches processes that left the session, forked twice, ignore SIGTERM,
 * or are stopped; step_completed comes only when all are gone. */
static void test_cancel_tree(struct shim_client *shim, gconstpointer data)
{
    static const char command[] =
        "setsid sh -c 'echo $$ > a; exec sleep 1000' &\n"
        "(setsid sh -c '(trap \"\" TERM; sh -c \"echo \\$\\$ > b; "
        "exec sleep 1000\") &' &)\n"
        "sh -c 'echo $$ > c; kill -STOP $$' &\n"
        "env -i setsid sh -c 'echo $$ > d; exec sleep 1000' &\n"
        "while [ ! -s a ] || [ ! -s b ] || [ ! -s c ] || [ ! -s d ]; do "
        "sleep 0.01; done\n"
        "trap 'exit 5' TERM; touch ready; while :; do sleep 0.05; done";
    static const char *const names[] = { "a", "b", "c", "d" };
    pid_t pids[G_N_ELEMENTS(names)];
    struct shim_outcome outcome;
    gint64 start;

    shim_expect_hello(shim);
    shim_send_exec(shim, 1, command);
    shim_expect_started(shim, 1);
    wait_for_file(shim, "ready");
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        pids[i] = read_pid(shim, names[i]);
        g_assert_true(is_alive(pids[i]));
    }
    start = g_get_monotonic_time();
    shim_send_cancel(shim, 1);
    shim_send_cancel(shim, 1);
    outcome = shim_finish(shim, 1);
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
        g_assert_false(is_alive(pids[i]));
    g_assert_cmpint(outcome.exit_code, ==, 5);
    g_assert_cmpint(g_get_monotonic_time() - start, >=,
                    (WIRE_CANCEL_GRACE_MS - 100) * 1000);
    shim_outcome_clear(&outcome);
}

/* A fork bomb cannot outrun cancel. */
static void test_cancel_forks(struct shim_client *shim, gconstpointer data)
{
    struct shim_outcome outcome;

    shim_expect_hello(shim);
    shim_send_exec(shim, 1,
                   "trap '' TERM; touch ready\n"
                   "spin() { n=0; while [ $n -lt 100000 ]; do "
                   "(trap '' TERM; sleep 0.01); n=$((n + 1)); done; }\n"
                   "spin & spin & spin & setsid sh -c 'trap \"\" TERM; "
                   "while :; do (sleep 0.01) & wait; done' & wait");
    shim_expect_started(shim, 1);
    wait_for_file(shim, "ready");
    g_usleep(200000);
    shim_send_cancel(shim, 1);
    outcome = shim_finish(shim, 1);
    g_assert_cmpint(outcome.signal, ==, SIGKILL);
    shim_outcome_clear(&outcome);
    shim_check_run(shim, 2, "echo ok", "ok\n", "", 0);
}

/* A background process does not delay the end, survives although its output has
 * no reader, and is not cancelled with the next command. */
static void test_background(struct shim_client *shim, gconstpointer data)
{
    struct shim_outcome outcome;
    pid_t pid;

    shim_expect_hello(shim);
    shim_send_exec(
        shim, 1,
        "sh -c 'echo $$ > pid; while :; do echo tick; echo tock >&2; "
        "done' & while [ ! -s pid ]; do sleep 0.01; done; "
        "echo last > done; exit 3");
    shim_expect_started(shim, 1);
    outcome = shim_finish(shim, 1);
    g_assert_cmpint(outcome.exit_code, ==, 3);
    g_assert_cmpint(outcome.processes, ==, 1);
    shim_outcome_clear(&outcome);
    pid = read_pid(shim, "pid");
    g_usleep(200000);
    g_assert_true(is_alive(pid));
    shim_send_exec(shim, 2, "touch two; sleep 1000");
    shim_expect_started(shim, 2);
    wait_for_file(shim, "two");
    shim_send_cancel(shim, 2);
    outcome = shim_finish(shim, 2);
    g_assert_cmpint(outcome.signal, ==, SIGTERM);
    g_assert_cmpint(outcome.processes, ==, 0);
    g_assert_cmpstr(outcome.out->str, ==, "");
    shim_outcome_clear(&outcome);
    g_assert_true(is_alive(pid));
    kill(pid, SIGKILL);
    shim_check_run(shim, 3, "echo three", "three\n", "", 0);
}

/* All output before the end arrives, though the reader was slow and a
 * background process keeps the pipe open. */
static void test_drain(struct shim_client *shim, gconstpointer data)
{
    shim_expect_hello(shim);
    for (int id = 1; id <= 20; id++) {
        struct shim_outcome outcome;

        shim_send_exec(shim, id,
                       "sleep 5 & head -c 50000 /dev/zero | tr '\\0' x");
        shim_expect_started(shim, id);
        outcome = shim_finish(shim, id);
        g_assert_cmpint(outcome.out->len, ==, 50000);
        shim_outcome_clear(&outcome);
    }
}

static int count_zombies(pid_t parent)
{
    g_autofree char *command = g_strdup_printf(
        "ps -o stat= --ppid %d | grep -c Z", parent);
    g_autofree char *out = NULL;
    const char *const args[] = { "sh", "-c", command, NULL };

    g_assert_true(g_spawn_sync(NULL, (char **)args, NULL, G_SPAWN_SEARCH_PATH,
                               NULL, NULL, &out, NULL, NULL, NULL));
    return atoi(out);
}

static void test_zombies(struct shim_client *shim, gconstpointer data)
{
    shim_expect_hello(shim);
    shim_check_run(shim, 1,
                   "for i in 1 2 3 4 5 6 7 8 9; do (setsid sleep 0.2 &) ; done",
                   "", "", 0);
    g_usleep(500000);
    g_assert_cmpint(count_zombies(shim->pid), ==, 0);
}

/* When the host hangs up, the command ends too. */
static void test_hang_up(struct shim_client *shim, gconstpointer data)
{
    pid_t pid;

    shim_expect_hello(shim);
    shim_send_exec(shim, 1,
                   "trap '' TERM; echo $$ > pid; sleep 1000; sleep 1000");
    shim_expect_started(shim, 1);
    wait_for_file(shim, "pid");
    g_usleep(50000);
    pid = read_pid(shim, "pid");
    shim_end(shim);
    g_assert_false(is_alive(pid));
}

/* The same, cancelled while the host does not read. */
static void test_cancel_flood(struct shim_client *shim, gconstpointer data)
{
    struct shim_outcome outcome;

    shim_expect_hello(shim);
    shim_send_exec(shim, 1, "yes; echo never");
    shim_expect_started(shim, 1);
    g_usleep(300000);
    shim_send_cancel(shim, 1);
    g_usleep(300000);
    outcome = shim_finish(shim, 1);
    g_assert_cmpint(outcome.signal, ==, SIGTERM);
    shim_outcome_clear(&outcome);
    shim_check_run(shim, 2, "echo ok", "ok\n", "", 0);
}

/* Wait until the shim has filled all buffers between it and the test. */
static void wait_for_jam(struct shim_client *shim)
{
    int waiting = 0, before, still = 0;

    for (int i = 0; i < SHIM_TIMEOUT_MS / 10 && still < 30; i++) {
        before = waiting;
        g_assert_cmpint(ioctl(shim->fd, FIONREAD, &waiting), ==, 0);
        still = waiting > 50000 && waiting == before ? still + 1 : 0;
        g_usleep(10000);
    }
    g_assert_cmpint(still, ==, 30);
}

/* Cancelled when its first process has ended and its end is not reported yet:
 * no error, and the background processes end as well. */
static void test_cancel_late(struct shim_client *shim, gconstpointer data)
{
    struct shim_outcome outcome;
    pid_t first, background;

    shim_expect_hello(shim);
    shim_send_exec(shim, 1,
                   "yes & echo $! > background; echo $$ > first; touch ready\n"
                   "while [ ! -e go ]; do sleep 0.01; done; exit 3");
    shim_expect_started(shim, 1);
    wait_for_file(shim, "ready");
    first = read_pid(shim, "first");
    background = read_pid(shim, "background");
    wait_for_jam(shim);
    make_file(shim, "go");
    for (int i = 0; i < SHIM_TIMEOUT_MS / 10 && is_alive(first); i++)
        g_usleep(10000);
    g_usleep(50000);
    g_assert_true(is_alive(background));
    shim_send_cancel(shim, 1);
    outcome = shim_finish(shim, 1);
    g_assert_cmpint(outcome.exit_code, ==, 3);
    g_assert_false(is_alive(background));
    shim_outcome_clear(&outcome);
    shim_check_run(shim, 2, "echo ok", "ok\n", "", 0);
}

/* The command has ended and its output was read, but the port has no room for
 * step_completed: the cancel still reaches what is in the background. */
static void test_cancel_jammed(struct shim_client *shim, gconstpointer data)
{
    json_int_t left = -1;
    pid_t background;

    shim_expect_hello(shim);
    shim_send_exec(shim, 1, "yes");
    shim_expect_started(shim, 1);
    wait_for_jam(shim);
    shim_send_exec(shim, 2,
                   "sleep 1000 >/dev/null 2>&1 & echo $! > background; exit 3");
    wait_for_file(shim, "background");
    g_usleep(300000);
    background = read_pid(shim, "background");
    g_assert_true(is_alive(background));
    shim_send_cancel(shim, 2);
    shim_send_cancel(shim, 1);
    for (int ended = 0; ended < 2;) {
        json_t *message = shim_receive(shim);

        if (g_str_equal(shim_text(message, "type"), WIRE_STEP_COMPLETED)) {
            ended++;
            if (shim_number(message, "id") == 2)
                left = shim_number(message, "processes");
        }
        json_decref(message);
    }
    g_assert_cmpint(left, ==, 0);
    g_assert_false(is_alive(background));
}

/* The host had not read yet that the command had ended. */
static void test_cancel_after(struct shim_client *shim, gconstpointer data)
{
    shim_expect_hello(shim);
    shim_send_cancel(shim, 0);
    shim_expect_error(shim, "no such command", 0);
    shim_check_run(shim, 1, "echo one", "one\n", "", 0);
    shim_send_cancel(shim, 1);
    shim_check_run(shim, 2, "echo two", "two\n", "", 0);
    shim_send_cancel(shim, 1);
    shim_send_cancel(shim, 2);
    shim_check_run(shim, 3, "echo three", "three\n", "", 0);
}

/* Answer a request about steps. Return its "processes". */
static json_int_t answer_step(struct shim_client *shim, const char *op)
{
    json_t *request = shim_expect(shim, WIRE_STEP_REQUEST);
    json_int_t processes = shim_number(request, "processes");

    g_assert_cmpstr(shim_text(request, "op"), ==, op);
    shim_send(shim, json_pack("{ss sI si}", "type", WIRE_STEP_ANSWER, "request",
                              shim_number(request, "request"), "step_id", 1));
    json_decref(request);
    return processes;
}

/* A request about steps says whether the execution has processes besides the
 * one that asks and those that wait for it. */
static void test_others(struct shim_client *shim, gconstpointer data)
{
    shim_expect_hello(shim);
    shim_send_exec(shim, 1,
                   "PATH=\"${STEPBACK_STEP_SOCKET%/*}:$PATH\"; "
                   "sh -c 'step begin one; true'; true | sleep 0; "
                   "setsid sleep 1000 </dev/null >/dev/null 2>&1 & "
                   "step begin two; kill $!; wait; step end; exit 7");
    shim_expect_started(shim, 1);
    g_assert_cmpint(answer_step(shim, WIRE_STEP_BEGIN), ==, 0);
    g_assert_cmpint(answer_step(shim, WIRE_STEP_BEGIN), ==, 1);
    g_assert_cmpint(answer_step(shim, WIRE_STEP_END), ==, 0);
    json_decref(shim_expect(shim, WIRE_STEP_COMPLETED));
}

static const struct shim_test tests[] = {
    { "cancel-flood", test_cancel_flood },
    { "cancel-late", test_cancel_late },
    { "cancel-jammed", test_cancel_jammed },
    { "cancel-after", test_cancel_after },
    { "cancel-tree", test_cancel_tree },
    { "cancel-forks", test_cancel_forks },
    { "background", test_background },
    { "drain", test_drain },
    { "others", test_others },
    { "zombies", test_zombies },
    { "hang-up", test_hang_up },
};

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    shim_add_tests(tests, G_N_ELEMENTS(tests));
    return g_test_run();
}
