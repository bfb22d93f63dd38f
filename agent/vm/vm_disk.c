/* SPDX-License-Identifier: Apache-2.0
 *
 * vm_disk - see vm_disk.h.
 *
 * The base and its description are made before the disk and removed after it,
 * each under the lock. So an existing disk always has its base, even if the
 * process was killed at any point.
 */
#include "agent/vm/vm_disk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/machine/share_check.h"
#include "agent/vm/vm_disk_base.h"
#include "common/errors.h"
#include "common/fd.h"
#include "common/host_environ.h"
#include "common/host_program.h"
#include "common/log.h"

#define QEMU_IMG         "qemu-img"
#define QEMU_IMG_PACKAGE "qemu-utils"

struct vm_disk {
    char *dir, *path, *base;
    const char *rootfs; /* of the image */
    int lock;
};

static gboolean fail(GError **error, enum error_code code, const char *what,
                     const char *why)
{
    g_set_error(error, STEPBACK_ERROR, code, "%s: %s", what, why);
    return FALSE;
}

/* ---- creation and removal ------------------------------------------------ */

static gboolean remove_file(const char *path, GError **error)
{
    return unlink(path) == 0 || errno == ENOENT ||
           fail(error, ERROR_VM_LAUNCH_FAILED, path, g_strerror(errno));
}

/* Create the disk atomically. */
static gboolean make_disk(const struct vm_disk *disk, GError **error)
{
    g_autofree char *fresh = g_strdup_printf("%s.new", disk->path);
    g_autofree char *program = host_program_find(QEMU_IMG);
    g_auto(GStrv) env = host_environ_new(NULL);
    const char *const argv[] = {
        program,    "create", "-q",  "-f",  "qcow2", "-b",
        disk->base, "-F",     "raw", fresh, NULL,
    };
    g_autofree char *words = NULL;
    g_autoptr(GError) cause = NULL;
    int status;

    if (!program)
        return fail(error, ERROR_VM_LAUNCH_FAILED,
                    QEMU_IMG " is not installed; install it with",
                    "apt-get install " QEMU_IMG_PACKAGE);
    if (!g_spawn_sync("/", (char **)argv, env, G_SPAWN_STDOUT_TO_DEV_NULL, NULL,
                      NULL, NULL, &words, &status, &cause) ||
        !g_spawn_check_wait_status(status, &cause)) {
        unlink(fresh);
        return fail(error, ERROR_VM_LAUNCH_FAILED, cause->message,
                    words ? g_strstrip(words) : "");
    }
    return rename(fresh, disk->path) == 0 ||
           fail(error, ERROR_VM_LAUNCH_FAILED, disk->path, g_strerror(errno));
}

static gboolean remove_disk(const struct vm_disk *disk, GError **error)
{
    g_autofree char *notes = g_build_filename(disk->dir, VM_DISK_BASE_NOTES,
                                              NULL);

    return remove_file(disk->path, error) && remove_file(notes, error) &&
           remove_file(disk->base, error);
}

static gboolean prepare(const struct vm_disk *disk, bool wipe, GError **error)
{
    if (wipe && !remove_disk(disk, error))
        return FALSE;
    if (access(disk->path, F_OK) == 0) {
        if (!vm_disk_base_check(disk->dir, error))
            return FALSE;
        if (!vm_disk_base_is(disk->dir, disk->rootfs))
            log_info(LOG_SESSION,
                     "the machine's disk has the system of an older build of "
                     "the image; --new-disk (session.reset in the API) takes "
                     "the present one");
        return TRUE;
    }
    log_info(LOG_SESSION, "created a new disk for the machine: %s", disk->path);
    return vm_disk_base_make(disk->dir, disk->rootfs, error) &&
           make_disk(disk, error);
}

/* ---- locking and opening ------------------------------------------------- */

static gboolean lock_disk(struct vm_disk *disk, GError **error)
{
    g_autofree char *path = g_build_filename(disk->dir, "lock", NULL);
    struct stat st;

    if (g_mkdir_with_parents(disk->dir, 0700) < 0 || lstat(disk->dir, &st) < 0)
        return fail(error, ERROR_VM_LAUNCH_FAILED, disk->dir,
                    g_strerror(errno));
    /* After "sudo -E" the directory belongs to another user, who could choose
     * which file is written. */
    if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() ||
        (st.st_mode & S_IWOTH))
        return fail(error, ERROR_VM_LAUNCH_FAILED, disk->dir,
                    "another user can write to it; set XDG_STATE_HOME to a "
                    "folder of your own");
    disk->lock = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (disk->lock < 0)
        return fail(error, ERROR_VM_LAUNCH_FAILED, path, g_strerror(errno));
    if (flock(disk->lock, LOCK_EX | LOCK_NB) < 0)
        return fail(error, ERROR_BUSY, disk->path,
                    "another session uses this machine's disk");
    return TRUE;
}

/* A folder of the same name elsewhere, or another image, is another machine. */
static char *build_disk_dir(const char *folder, const char *rootfs)
{
    g_autofree char *name = g_path_get_basename(folder);
    g_autofree char *both = g_strdup_printf("%s\n%s", folder, rootfs);
    g_autofree char *hash = g_compute_checksum_for_string(G_CHECKSUM_SHA256,
                                                          both, -1);
    g_autofree char *full = g_strdup_printf("%s-%.12s", name, hash);

    return g_build_filename(g_get_user_state_dir(), "stepback", "vm", full,
                            NULL);
}

struct vm_disk *vm_disk_open(const struct session_config *config,
                             const struct guest_image *image, GError **error)
{
    struct vm_disk *disk;

    if (!image->rootfs) {
        g_set_error_literal(
            error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
            "the image runs in memory and has no disk to keep (--persist); use "
            "the image debian");
        return NULL;
    }
    disk = g_new0(struct vm_disk, 1);
    disk->rootfs = image->rootfs;
    disk->lock = -1;
    disk->dir = build_disk_dir(config->directories[0]->path, image->rootfs);
    disk->path = g_build_filename(disk->dir, "disk.qcow2", NULL);
    disk->base = g_build_filename(disk->dir, VM_DISK_BASE, NULL);
    if (share_check_state(config, "the machine's disk", disk->path, error) &&
        lock_disk(disk, error) && prepare(disk, config->wipe, error))
        return disk;
    vm_disk_free(disk);
    return NULL;
}

void vm_disk_free(struct vm_disk *disk)
{
    if (!disk)
        return;
    fd_close(&disk->lock);
    g_free(disk->dir);
    g_free(disk->path);
    g_free(disk->base);
    g_free(disk);
}

const char *vm_disk_path(const struct vm_disk *disk)
{
    return disk ? disk->path : NULL;
}

const char *vm_disk_base(const struct vm_disk *disk)
{
    return disk ? disk->base : NULL;
}

bool vm_disk_fits_image(const struct vm_disk *disk)
{
    struct stat base, rootfs;

    return stat(disk->base, &base) == 0 && stat(disk->rootfs, &rootfs) == 0 &&
           base.st_size == rootfs.st_size;
}
