/* SPDX-License-Identifier: Apache-2.0
 *
 * ids - the subordinate ids of an ordinary user, in two user namespaces.
 *
 *     host      uid, 100000 ... 165535
 *     outer     the same numbers, and no other
 *     inner     uid, and all other numbers from 0 on for the subordinate ids
 *
 * The folders are mounted in the outer one: their file server gets the host's
 * numbers, and an id of the sandbox never stands for the host's id of the same
 * number. Only newuidmap(1) and newgidmap(1), which are root's, may map
 * subordinate ids; they check /etc/subuid and /etc/subgid themselves.
 *
 * Root's sandbox has two, too, with the same numbers in both: the limits of the
 * outer one hold for all ids of the inner one together (limits.h).
 */
#ifndef LOCAL_IDS_H
#define LOCAL_IDS_H

#include <stdbool.h>
#include <sys/types.h>

#include "local/wire.h"

struct id_range {
    unsigned start, count; /* on the host */
};

struct id_ranges {
    struct id_range ranges[LOCAL_MAX_RANGES];
    unsigned length; /* 0: the own id alone */
};

struct ids {
    struct id_ranges users, groups;
    const char *newuidmap, *newgidmap; /* programs */
};

/* Read "START:COUNT[,START:COUNT...]". */
bool ids_parse(const char *text, struct id_ranges *ret_ranges);

/* Return whether there are subordinate ids, and whether the struct is
 * complete. */
bool ids_are_given(const struct ids *ids);
bool ids_are_complete(const struct ids *ids);

/* Return those that root's sandbox has, within the outer namespace: all. */
const struct ids *ids_of_root(void);

/* Run the programs on a process (to be called outside of its namespace).
 * Return 0, or 1 if the first has failed, 2 for the second. */
int ids_map_outer(const struct ids *ids, pid_t target);

/* Make the inner namespace, in which no process can make another user
 * namespace. Called in the outer one. Return its fd, which bubblewrap inherits.
 * Exit on failure. */
int ids_make_inner(const struct ids *ids);

#endif
