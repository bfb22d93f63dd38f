/* SPDX-License-Identifier: Apache-2.0
 *
 * options_parts - what the files of options share, and nobody else uses.
 *
 * options.c reads the command line, option_list.c the lists of -o, and
 * option_values.c sets what either names. All return FALSE and an error with a
 * text for the person if the value is wrong; a NULL value leaves the option as
 * it is.
 */
#ifndef VIRTIOFS_OPTIONS_PARTS_H
#define VIRTIOFS_OPTIONS_PARTS_H

#include "virtiofs/options.h"

typedef gboolean options_setter(struct options *options, const char *value,
                                GError **error);

options_setter options_set_cache, options_set_log_level, options_set_source,
    options_set_sandbox, options_set_xattr_map, options_set_modcaps,
    options_set_timeout;

/* Lists of -o: NULL-terminated, may be NULL. */
gboolean options_parse_lists(struct options *options, char **lists,
                             GError **error);

#endif
