/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_interrupts - signals of a command that runs a guest's command.
 *
 * The handler only counts and wakes the main loop. A slow reader of the output
 * blocks the main loop, but not a signal.
 */
#ifndef AGENT_CLI_CLI_INTERRUPTS_H
#define AGENT_CLI_CLI_INTERRUPTS_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>

/* Catch SIGINT, SIGTERM and SIGHUP, unless the parent ignores them, and call
 * woken from the main loop for each or several of them. On failure return false
 * and set errno. */
bool cli_interrupts_catch(void (*woken)(void *opaque), void *opaque);

/* Return the number of signals so far. */
int cli_interrupts_count(void);

/* Write all data, however slow the reader is, while the number of signals is
 * this. Return false if the reader has ended. */
bool cli_interrupts_write(int seen, int fd, const char *data, size_t len);

#endif
