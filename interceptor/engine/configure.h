/* SPDX-License-Identifier: Apache-2.0
 *
 * configure - settings that change while the folder is served, and a log of
 * another version.
 */
#ifndef INTERCEPTOR_ENGINE_CONFIGURE_H
#define INTERCEPTOR_ENGINE_CONFIGURE_H

#include "interceptor/engine/core.h"

/* closed_log has the right version: from now on there is undo. With the gate
 * write-locked, or before other threads run. */
void configure_use_log(struct ic *ic);

/* Report that closed_log has another version. */
void configure_tell_version(struct ic *ic);

#endif
