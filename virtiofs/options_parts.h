/* SPDX-License-Identifier: Apache-2.0
 *
 * options_parts - what the files of options share, and nobody else uses.
 *
 * options.c reads the command line, option_list.c the lists of -o, and
 * option_values.c sets what either names; option_foreign.c has what other
 * daemons have. All return FALSE and an error with a
 * text for the person if the value is wrong; a NULL value leaves the option as
 * it is.
 */
#ifndef VIRTIOFS_OPTIONS_PARTS_H
#define VIRTIOFS_OPTIONS_PARTS_H

#include "virtiofs/options.h"

/* Why other daemons' options are refused in either grammar. */
#define OPTIONS_NO_XATTR "attributes are always served, or undo would lose them"
#define OPTIONS_NO_DIRECT_IO                                                   \
    "a guest's O_DIRECT passes the guest's cache, and not the host's"

typedef gboolean options_setter(struct options *options, const char *value,
                                GError **error);

options_setter options_set_cache, options_set_log_level, options_set_source,
    options_set_sandbox, options_set_xattr_map, options_set_modcaps,
    options_set_timeout;

/* Take other daemons' options, where that can be, or refuse them with the
 * reason. options is borrowed until the context has parsed. */
void options_add_foreign_entries(GOptionContext *context,
                                 struct options *options);

/* A copy of the command line in which -o and its list are two words, as GLib
 * wants them. */
char **options_split_words(char **argv);

/* Lists of -o: NULL-terminated, may be NULL. */
gboolean options_parse_lists(struct options *options, char **lists,
                             GError **error);

#endif
