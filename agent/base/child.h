/* SPDX-License-Identifier: Apache-2.0
 *
 * child - a child process that cannot outlive this process.
 *
 * The child runs in its own session, so that a terminal's Ctrl-C does not reach
 * it, and the kernel sends it SIGKILL when this process dies for any reason.
 * Its stdin and stdout are /dev/null (our stdout carries a protocol); its
 * stderr is read here line by line, with a length limit.
 *
 * Threads: spawn from the main thread, which runs the GMainContext: the
 * kernel's parent-death signal follows the thread that forked.
 */
#ifndef AGENT_BASE_CHILD_H
#define AGENT_BASE_CHILD_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>

struct child;

struct child_callbacks {
    /* One line of stderr, without its newline, as valid UTF-8. */
    void (*line)(struct child *child, const char *line, void *opaque);
    /* The child has ended and was reaped, and all its stderr was read. Called
     * once, unless the child is freed first; the callback may free the
     * child. */
    void (*exited)(struct child *child, void *opaque);
};

/* Start argv[0], an absolute path. The n_fds fds stay open in the child under
 * the same numbers; the caller keeps ownership. The environment is that of
 * host_environ.h. The working directory is "/", because QEMU looks for firmware
 * in its working directory first, and a guest may be able to write to ours. On
 * failure return NULL with ERROR_VM_LAUNCH_FAILED and the errno's text; it
 * fails, too, after an upgrade of this program, which the other programs have
 * had. */
struct child *child_spawn(const char *const *argv, const int *fds, size_t n_fds,
                          const struct child_callbacks *callbacks, void *opaque,
                          GError **error);

/* Free the child. A running child is killed with its process group and reaped
 * in the background. NULL is allowed. */
void child_free(struct child *child);

/* Expect the child to end by itself: send SIGTERM after wait_ms and SIGKILL
 * grace_ms later. */
void child_expect_exit(struct child *child, unsigned wait_ms,
                       unsigned grace_ms);

void child_kill(struct child *child);

/* Return the child's pid, or 0 if it has ended. */
GPid child_pid(const struct child *child);

/* Return true if the child ended by itself with status 0. */
bool child_exited_cleanly(const struct child *child);

/* Describe the exit: "exited with status 1", "was killed by signal 9 (Killed)".
 * Returns a new string. */
char *child_describe_exit(const struct child *child);

#endif
