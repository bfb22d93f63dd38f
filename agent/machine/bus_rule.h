/* SPDX-License-Identifier: Apache-2.0
 *
 * bus_rule - which calls and signals of a service on the session bus a sandbox
 * may use (--session-bus).
 *
 *     NAME=INTERFACE.MEMBER[@PATH]     a method or a signal
 *     NAME=INTERFACE.*[@PATH]          all of an interface
 *     NAME=*[@PATH]                    all that the program of NAME offers
 *
 * PATH is an object; with a slash and a star at its end, all below it, too.
 * This is the grammar of xdg-dbus-proxy(1), which takes a checked rule as it
 * is. The proxy's forms that leave a part out are not valid here: a name alone
 * would open the whole program that owns it, such as a desktop's shell, for the
 * sake of its notifications.
 */
#ifndef AGENT_MACHINE_BUS_RULE_H
#define AGENT_MACHINE_BUS_RULE_H

#include <glib.h>

enum { BUS_RULE_MAX_BYTES = 1024 };

/* Return the problem of a rule, with its column (in bytes, from 1) and the
 * remedy: a new string; NULL: the rule is valid. */
char *bus_rule_problem(const char *rule);

/* Return the warning about a rule that hands out more of the host than
 * the rule says: a new string; NULL: none. */
char *bus_rule_warning(const char *rule);

#endif
