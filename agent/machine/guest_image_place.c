/* SPDX-License-Identifier: Apache-2.0
 *
 * guest_image_place - see guest_image_place.h.
 */
#include "agent/machine/guest_image_place.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/errors.h"

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
static const char *find_problem(const struct stat *st)
{
    bool is_shared = S_ISDIR(st->st_mode) && (st->st_mode & S_ISVTX);

    if (S_ISLNK(st->st_mode))
        return "is a symbolic link";
    if (!S_ISDIR(st->st_mode) && !S_ISREG(st->st_mode))
        return "is not a file";
    if (st->st_uid != 0 && st->st_uid != geteuid())
        return "belongs to another user";
    if ((st->st_mode & (S_IWGRP | S_IWOTH)) && !is_shared)
        return "can be written by other users";
    return NULL;
}

static gboolean check_part(const char *path, GError **error)
{
    struct stat st;
    const char *problem;

    if (lstat(path, &st) < 0)
        problem = g_strerror(errno);
    else
        problem = find_problem(&st);
    if (problem)
        g_set_error(error, STEPBACK_ERROR, ERROR_VM_LAUNCH_FAILED, "%s %s",
                    path, problem);
    return !problem;
}

gboolean guest_image_place_check(const char *path, GError **error)
{
    g_autofree char *parent = g_path_get_dirname(path);

    if (g_str_equal(path, parent))
        return check_part(path, error);
    return guest_image_place_check(parent, error) && check_part(path, error);
}
