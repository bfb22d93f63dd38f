/* SPDX-License-Identifier: Apache-2.0
 *
 * configure - what is set while the folder is served, and a log of another
 * version.
 */
#ifndef INTERCEPTOR_ENGINE_CONFIGURE_H
#define INTERCEPTOR_ENGINE_CONFIGURE_H

#include "interceptor/engine/core.h"

/* closed_log is fine: from now on there is undo. With the gate write-locked,
 * or before anybody else is there. */
void configure_use_log(struct ic *ic);

/* closed_log is of another version: tell so. */
void configure_tell_version(struct ic *ic);

#endif
