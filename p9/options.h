/* SPDX-License-Identifier: Apache-2.0
 *
 * options - the command line of stepback-9pd.
 */
#ifndef P9_OPTIONS_H
#define P9_OPTIONS_H

#include "daemon/options.h"
#include "p9/server/server.h"

struct p9_options {
    struct daemon_options daemon; /* .listen_fd is a connection, too */
    char *listen;                 /* "127.0.0.1:PORT", or NULL */
    char *overlay_dir;            /* NULL: the profile keeps nothing */
    bool overlay_is_logs;         /* it is at the place that the log gives it */
    struct p9_server_config server;
};

/* Parse the command line; --help prints and exits. A new struct; NULL and
 * error with a text for the person if it is wrong. */
struct p9_options *p9_options_parse(int argc, char **argv, GError **error);

/* NULL is allowed. */
void p9_options_free(struct p9_options *options);

#endif
