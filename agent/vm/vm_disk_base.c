/* SPDX-License-Identifier: Apache-2.0
 *
 * vm_disk_base - see vm_disk_base.h.
 *
 * base.ext4 appears complete, by a rename, and base.json after it. A clone and
 * a copy get the times of their source: so base.json describes all three, and
 * also the image's root disk while that is not replaced. A lock of the folder
 * lets one process at a time write base.ext4.new. The time of the last change
 * of the inode is not compared: each link to a file changes it.
 */
#include "agent/vm/vm_disk_base.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <linux/fs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/errors.h"
#include "common/fd.h"

enum { MAX_NOTES = 64 << 10, PIECE = 1 << 20 };

static gboolean fail(GError **error, const char *path, const char *why)
{
    g_set_error(error, STEPBACK_ERROR, ERROR_VM_LAUNCH_FAILED, "%s: %s", path,
                why);
    return FALSE;
}

static char *path_in(const char *dir, const char *name)
{
    return g_build_filename(dir, name, NULL);
}

/* ---- base.json ----------------------------------------------------------- */

/* Return a new object; NULL: base.json is missing or damaged. */
static json_t *read_notes(const char *dir)
{
    g_autofree char *path = path_in(dir, VM_DISK_BASE_NOTES);
    g_autofree char *text = NULL;
    json_t *notes = NULL;
    size_t len;

    if (fd_read_file(AT_FDCWD, path, MAX_NOTES, &text, &len) == 0)
        notes = json_loadb(text, len, 0, NULL);
    if (json_is_object(notes))
        return notes;
    json_decref(notes);
    return NULL;
}

static char *source_of(const json_t *notes)
{
    const char *uri = json_string_value(json_object_get(notes, "file"));

    return uri ? g_filename_from_uri(uri, NULL, NULL) : NULL;
}

static bool describes(const json_t *notes, const struct stat *st)
{
    const struct {
        const char *name;
        intmax_t value;
    } numbers[] = {
        { "size", st->st_size },
        { "mtime_s", st->st_mtim.tv_sec },
        { "mtime_ns", st->st_mtim.tv_nsec },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(numbers); i++) {
        const json_t *value = json_object_get(notes, numbers[i].name);

        if (!json_is_integer(value) ||
            json_integer_value(value) != numbers[i].value)
            return false;
    }
    return S_ISREG(st->st_mode);
}

static gboolean write_notes(const char *dir, const char *rootfs,
                            const struct stat *st, GError **error)
{
    g_autofree char *uri = g_filename_to_uri(rootfs, NULL, NULL);
    g_autofree char *path = path_in(dir, VM_DISK_BASE_NOTES);
    g_autoptr(GError) cause = NULL;
    json_t *notes = json_pack("{s:s?, s:I, s:I, s:I}", "file", uri, "size",
                              (json_int_t)st->st_size, "mtime_s",
                              (json_int_t)st->st_mtim.tv_sec, "mtime_ns",
                              (json_int_t)st->st_mtim.tv_nsec);
    char *text = notes ? json_dumps(notes, JSON_COMPACT) : NULL;
    gboolean ok = text && g_file_set_contents(path, text, -1, &cause);

    json_decref(notes);
    free(text);
    return ok || fail(error, "the machine's disk",
                      cause ? cause->message : "cannot describe its image");
}

/* ---- base.ext4 ----------------------------------------------------------- */

/* Copy the data between two offsets. Return 0 or -errno. */
static int copy_range(int from, int to, off_t start, off_t end)
{
    g_autofree char *piece = g_malloc(PIECE);

    while (start < end) {
        size_t want = (size_t)MIN((off_t)PIECE, end - start);
        ssize_t n = pread(from, piece, want, start);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -EIO;
        for (ssize_t done = 0, m; done < n; done += m) {
            m = pwrite(to, piece + done, (size_t)(n - done), start + done);
            if (m < 0 && errno == EINTR)
                m = 0;
            if (m < 0)
                return -errno;
        }
        start += n;
    }
    return 0;
}

/* Copy a file, and keep its holes. Return 0 or -errno. */
static int copy_file(int from, int to, off_t size)
{
    off_t start, end = 0;
    int rc = 0;

    if (ftruncate(to, size) < 0)
        return -errno;
    while (rc == 0 && end < size) {
        start = lseek(from, end, SEEK_DATA);
        if (start < 0)
            return errno == ENXIO ? 0 : -errno;
        end = lseek(from, start, SEEK_HOLE);
        if (end < 0)
            return -errno;
        rc = copy_range(from, to, start, MIN(end, size));
    }
    return rc;
}

/* Make path a clone of the file, or a link to it, or a copy. Return 0 or
 * -errno. */
static int duplicate(int from, const struct stat *st, const char *path)
{
    const struct timespec times[2] = { st->st_atim, st->st_mtim };
    g_autofree char *opened = g_strdup_printf("/proc/self/fd/%d", from);
    fd_auto int to = -1;
    int rc;

    unlink(path);
    to = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (to < 0)
        return -errno;
    if (ioctl(to, FICLONE, from) < 0) {
        unlink(path);
        /* Others' files cannot be linked: fs.protected_hardlinks. */
        if (linkat(AT_FDCWD, opened, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0)
            return 0;
        fd_close(&to);
        to = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (to < 0)
            return -errno;
        rc = copy_file(from, to, st->st_size);
        if (rc < 0)
            return rc;
    }
    return futimens(to, times) < 0 || fdatasync(to) < 0 ? -errno : 0;
}

/* Return whether no process has written to a file since *then. */
static bool is_unchanged(int fd, const struct stat *then)
{
    struct stat now;

    return fstat(fd, &now) == 0 && now.st_size == then->st_size &&
           now.st_mtim.tv_sec == then->st_mtim.tv_sec &&
           now.st_mtim.tv_nsec == then->st_mtim.tv_nsec;
}

/* Make base.ext4 of the open file from, whose status is *st. */
static gboolean publish(const char *dir, int from, const struct stat *st,
                        GError **error)
{
    g_autofree char *fresh = path_in(dir, VM_DISK_BASE_NEW);
    g_autofree char *path = path_in(dir, VM_DISK_BASE);
    int rc = duplicate(from, st, fresh);

    if (rc == 0 && !is_unchanged(from, st))
        rc = -EBUSY;
    if (rc == 0 && rename(fresh, path) < 0)
        rc = -errno;
    if (rc == 0)
        return TRUE;
    unlink(fresh);
    return fail(error, path, g_strerror(-rc));
}

/* Make base.ext4 of a root disk. notes: its description, and an existing base
 * stays; NULL: the description is written. */
static gboolean take(const char *dir, const char *rootfs, const json_t *notes,
                     GError **error)
{
    g_autofree char *path = path_in(dir, VM_DISK_BASE);
    fd_auto int folder = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    fd_auto int from = open(rootfs, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;

    if (from < 0 || fstat(from, &st) < 0)
        return fail(error, rootfs, g_strerror(errno));
    if (!S_ISREG(st.st_mode))
        return fail(error, rootfs, "not a file; --persist needs one");
    if (folder < 0 || flock(folder, LOCK_EX) < 0)
        return fail(error, dir, g_strerror(errno));
    if (notes && access(path, F_OK) == 0)
        return TRUE;
    if (notes && !describes(notes, &st))
        return fail(error, rootfs, "another process has replaced it");
    return publish(dir, from, &st, error) &&
           (notes || write_notes(dir, rootfs, &st, error));
}

/* ---- the interface ------------------------------------------------------- */

gboolean vm_disk_base_make(const char *dir, const char *rootfs, GError **error)
{
    g_autofree char *path = path_in(dir, VM_DISK_BASE);

    /* A rename does nothing if both are links to one file. */
    if (unlink(path) < 0 && errno != ENOENT)
        return fail(error, path, g_strerror(errno));
    return take(dir, rootfs, NULL, error);
}

/* Return whether base.ext4 exists, after it was made for a disk of an older
 * version if possible. */
static gboolean find_base(const char *dir, const json_t *notes, bool *ret_found,
                          GError **error)
{
    g_autofree char *path = path_in(dir, VM_DISK_BASE);
    g_autofree char *source = source_of(notes);
    struct stat st;

    *ret_found = lstat(path, &st) == 0;
    if (*ret_found || errno != ENOENT || !source || stat(source, &st) < 0 ||
        !describes(notes, &st))
        return TRUE;
    *ret_found = true;
    return take(dir, source, notes, error);
}

gboolean vm_disk_base_check(const char *dir, GError **error)
{
    g_autofree char *path = path_in(dir, VM_DISK_BASE);
    json_t *notes = read_notes(dir);
    bool found = false, same;
    gboolean ok = find_base(dir, notes, &found, error);
    struct stat st;

    same = found && lstat(path, &st) == 0 && describes(notes, &st);
    json_decref(notes);
    if (ok && !same)
        g_set_error(error, STEPBACK_ERROR, ERROR_VM_LAUNCH_FAILED,
                    "the machine's disk %s/disk.qcow2 was made for another "
                    "build of the image and cannot be used with this one; "
                    "--new-disk (session.reset in the API) starts with a new "
                    "disk",
                    dir);
    return ok && same;
}

gboolean vm_disk_base_keep(const char *dir, GError **error)
{
    json_t *notes = read_notes(dir);
    bool found;
    gboolean ok = find_base(dir, notes, &found, error);

    json_decref(notes);
    return ok;
}

bool vm_disk_base_is(const char *dir, const char *rootfs)
{
    json_t *notes = read_notes(dir);
    struct stat st;
    bool same = notes && stat(rootfs, &st) == 0 && describes(notes, &st);

    json_decref(notes);
    return same;
}

char *vm_disk_base_source(const char *dir)
{
    json_t *notes = read_notes(dir);
    char *source = source_of(notes);

    json_decref(notes);
    return source;
}
