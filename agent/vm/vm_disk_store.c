/* SPDX-License-Identifier: Apache-2.0
 *
 * vm_disk_store - see vm_disk_store.h.
 *
 * Only files with the names of vm_disk.h are removed, and symlinks are not
 * followed.
 */
#include "agent/vm/vm_disk_store.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/vm/vm_disk_base.h"
#include "common/errors.h"
#include "common/fd.h"

enum { DIR_FLAGS = O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC };

static void entry_free(gpointer data)
{
    struct vm_disk_entry *entry = data;

    g_free(entry->name);
    g_free(entry->image);
    g_free(entry);
}

static int open_root(void)
{
    g_autofree char *path = g_build_filename(g_get_user_state_dir(), "stepback",
                                             "vm", NULL);

    return open(path, DIR_FLAGS);
}

/* Open the directory of a disk. Return a new fd, or -1 and errno. */
static int open_dir(int root, const char *name)
{
    fd_auto int dir = openat(root, name, DIR_FLAGS);
    struct stat st;

    if (dir < 0 || fstat(dir, &st) < 0)
        return -1;
    if (st.st_uid != geteuid()) {
        errno = EPERM;
        return -1;
    }
    return fd_steal(&dir);
}

/* Lock a disk. Return a new fd, or -1 and errno: EWOULDBLOCK if a machine uses
 * it. */
static int lock_disk(int dir)
{
    fd_auto int lock = openat(dir, "lock",
                              O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);

    if (lock < 0 || flock(lock, LOCK_EX | LOCK_NB) < 0)
        return -1;
    return fd_steal(&lock);
}

static char *path_of(int dir)
{
    return g_strdup_printf("/proc/self/fd/%d", dir);
}

/* Return the name of the image that the disk was made of, or NULL. */
static char *read_image(int dir)
{
    g_autofree char *path = path_of(dir);
    g_autofree char *source = vm_disk_base_source(path);
    g_autofree char *folder = source ? g_path_get_dirname(source) : NULL;

    return folder ? g_path_get_basename(folder) : NULL;
}

static guint64 space_of(int dir)
{
    struct stat disk, base;
    guint64 bytes = 0;

    if (fstatat(dir, "disk.qcow2", &disk, AT_SYMLINK_NOFOLLOW) == 0)
        bytes = (guint64)disk.st_blocks * 512;
    if (fstatat(dir, VM_DISK_BASE, &base, AT_SYMLINK_NOFOLLOW) == 0 &&
        base.st_nlink == 1)
        bytes += (guint64)base.st_blocks * 512;
    return bytes;
}

/* Return NULL if there is no disk. */
static struct vm_disk_entry *examine(int root, const char *name)
{
    fd_auto int dir = open_dir(root, name);
    fd_auto int lock = dir < 0 ? -1 : lock_disk(dir);
    bool is_used = dir >= 0 && lock < 0 && errno == EWOULDBLOCK;
    struct vm_disk_entry *entry;

    if ((lock < 0 && !is_used) || faccessat(dir, "disk.qcow2", F_OK, 0) < 0)
        return NULL;
    entry = g_new0(struct vm_disk_entry, 1);
    entry->name = g_strdup(name);
    entry->image = read_image(dir);
    entry->bytes = space_of(dir);
    entry->is_used = is_used;
    return entry;
}

static int compare(gconstpointer a, gconstpointer b)
{
    const struct vm_disk_entry *const *x = a, *const *y = b;

    return strcmp((*x)->name, (*y)->name);
}

GPtrArray *vm_disk_store_list(bool with_used)
{
    GPtrArray *list = g_ptr_array_new_with_free_func(entry_free);
    fd_auto int root = open_root();
    g_autofree char *path = path_of(root);
    GDir *names = root >= 0 ? g_dir_open(path, 0, NULL) : NULL;
    const char *name;

    while (names && (name = g_dir_read_name(names))) {
        struct vm_disk_entry *entry = examine(root, name);

        if (entry && (with_used || !entry->is_used))
            g_ptr_array_add(list, entry);
        else if (entry)
            entry_free(entry);
    }
    if (names)
        g_dir_close(names);
    g_ptr_array_sort(list, compare);
    return list;
}

/* A disk without a base of its own is in use only by a machine of an older
 * version, whose QEMU has opened the image's root disk: a base beside that disk
 * does not disturb it. */
guint vm_disk_store_keep_bases(GError **ret_error)
{
    g_autoptr(GPtrArray) disks = vm_disk_store_list(true);
    fd_auto int root = open_root();
    guint failed = 0;

    for (guint i = 0; i < disks->len; i++) {
        const struct vm_disk_entry *entry = disks->pdata[i];
        fd_auto int dir = open_dir(root, entry->name);
        g_autofree char *path = path_of(dir);

        if (dir >= 0 && !vm_disk_base_keep(path, failed ? NULL : ret_error))
            failed++;
    }
    return failed;
}

gboolean vm_disk_store_remove(const char *name, GError **error)
{
    static const char *const files[] = { "disk.qcow2",       "disk.qcow2.new",
                                         VM_DISK_BASE_NOTES, VM_DISK_BASE,
                                         VM_DISK_BASE_NEW,   "lock" };
    fd_auto int root = open_root();
    fd_auto int dir = root < 0 ? -1 : open_dir(root, name);
    fd_auto int lock = dir < 0 ? -1 : lock_disk(dir);
    bool ok = lock >= 0;

    for (size_t i = 0; ok && i < G_N_ELEMENTS(files); i++)
        ok = unlinkat(dir, files[i], 0) == 0 || errno == ENOENT;
    if (ok && unlinkat(root, name, AT_REMOVEDIR) == 0)
        return TRUE;
    if (errno == EWOULDBLOCK)
        g_set_error(error, STEPBACK_ERROR, ERROR_BUSY,
                    "disk %s: a machine uses it; stop it first", name);
    else
        g_set_error(error, STEPBACK_ERROR, ERROR_IO_ERROR,
                    "disk %s: cannot remove it: %s", name, g_strerror(errno));
    return FALSE;
}
