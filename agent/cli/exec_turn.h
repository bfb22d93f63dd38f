/* SPDX-License-Identifier: Apache-2.0
 *
 * exec_turn - an execution that waits for its turn, while another one runs with
 * a step.
 *
 * Threads: all on the main thread.
 */
#ifndef AGENT_CLI_EXEC_TURN_H
#define AGENT_CLI_EXEC_TURN_H

#include <glib.h>
#include <stdbool.h>

#include "agent/client/control_link.h"

struct exec_turn;

/* link: borrowed; free it first. raw: the terminal is in raw mode. */
struct exec_turn *exec_turn_new(struct control_link *link, gint64 id, bool raw);
/* NULL is allowed. */
void exec_turn_free(struct exec_turn *turn);

/* If the execution still waits after half a second, print for which one. */
void exec_turn_watch(struct exec_turn *turn);

/* Print nothing more. */
void exec_turn_stop(struct exec_turn *turn);

/* ^C was typed before any output. An execution that waits has no terminal yet
 * that would send a signal: send it. */
void exec_turn_interrupt(struct exec_turn *turn);

#endif
