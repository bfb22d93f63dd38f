/* SPDX-License-Identifier: Apache-2.0
 *
 * option_foreign - options of other virtio-fs daemons.
 */
#ifndef VIRTIOFS_OPTION_FOREIGN_H
#define VIRTIOFS_OPTION_FOREIGN_H

#include "virtiofs/options_set.h"

/* Accept other daemons' options where possible, or refuse them with the reason.
 * options is borrowed until the context has parsed. */
void options_add_foreign_entries(GOptionContext *context,
                                 struct options *options);

/* Return a copy of the command line in which -o and its list are two words, as
 * GLib requires. */
char **options_split_words(char **argv);

#endif
