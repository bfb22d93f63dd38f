/* SPDX-License-Identifier: Apache-2.0
 *
 * lock_owners - maps the client's names of lock owners to numbers.
 *
 * Threads: any.
 */
#ifndef P9_SERVER_LOCK_OWNERS_H
#define P9_SERVER_LOCK_OWNERS_H

#include <glib.h>
#include <pthread.h>
#include <stdint.h>

#include "p9/wire/message.h"

struct p9_lock_owners {
    pthread_mutex_t lock;
    uint32_t conn;      /* number of the connection */
    GPtrArray *clients; /* char * */
};

void p9_lock_owners_init(struct p9_lock_owners *owners, uint32_t conn);
void p9_lock_owners_clear(struct p9_lock_owners *owners);

/* Forget all names; no fid may have locks. */
void p9_lock_owners_forget(struct p9_lock_owners *owners);

/* Return a number for the lock owner of this name. Return 0, -ENOLCK or
 * -EINVAL.
 */
int p9_lock_owners_find(struct p9_lock_owners *owners,
                        const struct p9_string *client, uint32_t process,
                        uint64_t *ret_owner);

#endif
