/* SPDX-License-Identifier: Apache-2.0
 *
 * restore_names - name, open and move what a restore handles.
 */
#ifndef INTERCEPTOR_RESTORE_RESTORE_NAMES_H
#define INTERCEPTOR_RESTORE_RESTORE_NAMES_H

#include <stdbool.h>

#include "interceptor/restore/restore_base.h"
#include "interceptor/sys/walker.h"

/* Open, O_PATH, the directory at its place before the step. An fd or -errno. */
int restore_open_dir(struct restore *r, const struct step_inode *dir);

/* Walk over homes (after step_sort()), starting at dir, which is open as dirfd.
 */
void restore_walker_init(struct walker *walker, struct restore *r, int dirfd,
                         const struct step_inode *dir);

/* The same, but without relaxing modes: for after the restore, when they are
 * final. */
void restore_walker_init_plain(struct walker *walker, int dirfd,
                               const struct step_inode *dir);

/* Return whether the error means that the object is missing. All others may be
 * temporary. */
bool restore_is_gone(int rc);

/* The name in staging of a detached inode. */
struct staged_name {
    char text[24];
};
struct staged_name restore_staged_name(uint64_t ino);

/* Rename to a name that must not exist. Modes of directories of our own that
 * prevent it are relaxed. */
int restore_rename(struct restore *r, int dirfd, const char *name, int to,
                   const char *to_name);

#endif
