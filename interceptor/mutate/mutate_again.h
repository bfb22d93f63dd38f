/* SPDX-License-Identifier: Apache-2.0
 *
 * mutate_again - make a change again that found no room, or that had to wait.
 */
#ifndef INTERCEPTOR_MUTATE_MUTATE_AGAIN_H
#define INTERCEPTOR_MUTATE_MUTATE_AGAIN_H

#include "interceptor/engine/limits_step.h"
#include "interceptor/engine/parking.h"

/* Evaluate change, a call that makes a change from its start, again while
 * make_room (limits_step.h) says so. With nothing held. Its result is that of
 * change. */
#define MUTATE_WITH_ROOM(ic, make_room, change)                                \
    __extension__({                                                            \
        __typeof__(change) with_room_;                                         \
        do                                                                     \
            with_room_ = (change);                                             \
        while ((make_room)((ic), with_room_));                                 \
        with_room_;                                                            \
    })

/* The same for a change that a safeguard may stop when it has begun
 * (parking.h). */
#define MUTATE_UNPARKED(ic, change)                                            \
    __extension__({                                                            \
        uint64_t seq_;                                                         \
        int unparked_;                                                         \
        do {                                                                   \
            seq_ = parking_seq(&(ic)->parking);                                \
            unparked_ = (change);                                              \
        } while (parking_again(&(ic)->parking, seq_, &unparked_));             \
        unparked_;                                                             \
    })

#endif
