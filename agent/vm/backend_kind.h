/* SPDX-License-Identifier: Apache-2.0
 *
 * backend_kind - by which protocol the guest reaches its folders.
 */
#ifndef AGENT_VM_BACKEND_KIND_H
#define AGENT_VM_BACKEND_KIND_H

#include <stdbool.h>

enum backend_kind { BACKEND_VIRTIOFS, BACKEND_9P };

/* "virtiofs", "9p". False: neither. */
bool backend_kind_parse(const char *name, enum backend_kind *ret_kind);
const char *backend_kind_name(enum backend_kind kind);

/* The program that serves it. */
const char *backend_kind_program(enum backend_kind kind);

#endif
