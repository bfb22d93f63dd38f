/* SPDX-License-Identifier: Apache-2.0
 *
 * secret_source - reads a secret's value from where it comes.
 */
#ifndef AGENT_MACHINE_SECRET_SOURCE_H
#define AGENT_MACHINE_SECRET_SOURCE_H

#include <glib.h>
#include <stddef.h>

/* Read the value of a source (secret.h) into room, with a NUL, without line
 * ends at its end. Return NULL, or the problem: a new string without any part
 * of the value. A value that does not fit is cut; room has more than one may
 * have. At end (monotonic, us) a command is killed, with its process group. */
char *secret_source_read(const char *source, char *room, size_t size,
                         gint64 end);

#endif
