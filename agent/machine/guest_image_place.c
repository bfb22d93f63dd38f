/* SPDX-License-Identifier: Apache-2.0
 *
 * guest_image_place - see guest_image_place.h.
 */
#include "agent/machine/guest_image_place.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/base/user_file.h"
#include "common/errors.h"

enum { MAX_LINKS = 40 }; /* as the kernel has */

#define SYSTEM_IMAGES "/var/lib/stepback/images"

char *guest_image_place_path(enum guest_image_place place)
{
    const char *given = g_getenv("STEPBACK_SYSTEM_IMAGES");

    if (place == IMAGE_PLACE_USER)
        return g_build_filename(g_get_user_cache_dir(), "stepback", "guest",
                                NULL);
    return g_strdup(given && g_path_is_absolute(given) ? given : SYSTEM_IMAGES);
}

bool guest_image_place_has(enum guest_image_place place, const char *name)
{
    g_autofree char *images = guest_image_place_path(place);
    g_autofree char *dir = g_build_filename(images, name, NULL);

    return g_file_test(dir, G_FILE_TEST_IS_DIR);
}

/* Return the problem of one part of a path, or NULL. */
static const char *find_problem(const struct stat *st,
                                enum guest_image_place place)
{
    bool is_users = place == IMAGE_PLACE_USER;
    bool is_shared = S_ISDIR(st->st_mode) && (st->st_mode & S_ISVTX);

    if (S_ISLNK(st->st_mode) && !is_users)
        return "is a symbolic link";
    if (!S_ISDIR(st->st_mode) && !S_ISREG(st->st_mode) && !S_ISLNK(st->st_mode))
        return "is not a file";
    if (st->st_uid != 0 && st->st_uid != geteuid())
        return "belongs to another user";
    if (S_ISLNK(st->st_mode) || is_shared)
        return NULL;
    if ((st->st_mode & S_IWOTH) ||
        ((st->st_mode & S_IWGRP) &&
         !(is_users && user_file_is_own_group(st->st_gid))))
        return "can be written by other users";
    return NULL;
}

static gboolean check_part(const char *path, enum guest_image_place place,
                           bool *ret_is_link, GError **error)
{
    struct stat st;
    const char *problem;

    if (lstat(path, &st) < 0)
        problem = g_strerror(errno);
    else
        problem = find_problem(&st, place);
    *ret_is_link = !problem && S_ISLNK(st.st_mode);
    if (problem)
        g_set_error(error, STEPBACK_ERROR, ERROR_VM_LAUNCH_FAILED, "%s %s",
                    path, problem);
    return !problem;
}

static char *resolve(const char *path, enum guest_image_place place,
                     unsigned *links, GError **error);

/* Resolve a link in a folder without links. */
static char *resolve_link(const char *path, const char *folder,
                          enum guest_image_place place, unsigned *links,
                          GError **error)
{
    g_autofree char *target = g_file_read_link(path, NULL);
    g_autofree char *next = NULL;

    if (!target || ++*links > MAX_LINKS) {
        g_set_error(error, STEPBACK_ERROR, ERROR_VM_LAUNCH_FAILED, "%s: %s",
                    path, g_strerror(target ? ELOOP : EIO));
        return NULL;
    }
    for (size_t len = strlen(target); len > 1 && target[len - 1] == '/';)
        target[--len] = '\0';
    next = g_path_is_absolute(target) ? g_strdup(target)
                                      : g_build_filename(folder, target, NULL);
    return resolve(next, place, links, error);
}

/* Check each part of a path and of its links. Return the path without links, as
 * a new string, or NULL. */
static char *resolve(const char *path, enum guest_image_place place,
                     unsigned *links, GError **error)
{
    g_autofree char *parent = g_path_get_dirname(path);
    g_autofree char *name = g_path_get_basename(path);
    g_autofree char *folder = NULL, *full = NULL;
    bool is_link;

    if (g_str_equal(path, parent) || g_str_equal(name, "/"))
        return check_part("/", place, &is_link, error) ? g_strdup("/") : NULL;
    folder = resolve(parent, place, links, error);
    if (!folder || g_str_equal(name, "."))
        return g_steal_pointer(&folder);
    if (g_str_equal(name, ".."))
        return g_path_get_dirname(folder);
    full = g_build_filename(folder, name, NULL);
    if (!check_part(full, place, &is_link, error))
        return NULL;
    return is_link ? resolve_link(full, folder, place, links, error)
                   : g_steal_pointer(&full);
}

gboolean guest_image_place_check(const char *path, enum guest_image_place place,
                                 GError **error)
{
    unsigned links = 0;
    g_autofree char *full = resolve(path, place, &links, error);

    return full != NULL;
}
