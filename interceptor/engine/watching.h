/* SPDX-License-Identifier: Apache-2.0
 *
 * watching - the engine as the host of a watch (watch.h).
 */
#ifndef INTERCEPTOR_ENGINE_WATCHING_H
#define INTERCEPTOR_ENGINE_WATCHING_H

#include "interceptor/engine/core.h"
#include "interceptor/watch/watch.h"

/* For watch_new(): the watch must end before the engine does. */
struct watch_host watching_host(struct ic *ic);

#endif
