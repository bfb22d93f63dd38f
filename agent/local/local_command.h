/* SPDX-License-Identifier: Apache-2.0
 *
 * local_command - the command line of stepback-local and bubblewrap: what the
 * sandbox has of the host.
 *
 * The shared folders are at their own paths. Of the host there are its programs
 * and its configuration (/usr, /etc), read-only; or of an image. /run, home
 * folders and /var are not those of the host, so that no socket of the host
 * comes in.
 */
#ifndef AGENT_LOCAL_LOCAL_COMMAND_H
#define AGENT_LOCAL_LOCAL_COMMAND_H

#include <glib.h>
#include <stdbool.h>

#include "agent/machine/session_config.h"

struct local_ids;

struct local_command {
    const char *helper, *bwrap, *shim; /* programs */
    const char *root; /* the tree of an image's root file system; NULL: the
                         system of the host */
    const struct session_config *config;
    const struct local_ids *ids;
    guint64 tmpfs_bytes;                /* the size of each folder in memory */
    int helper_fd, control_fd, bulk_fd; /* sockets that the child inherits */
    const char *bus;     /* the socket of local_bus.h; NULL: none */
    int bus_ready;       /* its fd, which the child inherits */
    bool network;        /* the sandbox has a network card */
    const char *trusted; /* certificates for guest_trust.h; NULL: none */
};

/* The command line and the open files that it names. */
struct local_argv {
    char **argv;
    GArray *fds; /* of int, with the sockets of struct local_command */
    GArray *own; /* of int: those to be closed */
};

/* Build the command line. On failure return FALSE with
 * ERROR_VM_LAUNCH_FAILED. */
gboolean local_command_build(const struct local_command *command,
                             struct local_argv *ret_argv, GError **error);
void local_command_clear(struct local_argv *argv);

#endif
