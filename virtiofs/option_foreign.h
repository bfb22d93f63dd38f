/* SPDX-License-Identifier: Apache-2.0
 *
 * option_foreign - options of other daemons.
 */
#ifndef VIRTIOFS_OPTION_FOREIGN_H
#define VIRTIOFS_OPTION_FOREIGN_H

#include "virtiofs/options_set.h"

/* Take other daemons' options, where that can be, or refuse them with the
 * reason. options is borrowed until the context has parsed. */
void options_add_foreign_entries(GOptionContext *context,
                                 struct options *options);

/* A copy of the command line in which -o and its list are two words, as GLib
 * wants them. */
char **options_split_words(char **argv);

#endif
