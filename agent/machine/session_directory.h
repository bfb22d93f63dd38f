/* SPDX-License-Identifier: Apache-2.0
 *
 * session_directory - the working folders of a session.
 *
 * Folders do not overlap, and no undo log lies in a folder: a daemon would see
 * another daemon's writes as outside edits. Labels are unique.
 */
#ifndef AGENT_MACHINE_SESSION_DIRECTORY_H
#define AGENT_MACHINE_SESSION_DIRECTORY_H

#include <glib.h>
#include <stdbool.h>

#include "agent/base/folder_ref.h"

enum { SESSION_MAX_DIRECTORIES = 8 };

/* A folder that a user has granted to a request from the sandbox. */
struct folder_grant {
    char *origin; /* "api", "mcp" or "guest" */
    char *reason; /* UTF-8; may be empty */
    gint64 time;  /* of the grant: CLOCK_REALTIME, us */
    bool is_kept; /* it comes back at the next start */
};

struct session_directory {
    char *path;                 /* absolute, symlinks resolved */
    guint64 dev, ino;           /* of the folder, when it was resolved */
    struct folder_grant *grant; /* NULL: it was not asked for */
    char *label;
    char *undo_dir; /* NULL: none, the folder is read-only */
    bool read_only;
    char *tag;        /* of the mount */
    char *guest_path; /* path in the guest */
};

/* The request to share a folder. */
struct session_share {
    const char *path, *undo_dir; /* absolute; undo_dir may be NULL */
    const char *label;           /* or NULL */
    bool read_only;
    guint64 dev, ino;                 /* the folder must have these; 0: any */
    const struct folder_grant *grant; /* or NULL */
};

struct folder_grant *folder_grant_copy(const struct folder_grant *grant);
/* NULL is allowed. */
void folder_grant_free(struct folder_grant *grant);

/* Resolve a folder and its undo log. On failure return NULL with
 * ERROR_INVALID_FIELD or ERROR_INVALID_DIRECTORY. */
struct session_directory *
session_directory_new(const struct session_share *share, GError **error);

/* Assign labels, tags and guest paths to all folders; own_paths: they have the
 * same paths as on the host. Fails with
 * ERROR_INVALID_FIELD if a label was given twice. */
gboolean
session_directory_complete(struct session_directory *const *directories,
                           unsigned count, bool own_paths, GError **error);

/* The same for the last folder, which is the number'th that is added to a
 * running session. */
gboolean
session_directory_complete_added(struct session_directory *const *directories,
                                 unsigned count, unsigned number,
                                 bool own_paths, GError **error);

/* Refuse overlapping folders and undo logs: ERROR_INVALID_DIRECTORY. */
gboolean
session_directory_check_apart(struct session_directory *const *directories,
                              unsigned count, GError **error);

void session_directory_free(struct session_directory *directory);

/* On failure return FALSE with ERROR_INVALID_FIELD. */
gboolean session_directory_find(struct session_directory *const *directories,
                                unsigned count, struct folder_ref folder,
                                unsigned *ret_index, GError **error);

#endif
