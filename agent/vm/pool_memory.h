/* SPDX-License-Identifier: Apache-2.0
 *
 * pool_memory - the host's memory, for the pool.
 *
 * STEPBACK_TEST_PROC: a folder in place of /proc, for tests.
 */
#ifndef AGENT_VM_POOL_MEMORY_H
#define AGENT_VM_POOL_MEMORY_H

#include <glib.h>
#include <sys/types.h>

/* Return why the host has too little memory for machines that wait, or for one
 * more that takes this many MiB: a static text; NULL: it has enough. */
const char *pool_memory_problem(unsigned more_mb);

/* Return the memory of a process in bytes, with its share of pages that several
 * processes map (PSS); 0 if it is unknown. */
guint64 pool_memory_of(pid_t pid);

#endif
