/* SPDX-License-Identifier: Apache-2.0
 *
 * guest_steps - steps, undo and redo, requested on a guest's control
 * connection. Each asserts success.
 */
#ifndef TESTS_GUEST_STEPS_H
#define TESTS_GUEST_STEPS_H

#include "tests/virtiofs/parked_guest.h"

/* Assert the result of a FUSE request. */
#define OK(call)    g_assert_cmpint((call), ==, 0)
#define STALE(call) g_assert_cmpint((call), ==, -ESTALE)

void guest_step_open(struct guest *g, int64_t id);
void guest_step_close(struct guest *g, int64_t id);
void guest_undo(struct guest *g);
void guest_redo(struct guest *g);

#endif
