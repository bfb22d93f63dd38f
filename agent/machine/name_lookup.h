/* SPDX-License-Identifier: Apache-2.0
 *
 * name_lookup - finds the addresses of names with the host's resolver.
 *
 * getaddrinfo(3) waits, so each call has a thread; at most NAME_LOOKUP_THREADS
 * at a time, and NAME_LOOKUP_WAITING more wait for one.
 *
 * Threads: all functions and callbacks on the main thread.
 */
#ifndef AGENT_MACHINE_NAME_LOOKUP_H
#define AGENT_MACHINE_NAME_LOOKUP_H

enum { NAME_LOOKUP_THREADS = 8, NAME_LOOKUP_WAITING = 1024 };

#include <stdbool.h>

struct name_lookup;

/* addresses: texts (borrowed, ended by NULL), in the resolver's order, and
 * canonical is the name that has them (borrowed; NULL: unknown), where the name
 * is an alias (CNAME) another one; or NULL, and problem is the reason. */
typedef void (*name_lookup_done)(char *const *addresses, const char *canonical,
                                 const char *problem, void *opaque);

struct name_lookup *name_lookup_new(void);

/* Free it; waiting callbacks are called now. NULL is allowed. */
void name_lookup_free(struct name_lookup *lookup);

/* Look up a host name. searches: also in the domains of the host's search list
 * (resolv.conf(5)), whose servers then see it. done is called later, from the
 * main loop. */
void name_lookup_start(struct name_lookup *lookup, const char *name,
                       bool searches, name_lookup_done done, void *opaque);

#endif
