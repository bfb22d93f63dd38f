/* SPDX-License-Identifier: Apache-2.0
 *
 * restore_names - how a restore names, opens and moves what it restores.
 */
#ifndef INTERCEPTOR_RESTORE_RESTORE_NAMES_H
#define INTERCEPTOR_RESTORE_RESTORE_NAMES_H

#include <stdbool.h>

#include "interceptor/restore/restore_base.h"
#include "interceptor/sys/walker.h"

/* Open, O_PATH, the directory at the place it had before the step. An fd or
 * -errno. */
int restore_open_dir(struct restore *r, const struct step_inode *dir);

/* A walker over homes (after step_sort()), whose top is dir, open as dirfd. */
void restore_walker_init(struct walker *walker, int dirfd,
                         const struct step_inode *dir);

/* Is that the error of something that is not there? All others may pass. */
bool restore_is_gone(int rc);

/* The name in staging of an inode that was detached. */
struct staged_name {
    char text[24];
};
struct staged_name restore_staged_name(uint64_t ino);

/* Move a name, which must not be taken there, also where only the modes of
 * what we own are in the way. */
int restore_rename(struct restore *r, int dirfd, const char *name, int to,
                   const char *to_name);

/* Make a directory that we own writable for ourselves; its recorded metadata
 * is set at the end. */
void restore_relax(int dirfd);

#endif
