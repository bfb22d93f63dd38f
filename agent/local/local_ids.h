/* SPDX-License-Identifier: Apache-2.0
 *
 * local_ids - the subordinate ids of the user, for the other users of a local
 * sandbox (subuid(5), local/ids.h).
 *
 * Without ranges, or without the programs that map them, the sandbox has the
 * user's own id alone. That a program fails is not found out here, and is an
 * error of the start.
 */
#ifndef AGENT_LOCAL_LOCAL_IDS_H
#define AGENT_LOCAL_LOCAL_IDS_H

#include <glib.h>
#include <stdbool.h>

struct local_ids {
    /* "START:COUNT[,START:COUNT...]" on the host; NULL: the own id alone. */
    char *users, *groups;
    char *newuidmap, *newgidmap; /* programs; NULL: not found */
    guint64 count;               /* users that the sandbox has */
    char *missing;               /* why there is one; NULL for root, too */
    char *remedy;
};

void local_ids_find(struct local_ids *ret_ids);
void local_ids_clear(struct local_ids *ids);

/* Append the options of stepback-local (new strings). */
void local_ids_add_options(const struct local_ids *ids, GPtrArray *argv);

/* The remedy if newuidmap or newgidmap has failed. Static. */
const char *local_ids_failure_remedy(void);

#endif
