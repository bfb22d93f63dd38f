/* SPDX-License-Identifier: Apache-2.0
 *
 * leader - a process between the shim and a command that outlives the command.
 *
 * A terminal needs it: when a session leader exits, the kernel hangs up the
 * terminal and discards output that the master has not read yet
 * (tty_vhangup_session() flushes the pty). So the command is not the session
 * leader, but the leader's child in the foreground. Without cgroups the leader
 * also is a subreaper, so that all processes of an execution descend from it.
 */
#ifndef SHIM_LEADER_H
#define SHIM_LEADER_H

#include <stdbool.h>
#include <sys/types.h>

/* The shim's ends of two pipes. */
struct leader {
    int report; /* non-blocking: the command's pid, its wait status, end of file
                 */
    int hold;   /* closing it releases the leader */
    pid_t command; /* 0: not reported yet */
};

/* The leader's ends. */
struct leader_ends {
    int report, hold;
};

/* Return 0 or -errno. */
int leader_open(struct leader *leader, struct leader_ends *ends);

/* Called in the first process of an execution: become its leader, and with a
 * terminal (>= 0) the leader of its session. Returns in a child, which will
 * become the command; a terminal is its three streams. */
void leader_begin(const struct leader_ends *ends, int terminal);

/* Close the leader's ends in the shim after the fork. */
void leader_close_ends(const struct leader_ends *ends);

/* The command's pid; 0: the leader has not forked it yet. */
pid_t leader_command(struct leader *leader);

/* Read the leader's reports. Return true if the command ended with that
 * status. */
bool leader_read_status(struct leader *leader, int *ret_status);

/* Let the leader end. The kernel then hangs up its terminal. */
void leader_release(struct leader *leader);

#endif
