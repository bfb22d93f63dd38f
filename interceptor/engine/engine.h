/* SPDX-License-Identifier: Apache-2.0
 *
 * engine - the engine's interface for the folders above it.
 */
#ifndef INTERCEPTOR_ENGINE_ENGINE_H
#define INTERCEPTOR_ENGINE_ENGINE_H

#include "interceptor/engine/core.h"
#include "interceptor/engine/durable.h"
#include "interceptor/engine/gate.h"
#include "interceptor/engine/grants.h"
#include "interceptor/engine/safeguard.h"
#include "interceptor/engine/stale.h"

#endif
