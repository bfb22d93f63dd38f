/* SPDX-License-Identifier: Apache-2.0
 *
 * option_flags - refuses values of options that take none.
 *
 * GLib (2.74) treats "--flag=no" as "--flag", the opposite of the intention.
 */
#ifndef COMMON_OPTION_FLAGS_H
#define COMMON_OPTION_FLAGS_H

#include <glib.h>

/* Call it before g_option_context_parse() with the same words, argv[0] being
 * the program's name; both arrays are NULL-terminated. strict: as for
 * g_option_context_set_strict_posix(). FALSE and error if an option has a value
 * that it does not take. */
gboolean option_flags_check(const GOptionEntry *entries, char *const *argv,
                            gboolean strict, GError **error);

#endif
