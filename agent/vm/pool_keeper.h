/* SPDX-License-Identifier: Apache-2.0
 *
 * pool_keeper - keep machines of one shape ready, for the process "stepback
 * pool".
 *
 * The keeper owns waiting machines by their links (pool_link.h), and nothing
 * else of them: their holders are no children of it. It restores one machine at
 * a time, throws machines away that are too old, that have another key than a
 * machine would have now, or whose memory the host needs, and makes the
 * template if there is none.
 *
 * Threads: all on the main thread.
 */
#ifndef AGENT_VM_POOL_KEEPER_H
#define AGENT_VM_POOL_KEEPER_H

#include "agent/machine/session_config.h"

struct pool_keeper;

struct pool_plan {
    const struct session_config *config; /* what decides the shape; no folders.
                                            Borrowed */
    unsigned size;                       /* machines that wait */
    unsigned max_age_s;
};

/* Start to fill the pool. plan is copied. */
struct pool_keeper *pool_keeper_new(const struct pool_plan *plan);

/* End the pool and its waiting machines. NULL is allowed. */
void pool_keeper_free(struct pool_keeper *keeper);

/* Take a machine with this key out of the pool: the link, owned by the caller.
 * If none waits, return -1 and the reason (static). */
int pool_keeper_take(struct pool_keeper *keeper, const char *key,
                     const char **ret_reason);

/* A machine that was taken has failed, for this reason: discard the others, and
 * restore none for a while. */
void pool_keeper_distrust(struct pool_keeper *keeper, const char *reason);

/* A machine of the pool; pids are 0 until it waits. */
struct pool_entry {
    bool waits;  /* or it is being restored */
    gint64 born; /* monotonic, us */
    pid_t holder, qemu;
};

struct pool_counts {
    unsigned size, entries;
    guint64 taken, discarded;
    const char *waits_for; /* why no machine is being restored, or NULL */
    const char *problem;   /* of the last restore, or NULL */
};

/* Count the pool's machines, and get one of them. Strings are borrowed until
 * the next call. */
void pool_keeper_count(const struct pool_keeper *keeper,
                       struct pool_counts *ret_counts);
void pool_keeper_get(const struct pool_keeper *keeper, unsigned index,
                     struct pool_entry *ret_entry);

#endif
