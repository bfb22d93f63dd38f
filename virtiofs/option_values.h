/* SPDX-License-Identifier: Apache-2.0
 *
 * option_values - values of options, as either grammar gives them.
 *
 * All return FALSE and an error with a text for the person if the value is
 * wrong; a NULL value leaves the option as it is.
 */
#ifndef VIRTIOFS_OPTION_VALUES_H
#define VIRTIOFS_OPTION_VALUES_H

#include "virtiofs/options_set.h"

/* Why other daemons' options are refused in either grammar. */
#define OPTIONS_NO_XATTR "attributes are always served, or undo would lose them"
#define OPTIONS_NO_DIRECT_IO                                                   \
    "a guest's O_DIRECT passes the guest's cache, and not the host's"

typedef gboolean options_setter(struct options *options, const char *value,
                                GError **error);

options_setter options_set_cache, options_set_log_level, options_set_source,
    options_set_sandbox, options_set_xattr_map, options_set_modcaps,
    options_set_timeout;

#endif
