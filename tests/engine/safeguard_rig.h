/* SPDX-License-Identifier: Apache-2.0
 *
 * safeguard_rig - shared by the tests of safeguards.
 *
 * A thread plays the command that destroys, the test plays the agent that
 * decides. A world has RIG_FILES files "dir/f<n>", "large" and "source" of
 * RIG_LARGE bytes, and "small".
 */
#ifndef TESTS_SAFEGUARD_RIG_H
#define TESTS_SAFEGUARD_RIG_H

#include "tests/lib/world.h"

enum {
    RIG_FILES = 8,
    RIG_LARGE = 300000,
    RIG_STILL_US = 20000, /* after this time a change counts as waiting */
};

/* Return a started world, or NULL: skipped. */
struct world *rig_start(const struct world_backend *backend);

/* Return "dir/f<i>", new. */
char *rig_file_name(int i);

/* ---- the command --------------------------------------------------------- */

struct rig_command {
    struct world *world;
    int (*run)(struct world *w);
    int result;
    GThread *thread;
};

/* Run it in a thread. It must not outlive the world's daemon, except for the
 * change in progress. */
void rig_command_start(struct rig_command *command, struct world *w,
                       int (*run)(struct world *w));

/* Wait for its end; returns what run() returned. */
int rig_command_end(struct rig_command *command);

/* ---- the agent ----------------------------------------------------------- */

/* Send safeguard.configure; rules are taken. */
void rig_configure(struct world *w, json_t *rules);

/* Wait for event.safeguard_triggered of this kind: its id, new, and (ret may be
 * NULL) its payload, new. */
char *rig_wait_triggered(struct world *w, const char *kind, json_t **ret);

/* Return the payload of an answer; send the answer, and expect its event. */
json_t *rig_answer_of(const char *id, const char *action);
void rig_confirm(struct world *w, const char *id, const char *action);

/* Close the denied step: nothing of it is left, and work goes on. */
void rig_close_denied(struct world *w, int64_t step, GPtrArray *before);

#endif
