/* SPDX-License-Identifier: Apache-2.0
 *
 * log_damage - a log to be damaged, and forged records for it.
 */
#ifndef TESTS_LOG_DAMAGE_H
#define TESTS_LOG_DAMAGE_H

#include "tests/lib/world.h"

struct damaged {
    struct world *w;
    char *canary, *step;     /* directories; of the newest step */
    GPtrArray *canary_state; /* must not change */
    GPtrArray *before[3];    /* before each step */
};

/* Each replaces the record of the newest step by one with valid lines whose
 * content must not be followed. */
void forged_names(const struct damaged *d);
void forged_cycle(const struct damaged *d);
void forged_types(const struct damaged *d);
void forged_numbers(const struct damaged *d);
void forged_identity(const struct damaged *d);
void forged_fifo(const struct damaged *d);

#endif
