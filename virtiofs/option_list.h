/* SPDX-License-Identifier: Apache-2.0
 *
 * option_list - the lists of -o.
 */
#ifndef VIRTIOFS_OPTION_LIST_H
#define VIRTIOFS_OPTION_LIST_H

#include "virtiofs/options_set.h"

/* Lists of -o: NULL-terminated, may be NULL. */
gboolean options_parse_lists(struct options *options, char **lists,
                             GError **error);

#endif
