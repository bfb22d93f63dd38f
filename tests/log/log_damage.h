/* SPDX-License-Identifier: Apache-2.0
 *
 * log_damage - a log that is to be damaged, and forged records for it.
 */
#ifndef TESTS_LOG_DAMAGE_H
#define TESTS_LOG_DAMAGE_H

#include "tests/lib/world.h"

struct damaged {
    struct world *w;
    char *canary, *step;     /* folders; of the newest step */
    GPtrArray *canary_state; /* what must stay */
    GPtrArray *before[3];    /* before each step */
};

/* Each replaces the record of the newest step by one whose lines are whole, and
 * say what must not be followed. */
void forged_names(const struct damaged *d);
void forged_circle(const struct damaged *d);
void forged_types(const struct damaged *d);
void forged_numbers(const struct damaged *d);
void forged_identity(const struct damaged *d);
void forged_fifo(const struct damaged *d);

#endif
