/* SPDX-License-Identifier: Apache-2.0
 *
 * term_guard - put the terminal into raw mode, and restore it in any case.
 *
 * A program in the guest has taken over the terminal: it may have switched to
 * the alternate screen, hidden the cursor, or asked for mouse events. If this
 * process ends without term_guard_end(), even by SIGKILL, a child process
 * restores the settings and undoes these modes.
 *
 * Threads: all on the main thread.
 */
#ifndef AGENT_CLI_TERM_GUARD_H
#define AGENT_CLI_TERM_GUARD_H

#include <stdbool.h>

struct term_guard;

/* Put this terminal (a standard stream) into raw mode. On failure return NULL,
 * errno is set. */
struct term_guard *term_guard_begin(int fd);

/* Restore the terminal. orderly: the program in the guest has ended by itself
 * and left the terminal's modes as it found them. NULL is allowed. */
void term_guard_end(struct term_guard *guard, bool orderly);

/* Get the terminal's size; false: it has none. */
bool term_guard_size(int fd, unsigned *ret_rows, unsigned *ret_columns);

#endif
