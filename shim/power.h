/* SPDX-License-Identifier: Apache-2.0
 *
 * power - how a guest whose init is the shim comes to its end.
 */
#ifndef SHIM_POWER_H
#define SHIM_POWER_H

/* End all other processes, sync, unmount, power off. Only for PID 1; does not
 * return. A file system that hangs delays it by a few seconds at most. */
_Noreturn void power_off(void);

#endif
