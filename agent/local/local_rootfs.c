/* SPDX-License-Identifier: Apache-2.0
 *
 * local_rootfs - see local_rootfs.h.
 *
 *     roots/                       locked while a tree is made
 *         unpacking/               a tree that is being made, or was abandoned
 *         IMAGE-SIZE-MTIME/        of a rootfs.ext4; locked while it is used
 */
#include "agent/local/local_rootfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/machine/guest_image.h"
#include "common/errors.h"
#include "common/fd.h"
#include "common/host_environ.h"
#include "common/host_program.h"
#include "common/log.h"

#define UNPACKING "unpacking"

static gboolean fail(GError **error, const char *what, const char *path)
{
    int reason = errno;

    g_set_error(error, STEPBACK_ERROR, ERROR_VM_LAUNCH_FAILED,
                "--rootfs: cannot %s %s: %s", what, path, g_strerror(reason));
    return FALSE;
}

static int remove_one(const char *path, const struct stat *st, int type,
                      struct FTW *ftw)
{
    return remove(path);
}

static void remove_tree(const char *path)
{
    enum { FDS = 16 };

    if (nftw(path, remove_one, FDS, FTW_DEPTH | FTW_PHYS) < 0 &&
        errno != ENOENT)
        log_warn(LOG_SESSION, "cannot remove %s: %s", path, g_strerror(errno));
}

/* Open a folder and lock it. Return -1 and errno on failure. */
static int lock_folder(const char *path, int how)
{
    fd_auto int fd = open(path,
                          O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0 || flock(fd, how) < 0)
        return -1;
    return fd_steal(&fd);
}

/* ---- unpacking ----------------------------------------------------------- */

/* debugfs exits with 0 after errors. It prints a line with its version, and,
 * without root's rights, one for each file whose owner it cannot set. Return
 * the first other line: a new string, or NULL. */
static char *find_complaint(const char *output)
{
    g_auto(GStrv) lines = g_strsplit(output ? output : "", "\n", -1);

    for (char **line = lines; *line; line++) {
        if (**line && !g_str_has_prefix(*line, "debugfs ") &&
            !(geteuid() != 0 && strstr(*line, "while changing ownership of")))
            return g_strdup(*line);
    }
    return NULL;
}

/* The current folder is the new tree, because the names in a command of debugfs
 * cannot have all characters. */
static gboolean run_debugfs(const char *rootfs, const char *tree,
                            GError **error)
{
    g_autofree char *program = host_program_find(LOCAL_DEBUGFS);
    const char *const argv[] = { program, "-R", "rdump / .", rootfs, NULL };
    g_auto(GStrv) env = host_environ_new(NULL);
    g_autofree char *output = NULL, *complaint = NULL;
    g_autoptr(GError) cause = NULL;
    int status = 0;

    if (!program) {
        g_set_error_literal(error, STEPBACK_ERROR, ERROR_VM_LAUNCH_FAILED,
                            "--rootfs: " LOCAL_DEBUGFS " is not installed; "
                            "install it with: apt-get install e2fsprogs");
        return FALSE;
    }
    if (g_spawn_sync(tree, (char **)argv, env, G_SPAWN_STDOUT_TO_DEV_NULL, NULL,
                     NULL, NULL, &output, &status, &cause) &&
        g_spawn_check_wait_status(status, &cause))
        complaint = find_complaint(output);
    if (!cause && !complaint)
        return TRUE;
    g_set_error(error, STEPBACK_ERROR, ERROR_VM_LAUNCH_FAILED,
                "--rootfs: cannot unpack %s: %s", rootfs,
                cause ? cause->message : complaint);
    return FALSE;
}

/* Complete after a power cut, too. */
static gboolean publish(const char *unpacking, const char *tree, GError **error)
{
    fd_auto int fd = open(unpacking, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0 || syncfs(fd) < 0 || fchmod(fd, 0755) < 0 ||
        rename(unpacking, tree) < 0)
        return fail(error, "write", tree);
    return TRUE;
}

static gboolean unpack(const char *rootfs, const char *roots, const char *tree,
                       GError **error)
{
    g_autofree char *unpacking = g_build_filename(roots, UNPACKING, NULL);
    gboolean ok;

    log_info(LOG_SESSION, "unpacking %s, once", rootfs);
    remove_tree(unpacking);
    if (mkdir(unpacking, 0755) < 0)
        return fail(error, "create", unpacking);
    ok = run_debugfs(rootfs, unpacking, error) &&
         publish(unpacking, tree, error);
    if (!ok)
        remove_tree(unpacking);
    return ok;
}

/* ---- the cache ----------------------------------------------------------- */

/* Remove trees of former builds of the image. */
static void sweep(const char *roots, const char *image, const char *current)
{
    g_autofree char *prefix = g_strdup_printf("%s-", image);
    g_autoptr(GDir) dir = g_dir_open(roots, 0, NULL);
    const char *name;

    while (dir && (name = g_dir_read_name(dir))) {
        g_autofree char *path = g_build_filename(roots, name, NULL);
        fd_auto int fd = -1;

        if (!g_str_has_prefix(name, prefix) || strcmp(path, current) == 0)
            continue;
        fd = lock_folder(path, LOCK_EX | LOCK_NB);
        if (fd >= 0)
            remove_tree(path);
    }
}

static char *tree_path(const char *roots, const char *image,
                       const struct stat *st)
{
    return g_strdup_printf("%s/%s-%" G_GINT64_MODIFIER "x-%" G_GINT64_MODIFIER
                           "x%08lx",
                           roots, image, (gint64)st->st_size,
                           (gint64)st->st_mtim.tv_sec, st->st_mtim.tv_nsec);
}

static gboolean open_tree(const char *image, const char *rootfs,
                          struct local_rootfs *ret_rootfs, GError **error)
{
    g_autofree char *roots = g_build_filename(g_get_user_cache_dir(),
                                              "stepback", "roots", NULL);
    g_autofree char *tree = NULL;
    fd_auto int making = -1;
    struct stat st;

    if (stat(rootfs, &st) < 0)
        return fail(error, "read", rootfs);
    tree = tree_path(roots, image, &st);
    if (g_mkdir_with_parents(roots, 0700) < 0)
        return fail(error, "create", roots);
    making = lock_folder(roots, LOCK_EX);
    if (making < 0)
        return fail(error, "lock", roots);
    if (access(tree, F_OK) < 0 && !unpack(rootfs, roots, tree, error))
        return FALSE;
    ret_rootfs->lock = lock_folder(tree, LOCK_SH);
    if (ret_rootfs->lock < 0)
        return fail(error, "lock", tree);
    sweep(roots, image, tree);
    ret_rootfs->path = g_steal_pointer(&tree);
    return TRUE;
}

gboolean local_rootfs_open(const char *image, struct local_rootfs *ret_rootfs,
                           GError **error)
{
    struct guest_image *found = guest_image_find(image, NULL, NULL, NULL,
                                                 error);
    gboolean ok = FALSE;

    if (!found)
        return FALSE;
    if (found->rootfs)
        ok = open_tree(image, found->rootfs, ret_rootfs, error);
    else
        g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                    "--rootfs: the image '%s' has no root file system; use "
                    "--rootfs=debian",
                    image);
    guest_image_free(found);
    return ok;
}

void local_rootfs_clear(struct local_rootfs *rootfs)
{
    fd_close(&rootfs->lock);
    g_clear_pointer(&rootfs->path, g_free);
}
