/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_signals - see cli_signals.h.
 */
#include "agent/cli_signals.h"

#include <signal.h>
#include <stddef.h>

bool cli_signals_is_ignored(int number)
{
    struct sigaction action;

    return sigaction(number, NULL, &action) == 0 &&
           !(action.sa_flags & SA_SIGINFO) && action.sa_handler == SIG_IGN;
}
