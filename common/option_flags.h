/* SPDX-License-Identifier: Apache-2.0
 *
 * option_flags - refuses values of options that take none.
 *
 * GLib (2.74) takes "--flag=no" for "--flag", the opposite of what was meant.
 */
#ifndef COMMON_OPTION_FLAGS_H
#define COMMON_OPTION_FLAGS_H

#include <glib.h>

/* Before g_option_context_parse() of the same words, the program's name first,
 * both NULL at their end. strict: as g_option_context_set_strict_posix(). */
gboolean option_flags_check(const GOptionEntry *entries, char *const *argv,
                            gboolean strict, GError **error);

#endif
