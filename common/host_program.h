/* SPDX-License-Identifier: Apache-2.0
 *
 * host_program - find the programs of other packages that run on the host.
 *
 * They are looked up in the folders that configure was given
 * (--with-program-path), or in those of $STEPBACK_PROGRAM_PATH. PATH is never
 * read: it often has folders that a guest writes to.
 */
#ifndef COMMON_HOST_PROGRAM_H
#define COMMON_HOST_PROGRAM_H

/* Return the folders that are searched, joined by colons: absolute paths alone.
 * A new string. */
char *host_program_path(void);

/* Return the absolute path of a program, or NULL. A new string. */
char *host_program_find(const char *name);

#endif
