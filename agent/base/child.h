/* SPDX-License-Identifier: Apache-2.0
 *
 * child - a process of ours that cannot outlive us.
 *
 * The child is in a session of its own, so that a terminal's Ctrl-C does not
 * reach it, and gets SIGKILL from the kernel when this process dies, however
 * it dies. Its stdin and stdout are /dev/null (our stdout carries a
 * protocol); its stderr is read here, line by line, and bounded.
 *
 * Threads: spawn from the main thread and run a GMainContext there: the
 * kernel's parent-death signal follows the thread that forked.
 */
#ifndef AGENT_BASE_CHILD_H
#define AGENT_BASE_CHILD_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>

struct child;

struct child_callbacks {
    /* A line of stderr, without its newline, as valid UTF-8. */
    void (*line)(struct child *child, const char *line, void *opaque);
    /* It has ended and was reaped, and its stderr is read. Called once, unless
     * the child is freed before; it may free the child. */
    void (*exited)(struct child *child, void *opaque);
};

/* Start argv[0], an absolute path. fds (n_fds of them) stay open in the child
 * under the same numbers; the caller still owns them. The environment is that
 * of host_environ.h, and the current folder is "/": QEMU looks for its firmware
 * in the current folder first, which may be one that a guest writes to. NULL
 * and error: ERROR_VM_LAUNCH_FAILED, with the system's reason. */
struct child *child_spawn(const char *const *argv, const int *fds, size_t n_fds,
                          const struct child_callbacks *callbacks, void *opaque,
                          GError **error);

/* Free it; if it still runs, it is killed with its whole process group and
 * reaped in the background. NULL is allowed. */
void child_free(struct child *child);

/* Nothing now, SIGTERM after wait_ms and SIGKILL grace_ms later: for a child
 * that is expected to end by itself. */
void child_expect_exit(struct child *child, unsigned wait_ms,
                       unsigned grace_ms);

void child_kill(struct child *child);

/* True if it has ended by itself with status 0. */
bool child_exited_cleanly(const struct child *child);

/* "exited with status 1", "was killed by signal 9 (Killed)". A new string. */
char *child_describe_exit(const struct child *child);

#endif
