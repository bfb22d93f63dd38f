/* SPDX-License-Identifier: Apache-2.0
 *
 * parking_rig - an engine whose changes can wait, and its decisions.
 */
#ifndef TESTS_PARKING_RIG_H
#define TESTS_PARKING_RIG_H

#include <pthread.h>

#include "interceptor/engine/engine.h"

struct parking_rig {
    struct world *world; /* for its folders; never started */
    struct ic *ic;
    struct ic_cred cred;
    struct ic_inode *file, *dir;
    int fd; /* of file */

    pthread_mutex_t lock; /* known to ThreadSanitizer, unlike GLib's */
    pthread_cond_t cond;
    char *id; /* of the last event.safeguard_triggered */
    unsigned released, denied;
};

/* For g_test_add(). */
void parking_rig_set_up(struct parking_rig *f, gconstpointer data);
void parking_rig_tear_down(struct parking_rig *f, gconstpointer data);

/* Open and close only the engine, over the world's folder. */
void parking_rig_start(struct parking_rig *f);
void parking_rig_stop(struct parking_rig *f);

/* Wait for a decision to be asked for. Return its id: a new string. */
char *parking_rig_wait_triggered(struct parking_rig *f);

/* Open a step whose first deletion is held; return the id of that decision. */
char *parking_rig_hold(struct parking_rig *f);

#endif
