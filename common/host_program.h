/* SPDX-License-Identifier: Apache-2.0
 *
 * host_program - finds the programs of other packages that run on the host.
 *
 * Programs are looked up in the directories that configure was given
 * (--with-program-path), or in those of $STEPBACK_PROGRAM_PATH. PATH is never
 * read: it often contains directories that a guest writes to.
 */
#ifndef COMMON_HOST_PROGRAM_H
#define COMMON_HOST_PROGRAM_H

/* Return the searched directories, joined by colons: only absolute paths. A new
 * string. */
char *host_program_path(void);

/* Return the absolute path of a program, or NULL. A new string. */
char *host_program_find(const char *name);

#endif
