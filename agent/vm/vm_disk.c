/* SPDX-License-Identifier: Apache-2.0
 *
 * vm_disk - see vm_disk.h.
 *
 * base.json is written before the disk and removed before it, each under the
 * lock. So an existing disk always has its base recorded, even if the process
 * was killed at any point.
 */
#include "agent/vm/vm_disk.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/machine/share_check.h"
#include "common/errors.h"
#include "common/fd.h"
#include "common/host_environ.h"
#include "common/host_program.h"
#include "common/log.h"

#define QEMU_IMG         "qemu-img"
#define QEMU_IMG_PACKAGE "qemu-utils"

enum { MAX_BASE = 64 << 10 };

struct vm_disk {
    char *dir, *path, *base; /* base: base.json */
    const char *rootfs;
    int lock;
};

static gboolean fail(GError **error, enum error_code code, const char *what,
                     const char *why)
{
    g_set_error(error, STEPBACK_ERROR, code, "%s: %s", what, why);
    return FALSE;
}

/* ---- the base disk ------------------------------------------------------- */

/* Describe the current base disk; NULL: it cannot be examined. */
static json_t *describe_base(const struct vm_disk *disk)
{
    g_autofree char *uri = g_filename_to_uri(disk->rootfs, NULL, NULL);
    struct stat st;

    if (!uri || stat(disk->rootfs, &st) < 0)
        return NULL;
    return json_pack("{s:s, s:I, s:I, s:I}", "file", uri, "size",
                     (json_int_t)st.st_size, "mtime_s",
                     (json_int_t)st.st_mtim.tv_sec, "mtime_ns",
                     (json_int_t)st.st_mtim.tv_nsec);
}

static gboolean check_base(const struct vm_disk *disk, GError **error)
{
    g_autofree char *text = NULL;
    json_t *then = NULL, *now = describe_base(disk);
    gboolean same;
    size_t len;

    if (fd_read_file(AT_FDCWD, disk->base, MAX_BASE, &text, &len) == 0)
        then = json_loadb(text, len, 0, NULL);
    same = then && now && json_equal(then, now);
    json_decref(then);
    json_decref(now);
    if (!same)
        g_set_error(error, STEPBACK_ERROR, ERROR_VM_LAUNCH_FAILED,
                    "the machine's disk %s was made for another build of the "
                    "image and cannot be used with this one; --new-disk "
                    "(session.reset in the API) starts with a new disk",
                    disk->path);
    return same;
}

static gboolean write_base(const struct vm_disk *disk, GError **error)
{
    json_t *base = describe_base(disk);
    char *text = base ? json_dumps(base, JSON_COMPACT) : NULL;
    g_autoptr(GError) cause = NULL;
    gboolean ok = text && g_file_set_contents(disk->base, text, -1, &cause);

    json_decref(base);
    free(text);
    return ok || fail(error, ERROR_VM_LAUNCH_FAILED, "the machine's disk",
                      cause ? cause->message : "its image cannot be read");
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
        program,      "create", "-q",  "-f",  "qcow2", "-b",
        disk->rootfs, "-F",     "raw", fresh, NULL,
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

static gboolean prepare(const struct vm_disk *disk, bool wipe, GError **error)
{
    if (wipe &&
        (!remove_file(disk->path, error) || !remove_file(disk->base, error)))
        return FALSE;
    if (access(disk->path, F_OK) == 0)
        return check_base(disk, error);
    log_info(LOG_SESSION, "created a new disk for the machine: %s", disk->path);
    return write_base(disk, error) && make_disk(disk, error);
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
    disk->base = g_build_filename(disk->dir, "base.json", NULL);
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
