/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox_leaks - the leak check of AddressSanitizer in a sandbox.
 */
#ifndef COMMON_SANDBOX_LEAKS_H
#define COMMON_SANDBOX_LEAKS_H

/* In a build with AddressSanitizer: from here on its look for leaks, which
 * needs what a confined process has not, does not take place. */
void sandbox_skip_leak_check(void);

#endif
