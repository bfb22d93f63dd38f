/* SPDX-License-Identifier: Apache-2.0
 *
 * options - the command line of stepback-virtiofsd.
 *
 * Both grammars in use for virtio-fs daemons are accepted: --shared-dir=DIR (or
 * --shared-dir DIR) and -o source=DIR,cache=always.
 */
#ifndef VIRTIOFS_OPTIONS_H
#define VIRTIOFS_OPTIONS_H

#include <glib.h>

#include "virtiofs/options_set.h"

/* Parse the command line (NULL-terminated); --help prints and exits. Return a
 * new struct; NULL and error (not NULL) with a message for the user if the line
 * is wrong. */
struct options *options_parse(char **argv, GError **error);

/* NULL is allowed. */
void options_free(struct options *options);

#endif
