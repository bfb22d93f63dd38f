/* SPDX-License-Identifier: Apache-2.0
 *
 * write_file - what ic_write_file() shares with replace_file.h: the way to a
 * file by a path that comes from outside, and its errors.
 */
#ifndef INTERCEPTOR_MUTATE_WRITE_FILE_H
#define INTERCEPTOR_MUTATE_WRITE_FILE_H

#include "interceptor/interceptor.h"

struct write_file_target {
    struct ic_inode *dir;  /* a reference */
    struct ic_inode *file; /* a reference; NULL: to be made */
    char *name;
};

/* Name by name: a client could have made anything of the path. The target is
 * zeroed before it, and cleared after it in any case. */
gboolean write_file_find(struct ic *ic, const char *path,
                         struct write_file_target *target, GError **error);
void write_file_target_clear(struct write_file_target *target);

/* The step's text for the history: a new string. */
char *write_file_command(const struct ic_file_write *request);

/* Both return FALSE. rc: -errno. */
gboolean write_file_fail(GError **error, int code, const char *path,
                         const char *what);
gboolean write_file_fail_errno(GError **error, const char *path, int rc);

#endif
