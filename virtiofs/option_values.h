/* SPDX-License-Identifier: Apache-2.0
 *
 * option_values - option values, common to both grammars.
 *
 * All setters return FALSE and an error with a message for the user if the
 * value is wrong; a NULL value leaves the option unchanged.
 */
#ifndef VIRTIOFS_OPTION_VALUES_H
#define VIRTIOFS_OPTION_VALUES_H

#include "virtiofs/options_set.h"

/* Why other daemons' options are refused, in both grammars. */
#define OPTIONS_NO_XATTR "undo needs extended attributes, so they are always on"
#define OPTIONS_NO_DIRECT_IO                                                   \
    "a guest's O_DIRECT bypasses the guest's cache only"

typedef gboolean options_setter(struct options *options, const char *value,
                                GError **error);

options_setter options_set_cache, options_set_log_level, options_set_source,
    options_set_sandbox, options_set_xattr_map, options_set_modcaps,
    options_set_timeout;

#endif
