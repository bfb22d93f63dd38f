/* SPDX-License-Identifier: Apache-2.0
 *
 * leader - a process between the shim and a command that stays to its end.
 *
 * A terminal needs it: when a session leader exits, the kernel hangs the
 * terminal up and discards output that the master has not read yet
 * (tty_vhangup_session() flushes the pty). So the command is not the leader,
 * but the leader's child in the foreground. And where there are no cgroups, the
 * leader is a subreaper, so that all processes of an execution descend from it.
 */
#ifndef SHIM_LEADER_H
#define SHIM_LEADER_H

#include <stdbool.h>
#include <sys/types.h>

/* The shim's ends of two pipes. */
struct leader {
    int report; /* does not block: the command's pid, its wait status, the end
                 */
    int hold;   /* closing it lets the leader go */
    pid_t command; /* 0: not reported yet */
};

/* The leader's ends. */
struct leader_ends {
    int report, hold;
};

/* 0 or -errno. */
int leader_open(struct leader *leader, struct leader_ends *ends);

/* In the first process of an execution: become its leader, and on a terminal
 * (>= 0) that of its session. Returns in a child, which is the
 * command-to-be; on a terminal that is its three streams. */
void leader_begin(const struct leader_ends *ends, int terminal);

/* The shim closes the leader's ends after the fork. */
void leader_close_ends(const struct leader_ends *ends);

/* Read what the leader reported. True: the command ended with that status. */
bool leader_read_status(struct leader *leader, int *ret_status);

/* Let the leader go. The kernel hangs up its terminal. */
void leader_release(struct leader *leader);

#endif
