/* SPDX-License-Identifier: Apache-2.0
 *
 * option_list - the option lists of -o.
 */
#ifndef VIRTIOFS_OPTION_LIST_H
#define VIRTIOFS_OPTION_LIST_H

#include "virtiofs/options_set.h"

/* Parse the lists of -o: NULL-terminated, may be NULL. Return FALSE and error
 * with a message for the user if one is wrong. */
gboolean options_parse_lists(struct options *options, char **lists,
                             GError **error);

#endif
