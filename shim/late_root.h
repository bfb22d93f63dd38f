/* SPDX-License-Identifier: Apache-2.0
 *
 * late_root - the root disk of a machine that continues from a saved state, and
 * keeps its disk.
 *
 * The disk changes after the state was saved, so a state that has anything of
 * it in memory would damage it. In such a machine the image's init does not
 * mount it, and names its device to the shim, which changes to it when the
 * machine is renewed.
 */
#ifndef SHIM_LATE_ROOT_H
#define SHIM_LATE_ROOT_H

#include <stdbool.h>

#define LATE_ROOT_DISK "STEPBACK_LATE_ROOT"

/* Call once at the start; removes the variable from the environment. */
void late_root_note(void);

/* Mount the noted disk and make it the root of this process, with the file
 * systems that init has mounted; once. ret_changed: there was one. Return 0 or
 * -errno. */
int late_root_enter(bool *ret_changed);

#endif
