/* SPDX-License-Identifier: Apache-2.0
 *
 * step_client - the guest command "step": begin, list and undo steps from
 * inside the sandbox. It is the shim's program under another name.
 */
#ifndef SHIM_STEP_CLIENT_H
#define SHIM_STEP_CLIENT_H

#include <stdbool.h>

/* Return whether the program was started as "step". */
bool step_client_is_meant(int argc, char **argv);

int step_client_main(int argc, char **argv);

#endif
