/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox_leaks - the leak check of AddressSanitizer in a sandbox.
 */
#ifndef COMMON_SANDBOX_LEAKS_H
#define COMMON_SANDBOX_LEAKS_H

/* Disable the leak check of AddressSanitizer from now on: it needs system calls
 * that a confined process may not make. No-op in other builds. */
void sandbox_skip_leak_check(void);

#endif
