/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_stop - "stepback stop" and "stepback kill".
 *
 * The supervisor ends in order on SIGTERM, and at once on a second one. It then
 * writes how the sandbox ended. Only a supervisor that does not react is
 * killed; its machine and its file servers die with it, and the end is written
 * here.
 */
#include "agent/cli/cli_stop.h"

#include <glib.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/cli/cli.h"
#include "agent/cli/cli_options.h"
#include "agent/cli/cli_sandbox.h"
#include "agent/sandbox/sandbox_file.h"
#include "agent/sandbox/sandbox_process.h"
#include "agent/sandbox/sandbox_store.h"
#include "common/errors.h"
#include "common/fd.h"

enum {
    TIMEOUT_S = 30,
    TIMEOUT_MAX_S = 24 * 3600,
    KILL_TIMEOUT_S = 5,
    UNLOCK_TIMEOUT_S = 10,
    POLL_MS = 10,
};

/* Wait until the process has ended. */
static bool wait_process(int pidfd, gint64 timeout_s)
{
    gint64 end = g_get_monotonic_time() + timeout_s * G_USEC_PER_SEC;
    struct pollfd p = { .fd = pidfd, .events = POLLIN };

    for (;;) {
        gint64 left = (end - g_get_monotonic_time()) / 1000;

        if (poll(&p, 1, (int)CLAMP(left, 0, G_MAXINT)) > 0)
            return true;
        if (left <= 0)
            return false;
    }
}

static bool wait_unlocked(const struct sandbox_record *record)
{
    gint64 end = g_get_monotonic_time() +
                 (gint64)UNLOCK_TIMEOUT_S * G_USEC_PER_SEC;

    while (sandbox_store_is_locked(record->dir_fd)) {
        if (g_get_monotonic_time() > end)
            return false;
        g_usleep(POLL_MS * 1000);
    }
    return true;
}

static void send_signal(int pidfd, int number)
{
    syscall(SYS_pidfd_send_signal, pidfd, number, NULL, 0);
}

/* Write the end of a sandbox whose supervisor was killed. */
static void write_end(const struct sandbox_record *record)
{
    fd_auto int lock = sandbox_store_lock(record->dir_fd, NULL);

    if (lock >= 0)
        sandbox_file_write(record->dir_fd, SANDBOX_END,
                           sandbox_end_new("killed", "the supervisor did not "
                                                     "end and was killed"),
                           NULL);
}

/* Return the supervisor, which writes run.json soon after its start. */
static int open_supervisor(const struct sandbox_record *record)
{
    gint64 end = g_get_monotonic_time() +
                 (gint64)UNLOCK_TIMEOUT_S * G_USEC_PER_SEC;

    while (sandbox_store_is_locked(record->dir_fd) &&
           g_get_monotonic_time() < end) {
        json_t *run = sandbox_file_read(record->dir_fd, SANDBOX_RUN, NULL);
        int pidfd = sandbox_process_open(run);

        json_decref(run);
        if (pidfd >= 0)
            return pidfd;
        g_usleep(POLL_MS * 1000);
    }
    return -1;
}

gboolean cli_stop_sandbox(const struct sandbox_record *record,
                          enum cli_stop_how how, gint64 timeout_s,
                          GError **error)
{
    fd_auto int pidfd = open_supervisor(record);
    bool ended = pidfd < 0;

    /* A second SIGTERM would not wait for the machine. */
    if (!ended &&
        (how != CLI_STOP_IN_ORDER || record->status != SANDBOX_STOPPING))
        send_signal(pidfd, SIGTERM);
    if (!ended && how == CLI_STOP_IN_ORDER)
        ended = wait_process(pidfd, timeout_s);
    if (!ended) {
        /* Another signal than the first, which may still be pending. */
        send_signal(pidfd, SIGINT);
        ended = wait_process(pidfd, KILL_TIMEOUT_S);
    }
    if (!ended) {
        send_signal(pidfd, SIGKILL);
        wait_process(pidfd, KILL_TIMEOUT_S);
        write_end(record);
    }
    if (wait_unlocked(record))
        return TRUE;
    g_set_error(error, STEPBACK_ERROR, ERROR_TIMEOUT,
                "sandbox %s: does not end; another process holds %s",
                record->name, "its lock");
    return FALSE;
}

/* ---- the commands -------------------------------------------------------- */

/* Find the sandboxes of the arguments, or with all those that run. */
static GPtrArray *find(char **words, bool all)
{
    if (!all)
        return cli_sandbox_find_all(words, *words ? CLI_SANDBOX_ANY
                                                  : CLI_SANDBOX_LIVE);
    return cli_sandbox_load_live();
}

static int end_all(const GPtrArray *records, enum cli_stop_how how,
                   gint64 timeout_s)
{
    int status = CLI_OK;

    for (guint i = 0; i < records->len; i++) {
        const struct sandbox_record *record = records->pdata[i];
        g_autoptr(GError) error = NULL;

        if (!sandbox_record_is_live(record))
            fprintf(stderr, CLI_PROGRAM ": sandbox %s: not running (%s)\n",
                    record->name, sandbox_status_name(record->status));
        else if (!cli_stop_sandbox(record, how, timeout_s, &error))
            status = cli_options_failed("%s", error->message);
        else
            printf("%s\n", record->name);
    }
    return status;
}

static int end_verb(int argc, char **argv, enum cli_stop_how how,
                    const char *summary)
{
    gint64 timeout = TIMEOUT_S;
    gboolean all = FALSE;
    const GOptionEntry entries[] = {
        { "all", 'a', 0, G_OPTION_ARG_NONE, &all, "all that run", NULL },
        { how == CLI_STOP_IN_ORDER ? "timeout" : NULL, 0, 0, G_OPTION_ARG_INT64,
          &timeout, "kill what has not ended after S seconds (default: 30)",
          "S" },
        { NULL },
    };
    g_autofree char *verb = g_strdup(argv[0]);
    g_autoptr(GPtrArray) records = NULL;

    if (!cli_options_parse(summary, entries, false, &argc, &argv))
        return CLI_USAGE;
    if (timeout < 0 || timeout > TIMEOUT_MAX_S)
        return cli_options_wrong("%s: --timeout must be a number of seconds, "
                                 "at most %d",
                                 verb, TIMEOUT_MAX_S);
    if (all && argc > 1)
        return cli_options_wrong("%s: --all and names exclude each other",
                                 verb);
    records = find(argv + 1, all);
    return records ? end_all(records, how, timeout) : CLI_FAILED;
}

int cli_stop(int argc, char **argv)
{
    return end_verb(argc, argv, CLI_STOP_IN_ORDER,
                    "[NAME...] - end sandboxes in order");
}

int cli_kill(int argc, char **argv)
{
    return end_verb(argc, argv, CLI_STOP_AT_ONCE,
                    "[NAME...] - end sandboxes at once");
}
