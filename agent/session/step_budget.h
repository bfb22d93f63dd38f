/* SPDX-License-Identifier: Apache-2.0
 *
 * step_budget - how many steps an execution may make by itself.
 *
 * The log keeps a limited number of steps. A process in the guest that divides
 * its work into very many would have the log evict the user's older ones. So an
 * execution has a token bucket: each kept step takes a token, and a token is
 * added per STEP_BUDGET_REFILL_S. Without a token the open step stays open, and
 * further steps join it: nothing is lost or unguarded, only the division.
 */
#ifndef AGENT_SESSION_STEP_BUDGET_H
#define AGENT_SESSION_STEP_BUDGET_H

#include <glib.h>
#include <stdbool.h>

/* Half of the engine's default of max_step_count. */
enum { STEP_BUDGET_BURST = 50, STEP_BUDGET_REFILL_S = 10 };

struct step_budget {
    unsigned used;   /* tokens, at most STEP_BUDGET_BURST */
    gint64 refilled; /* monotonic, us: up to then tokens were added */
};

/* Return how many ms it takes until there is a token; 0: there is one. */
gint64 step_budget_wait_ms(struct step_budget *budget);

/* Take a token, if there is one. */
void step_budget_take(struct step_budget *budget);

#endif
