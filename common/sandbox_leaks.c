/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox_leaks - disables the leak check inside a sandbox (sandbox.h).
 *
 * In a build with AddressSanitizer, LeakSanitizer inspects the process at its
 * exit by clone(2), ptrace(2) and /proc: the filter would kill the process.
 */
#include "common/sandbox_leaks.h"

#ifdef __SANITIZE_ADDRESS__

#include <stdbool.h>

static bool is_confined;

/* sanitizer/lsan_interface.h: called at exit. */
__attribute__((visibility("default"))) int __lsan_is_turned_off(void);

int __lsan_is_turned_off(void)
{
    return is_confined;
}

void sandbox_skip_leak_check(void)
{
    is_confined = true;
}

#else

void sandbox_skip_leak_check(void)
{
}

#endif
