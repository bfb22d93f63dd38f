/* SPDX-License-Identifier: Apache-2.0
 *
 * restoring - see restoring.h.
 */
#include "interceptor/engine/restoring.h"

static _Thread_local bool thread_restores;

bool restoring_set(bool restoring)
{
    bool before = thread_restores;

    thread_restores = restoring;
    return before;
}

bool restoring_is_set(void)
{
    return thread_restores;
}
