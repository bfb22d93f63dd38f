/* SPDX-License-Identifier: Apache-2.0
 *
 * session_directory - a session's working folders: what a frontend says of
 * them.
 *
 * No two overlap, and no undo log lies in one: a daemon would take what the
 * other does for edits from outside. Labels are unique.
 */
#ifndef AGENT_VM_SESSION_DIRECTORY_H
#define AGENT_VM_SESSION_DIRECTORY_H

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

enum { SESSION_MAX_DIRECTORIES = 8 };

struct session_directory {
    char *path; /* absolute, symlinks resolved */
    char *label;
    char *undo_dir; /* NULL: none, it is read-only */
    bool read_only;
    char *tag;        /* of the mount */
    char *guest_path; /* where the guest has it */
};

/* Read the field "working_directories" of a payload (borrowed) into
 * directories, which holds SESSION_MAX_DIRECTORIES. FALSE and error, and then
 * what is in directories (*ret_count of them) is the caller's, too:
 * ERROR_MISSING_FIELD, ERROR_INVALID_FIELD, ERROR_TOO_MANY_DIRECTORIES,
 * ERROR_INVALID_DIRECTORY. */
gboolean session_directory_parse_all(json_t *payload,
                                     struct session_directory **directories,
                                     unsigned *ret_count, GError **error);

/* Refuse folders and undo logs that overlap: ERROR_INVALID_DIRECTORY. */
gboolean
session_directory_check_apart(struct session_directory *const *directories,
                              unsigned count, GError **error);

void session_directory_free(struct session_directory *directory);

/* Which of them a field "directory" means: an index, a label or a path; NULL is
 * the first. FALSE and error: ERROR_INVALID_FIELD. */
gboolean session_directory_find(struct session_directory *const *directories,
                                unsigned count, json_t *field,
                                unsigned *ret_index, GError **error);

#endif
