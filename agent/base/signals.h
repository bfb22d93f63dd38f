/* SPDX-License-Identifier: Apache-2.0
 *
 * signals - names of Linux signals (signal(7)).
 */
#ifndef AGENT_BASE_SIGNALS_H
#define AGENT_BASE_SIGNALS_H

/* Return the number of a signal: "TERM", "SIGTERM" in any case, or a decimal
 * number. 0: unknown. */
int signals_number(const char *name);

#endif
