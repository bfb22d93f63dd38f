/* SPDX-License-Identifier: Apache-2.0
 *
 * guest_image_store - see guest_image_store.h.
 *
 * Only files with known names are removed, and symlinks are not followed. An
 * image is first renamed to what the builder takes for the rest of a killed
 * build and removes (contrib/guest/build, sweep()).
 */
#include "agent/machine/guest_image_store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/machine/guest_image.h"
#include "common/errors.h"
#include "common/fd.h"

#define LOCK           ".build.lock"
#define REMOVED_SUFFIX ".building-remove"
#define ARCHIVES       "apt/archives"

enum { DIR_FLAGS = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC };

static const char *const image_files[] = { "image.json", "vmlinuz", "initrd",
                                           "rootfs.ext4" };

static gboolean fail(GError **error, const char *what, const char *images,
                     const char *name)
{
    g_set_error(error, STEPBACK_ERROR,
                errno == ENOENT ? ERROR_NOT_FOUND : ERROR_IO_ERROR,
                "%s/%s: cannot %s: %s", images, name, what, g_strerror(errno));
    return FALSE;
}

/* Open the folder of all images and exclude builds: *ret_lock is a new fd.
 * Return a new fd, or -1. */
static int open_images(const char *path, int *ret_lock, GError **error)
{
    fd_auto int images = open(path, DIR_FLAGS);
    fd_auto int lock = -1;

    if (images < 0) {
        fail(error, "open it", path, "");
        return -1;
    }
    lock = openat(images, LOCK,
                  O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
    /* Older versions let all users read the file, and thus lock it for ever. */
    if (lock < 0 || fchmod(lock, 0600) < 0) {
        fail(error, "open it", path, LOCK);
        return -1;
    }
    if (flock(lock, LOCK_EX | LOCK_NB) < 0) {
        g_set_error(error, STEPBACK_ERROR, ERROR_BUSY,
                    "%s: an image is being built; try again when that has "
                    "ended",
                    path);
        return -1;
    }
    *ret_lock = fd_steal(&lock);
    return fd_steal(&images);
}

static DIR *list(int dirfd, const char *name)
{
    fd_auto int fd = openat(dirfd, name, DIR_FLAGS);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);

    if (dir)
        fd_steal(&fd);
    return dir;
}

/* Return the first name in a folder that no image has, new; NULL: there is
 * none. */
static char *find_other(int images, const char *name)
{
    DIR *dir = list(images, name);
    struct dirent *entry;
    char *other = NULL;

    while (dir && !other && (entry = readdir(dir))) {
        bool known = strcmp(entry->d_name, ".") == 0 ||
                     strcmp(entry->d_name, "..") == 0;

        for (size_t i = 0; !known && i < G_N_ELEMENTS(image_files); i++)
            known = strcmp(entry->d_name, image_files[i]) == 0;
        if (!known)
            other = g_strdup(entry->d_name);
    }
    if (dir)
        closedir(dir);
    return other;
}

/* Remove a folder that has files of images only. */
static bool remove_files(int images, const char *name)
{
    fd_auto int dir = openat(images, name, DIR_FLAGS);
    bool ok = dir >= 0;

    if (!ok)
        return errno == ENOENT;
    for (size_t i = 0; ok && i < G_N_ELEMENTS(image_files); i++)
        ok = unlinkat(dir, image_files[i], 0) == 0 || errno == ENOENT;
    return ok && unlinkat(images, name, AT_REMOVEDIR) == 0;
}

static gboolean remove_image(int images, const char *path, const char *name,
                             GError **error)
{
    g_autofree char *removed = g_strconcat(name, REMOVED_SUFFIX, NULL);
    g_autofree char *other = find_other(images, name);
    struct stat st;

    if (fstatat(images, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
        if (errno != ENOENT)
            return fail(error, "find it", path, name);
        g_set_error(error, STEPBACK_ERROR, ERROR_IO_ERROR,
                    "guest image '%s': not found in %s; 'stepback image list' "
                    "has those that exist, and --system removes one of all "
                    "users",
                    name, path);
        return FALSE;
    }
    if (other || !S_ISDIR(st.st_mode)) {
        g_set_error(error, STEPBACK_ERROR, ERROR_IO_ERROR,
                    "%s/%s: not an image (%s); remove it by hand", path, name,
                    other ? other : "no folder");
        return FALSE;
    }
    if (!remove_files(images, removed) ||
        renameat(images, name, images, removed) < 0 ||
        !remove_files(images, removed))
        return fail(error, "remove it", path, name);
    return TRUE;
}

gboolean guest_image_remove(enum guest_image_place place, const char *name,
                            GError **error)
{
    g_autofree char *path = guest_image_place_path(place);
    g_autofree char *valid = guest_image_dir(name, NULL, error);
    fd_auto int lock = -1;
    fd_auto int images = valid ? open_images(path, &lock, error) : -1;

    return images >= 0 && remove_image(images, path, name, error);
}

/* Call visit() for each package that was fetched; stop when it fails. */
static bool each_package(int images,
                         bool (*visit)(int dir, const char *name, void *opaque),
                         void *opaque)
{
    static const char *const dirs[] = { ARCHIVES, ARCHIVES "/partial" };
    bool ok = true;

    for (size_t i = 0; i < G_N_ELEMENTS(dirs); i++) {
        DIR *dir = list(images, dirs[i]);
        struct dirent *entry;

        while (dir && ok && (entry = readdir(dir))) {
            if (g_str_has_suffix(entry->d_name, ".deb") || i == 1)
                ok = visit(dirfd(dir), entry->d_name, opaque);
        }
        if (dir)
            closedir(dir);
    }
    return ok;
}

static bool add_size(int dir, const char *name, void *opaque)
{
    guint64 *bytes = opaque;
    struct stat st;

    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISREG(st.st_mode))
        *bytes += (guint64)st.st_blocks * 512;
    return true;
}

static bool remove_file(int dir, const char *name, void *opaque)
{
    struct stat st;

    (void)opaque;
    return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
           !S_ISREG(st.st_mode) || unlinkat(dir, name, 0) == 0;
}

guint64 guest_image_packages_size(enum guest_image_place place)
{
    g_autofree char *path = guest_image_place_path(place);
    fd_auto int images = open(path, DIR_FLAGS);
    guint64 bytes = 0;

    if (images >= 0)
        each_package(images, add_size, &bytes);
    return bytes;
}

gboolean guest_image_packages_remove(enum guest_image_place place,
                                     GError **error)
{
    g_autofree char *path = guest_image_place_path(place);
    fd_auto int lock = -1;
    fd_auto int images = open_images(path, &lock, error);

    if (images < 0)
        return FALSE;
    return each_package(images, remove_file, NULL) ||
           fail(error, "remove the packages", path, ARCHIVES);
}
