/* SPDX-License-Identifier: Apache-2.0
 *
 * child_log - forward the stderr of child processes to our log.
 *
 * The daemons write the same JSON Lines as this process (doc/design.md, 5.4);
 * QEMU writes plain text.
 */
#ifndef AGENT_BASE_CHILD_LOG_H
#define AGENT_BASE_CHILD_LOG_H

/* Log a line of the program "name". A plain line is logged as a warning of this
 * component. If the line reports an error (plain lines do), its text replaces
 * *last_error. name and component are static; last_error may be NULL. */
void child_log_line(const char *name, const char *component, const char *line,
                    char **last_error);

#endif
