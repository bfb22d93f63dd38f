/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_copy_worker - "stepback copy-worker": the host's side of a copy of an MCP
 * client. The supervisor starts it, because it parses the guest's stream.
 *
 *     stepback copy-worker in|out STREAM_FD DIR_FD NAME GUEST_PATH
 *
 * DIR_FD is the directory of NAME, which the supervisor has opened beneath the
 * folder that the user allowed; "." is the directory itself. Writes one line of
 * copy_worker.h to standard error.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/base/copy_worker.h"
#include "agent/cli/cli.h"
#include "agent/cli/cli_copy.h"
#include "common/errors.h"

static bool parse_fd(const char *text, int *ret_fd)
{
    guint64 number;

    if (!g_ascii_string_to_unsigned(text, 10, 3, G_MAXINT, &number, NULL))
        return false;
    *ret_fd = (int)number;
    return true;
}

static int copy(struct copy_plan *plan, int fd)
{
    g_autoptr(GError) error = NULL;
    struct copy_result result;
    bool stream;

    if (fchdir(plan->dir_fd) == 0 && cli_copy_run(plan, fd, &result, &error)) {
        fprintf(stderr, COPY_WORKER_DONE "%ju %ju\n", (uintmax_t)result.entries,
                (uintmax_t)result.skipped);
        return CLI_OK;
    }
    stream = error && error_code_of(error) == ERROR_CANCELLED;
    fprintf(stderr, "%s%s\n", stream ? COPY_WORKER_STREAM : COPY_WORKER_FAILED,
            error ? error->message : g_strerror(errno));
    return CLI_FAILED;
}

int cli_copy_worker(int argc, char **argv)
{
    struct copy_plan plan = { 0 };
    int fd;

    if (argc != 6 || !parse_fd(argv[2], &fd) ||
        !parse_fd(argv[3], &plan.dir_fd) || strchr(argv[4], '/')) {
        fprintf(stderr, "copy-worker: only the supervisor uses it\n");
        return CLI_USAGE;
    }
    signal(SIGPIPE, SIG_IGN);
    plan.in = strcmp(argv[1], "in") == 0;
    plan.host_path = argv[4];
    plan.guest_path = argv[5];
    return copy(&plan, fd);
}
