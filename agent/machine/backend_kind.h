/* SPDX-License-Identifier: Apache-2.0
 *
 * backend_kind - the file system protocol between guest and host.
 */
#ifndef AGENT_MACHINE_BACKEND_KIND_H
#define AGENT_MACHINE_BACKEND_KIND_H

#include <stdbool.h>

enum backend_kind { BACKEND_VIRTIOFS, BACKEND_9P };

/* Parse "virtiofs" or "9p". Return false for anything else. */
bool backend_kind_parse(const char *name, enum backend_kind *ret_kind);
const char *backend_kind_name(enum backend_kind kind);

/* Return the name of the daemon that serves this protocol. */
const char *backend_kind_program(enum backend_kind kind);

#endif
