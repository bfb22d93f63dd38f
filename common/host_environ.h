/* SPDX-License-Identifier: Apache-2.0
 *
 * host_environ - the environment of Stepback's own programs and of the programs
 * that they start.
 *
 * A shell's environment may name directories that a guest writes to: an
 * activated virtual environment puts its directory into PATH, PYTHONPATH or
 * LD_LIBRARY_PATH. Both environments are therefore built from lists of names. A
 * variable that names libraries, plugins, scripts or configuration is on
 * neither list. PATH is replaced (host_program.h).
 *
 * The dynamic linker reads LD_LIBRARY_PATH and LD_PRELOAD before main(): a
 * program cannot undo that for itself, only for its children.
 */
#ifndef COMMON_HOST_ENVIRON_H
#define COMMON_HOST_ENVIRON_H

/* Restrict this process's environment to the part that Stepback uses. Call it
 * first in main(): strings from an earlier getenv() are invalid after it.
 */
void host_environ_restrict(void);

/* Return a variable's value before host_environ_restrict(), to pass it on to a
 * guest: nothing on the host may depend on it. Borrowed; NULL: not set. */
const char *host_environ_given(const char *name);

/* Return the environment of a program to start: PATH, LC_ALL, the variables
 * STEPBACK_*, and those of more (NULL-terminated; may be NULL) that are set. A
 * new vector. */
char **host_environ_new(const char *const *more);

#endif
