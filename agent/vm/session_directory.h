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
#include <stdbool.h>

#include "agent/base/folder_ref.h"

enum { SESSION_MAX_DIRECTORIES = 8 };

struct session_directory {
    char *path; /* absolute, symlinks resolved */
    char *label;
    char *undo_dir; /* NULL: none, it is read-only */
    bool read_only;
    char *tag;        /* of the mount */
    char *guest_path; /* where the guest has it */
};

/* What is wanted of a folder. */
struct session_share {
    const char *path, *undo_dir; /* absolute; undo_dir may be NULL */
    const char *label;           /* or NULL */
    bool read_only;
};

/* Resolve a folder and its undo log. NULL and error: ERROR_INVALID_FIELD,
 * ERROR_INVALID_DIRECTORY. */
struct session_directory *
session_directory_new(const struct session_share *share, GError **error);

/* Give all their labels, tags and places in the guest. ERROR_INVALID_FIELD: a
 * label was given twice. */
gboolean
session_directory_complete(struct session_directory *const *directories,
                           unsigned count, GError **error);

/* Refuse folders and undo logs that overlap: ERROR_INVALID_DIRECTORY. */
gboolean
session_directory_check_apart(struct session_directory *const *directories,
                              unsigned count, GError **error);

void session_directory_free(struct session_directory *directory);

/* FALSE and error: ERROR_INVALID_FIELD. */
gboolean session_directory_find(struct session_directory *const *directories,
                                unsigned count, struct folder_ref folder,
                                unsigned *ret_index, GError **error);

#endif
