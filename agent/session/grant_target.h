/* SPDX-License-Identifier: Apache-2.0
 *
 * grant_target - the folder of the host that a request for access means.
 *
 * It is resolved once, and held by an fd, so that the folder that is granted is
 * the one that the question has shown. A path that cannot be granted is a
 * target with a problem: the asker, who may be a guest, must not learn from the
 * answer what the host has.
 */
#ifndef AGENT_SESSION_GRANT_TARGET_H
#define AGENT_SESSION_GRANT_TARGET_H

#include <glib.h>

struct grant_target {
    char *path;    /* absolute, without symlinks if there is no problem */
    char *problem; /* or NULL */
    int fd;        /* O_PATH, or -1 */
};

/* path is absolute. */
void grant_target_open(const char *path, struct grant_target *ret_target);
void grant_target_clear(struct grant_target *target);

/* A folder within the target. */
struct grant_part {
    char *path;
    guint64 dev, ino;
};

/* Find the folder at this path (NULL: the target itself), which must lie in
 * the target. On failure return FALSE with ERROR_INVALID_DIRECTORY or
 * ERROR_INVALID_FIELD. */
gboolean grant_target_narrow(const struct grant_target *target,
                             const char *path, struct grant_part *ret_part,
                             GError **error);

#endif
