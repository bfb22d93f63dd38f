/* SPDX-License-Identifier: Apache-2.0
 *
 * real_path - see real_path.h.
 */
#include "common/real_path.h"

#include <errno.h>
#include <glib.h>
#include <stdlib.h>
#include <string.h>

char *real_path_of(const char *path)
{
    g_autofree char *head = g_canonicalize_filename(path, NULL);
    g_autofree char *rest = g_strdup("");
    char *resolved, *place;

    while (!(resolved = realpath(head, NULL)) && head[1] != '\0' &&
           (errno == ENOENT || errno == ENOTDIR)) {
        g_autofree char *name = g_path_get_basename(head);
        char *longer = g_strconcat("/", name, rest, NULL);
        char *parent = g_path_get_dirname(head);

        g_free(rest);
        g_free(head);
        rest = longer;
        head = parent;
    }
    if (resolved && strcmp(resolved, "/") == 0 && *rest)
        *resolved = '\0';
    place = g_strconcat(resolved ? resolved : head, rest, NULL);
    free(resolved);
    return place;
}

bool real_path_is_beneath(const char *path, const char *folder)
{
    size_t len = strlen(folder);

    return strncmp(path, folder, len) == 0 &&
           (path[len] == '\0' || path[len] == '/' || folder[len - 1] == '/');
}
