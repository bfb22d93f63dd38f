/* SPDX-License-Identifier: Apache-2.0
 *
 * child_log - what our child processes write to stderr, passed on to our log.
 *
 * The daemons write the same JSON Lines as we do (doc/design.md, 5.4);
 * QEMU writes plain text.
 */
#ifndef AGENT_BASE_CHILD_LOG_H
#define AGENT_BASE_CHILD_LOG_H

/* Log a line of the program called name; a plain one gets this component and
 * is a warning. If it tells an error (plain lines do), *last_error is replaced
 * by its text. Static strings; last_error may be NULL. */
void child_log_line(const char *name, const char *component, const char *line,
                    char **last_error);

#endif
