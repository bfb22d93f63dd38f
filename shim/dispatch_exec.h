/* SPDX-License-Identifier: Apache-2.0
 *
 * dispatch_exec - handle the host's messages about executions.
 */
#ifndef SHIM_DISPATCH_EXEC_H
#define SHIM_DISPATCH_EXEC_H

#include "shim/dispatch_base.h"

void dispatch_exec(struct dispatch *dispatch,
                   const struct dispatch_message *message);
void dispatch_credit(struct dispatch *dispatch,
                     const struct dispatch_message *message);
void dispatch_input(struct dispatch *dispatch,
                    const struct dispatch_message *message);
void dispatch_resize(struct dispatch *dispatch,
                     const struct dispatch_message *message);
void dispatch_signal(struct dispatch *dispatch,
                     const struct dispatch_message *message);
void dispatch_cancel(struct dispatch *dispatch,
                     const struct dispatch_message *message);

#endif
