/* SPDX-License-Identifier: Apache-2.0
 *
 * program - the command line of a program that the supervisor starts.
 *
 * The supervisor passes sockets as options, "--control-fd=FD". All such
 * programs also have --log-level, --seccomp and --version.
 */
#ifndef NETBASE_PROGRAM_H
#define NETBASE_PROGRAM_H

#include <stddef.h>

#include "common/sandbox_options.h"

enum { PROGRAM_FDS_MAX = 8 };

/* A socket. */
struct program_fd {
    const char *option, *help;
    int *fd; /* set; -1: none */
};

struct program {
    const char *name, *purpose; /* "- a guest's network" */
    /* The first two must be open, and differ. */
    struct program_fd fds[PROGRAM_FDS_MAX];
    /* Run until the end. Return the exit status. */
    int (*serve)(enum sandbox_action action, void *opaque);
    void *opaque;
};

/* Parse the command line and serve. Return the exit status: 2 on a wrong
 * command line. Call it first in main(): the environment is restricted. */
int program_main(const struct program *program, int argc, char **argv);

#endif
