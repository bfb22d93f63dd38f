/* SPDX-License-Identifier: Apache-2.0
 *
 * step_budget - see step_budget.h.
 */
#include "agent/session/step_budget.h"

static const gint64 period = STEP_BUDGET_REFILL_S * G_USEC_PER_SEC;

static void refill(struct step_budget *budget)
{
    gint64 now = g_get_monotonic_time();
    gint64 due = (now - budget->refilled) / period;

    if (due >= budget->used) { /* full */
        budget->used = 0;
        budget->refilled = now;
    } else {
        budget->used -= (unsigned)due;
        budget->refilled += due * period;
    }
}

gint64 step_budget_wait_ms(struct step_budget *budget)
{
    refill(budget);
    if (budget->used < STEP_BUDGET_BURST)
        return 0;
    return (budget->refilled + period - g_get_monotonic_time()) / 1000 + 1;
}

void step_budget_take(struct step_budget *budget)
{
    refill(budget);
    if (budget->used < STEP_BUDGET_BURST)
        budget->used++;
}
