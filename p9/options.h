/* SPDX-License-Identifier: Apache-2.0
 *
 * options - the command line of stepback-9pd.
 */
#ifndef P9_OPTIONS_H
#define P9_OPTIONS_H

#include "daemon/options.h"
#include "p9/server/server.h"

struct p9_options {
    struct daemon_options daemon; /* .listen_fd may be connected */
    char *listen;                 /* "127.0.0.1:PORT", or NULL */
    char *overlay_dir;            /* NULL: the profile stores nothing */
    bool overlay_is_logs;         /* at the default path beside the log */
    struct p9_server_config server;
};

/* Parse the command line; --help prints and exits. Return a new struct; NULL
 * and error with a message for the user if the line is wrong. */
struct p9_options *p9_options_parse(int argc, char **argv, GError **error);

/* NULL is allowed. */
void p9_options_free(struct p9_options *options);

#endif
