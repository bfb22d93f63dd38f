/* SPDX-License-Identifier: Apache-2.0
 *
 * write_file - shared by ic_write_file() and replace_file.h: find a file by a
 * path from outside, and report errors.
 */
#ifndef INTERCEPTOR_MUTATE_WRITE_FILE_H
#define INTERCEPTOR_MUTATE_WRITE_FILE_H

#include "interceptor/interceptor.h"

struct write_file_target {
    struct ic_inode *dir;  /* a reference */
    struct ic_inode *file; /* a reference; NULL: must be created */
    char **missing;        /* names of folders to make below dir; or NULL */
    char *name;
};

/* Resolve the path name by name, since a client could have put a symlink
 * anywhere. With make_parents, folders of the path may be missing. The caller
 * zeroes the target before, and clears it afterwards in any case. */
gboolean write_file_find(struct ic *ic, const char *path, bool make_parents,
                         struct write_file_target *target, GError **error);
void write_file_target_clear(struct write_file_target *target);

/* Return the step's text for the history: a new string. */
char *write_file_command(const struct ic_file_write *request);

/* Set the error and return FALSE. rc: -errno. */
gboolean write_file_fail(GError **error, int code, const char *path,
                         const char *what);
gboolean write_file_fail_errno(GError **error, const char *path, int rc);
/* Fail because a safeguard has denied the step: ERROR_DENIED. */
gboolean write_file_fail_denied(GError **error, const char *path);
/* After a change in the step failed: if a safeguard has denied the step,
 * replace *error by ERROR_DENIED. */
void write_file_check_denied(struct ic *ic, int64_t id, const char *path,
                             GError **error);

/* Check that a client may write to the file: else ERROR_IO_ERROR, which names
 * the reason. */
gboolean write_file_may_write(struct ic *ic, const struct ic_inode *file,
                              const char *path, GError **error);

#endif
