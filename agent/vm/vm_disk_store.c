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
#include <jansson.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/errors.h"
#include "common/fd.h"

enum { MAX_BASE = 64 << 10, DIR_FLAGS = O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC };

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

/* Open the directory of a disk and lock the disk: *ret_lock is a new fd. Return
 * a new fd, or -1 and errno: EWOULDBLOCK if a machine uses it. */
static int open_locked(int root, const char *name, int *ret_lock)
{
    fd_auto int dir = openat(root, name, DIR_FLAGS);
    fd_auto int lock = -1;
    struct stat st;

    if (dir < 0 || fstat(dir, &st) < 0)
        return -1;
    if (st.st_uid != geteuid()) {
        errno = EPERM;
        return -1;
    }
    lock = openat(dir, "lock", O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (lock < 0 || flock(lock, LOCK_EX | LOCK_NB) < 0)
        return -1;
    *ret_lock = fd_steal(&lock);
    return fd_steal(&dir);
}

/* Return the name of the image that base.json describes, or NULL. */
static char *read_image(int dir)
{
    g_autofree char *text = NULL, *path = NULL, *folder = NULL;
    const char *uri;
    size_t len;
    json_t *base;

    if (fd_read_file(dir, "base.json", MAX_BASE, &text, &len) != 0)
        return NULL;
    base = json_loadb(text, len, 0, NULL);
    uri = json_string_value(json_object_get(base, "file"));
    path = uri ? g_filename_from_uri(uri, NULL, NULL) : NULL;
    json_decref(base);
    folder = path ? g_path_get_dirname(path) : NULL;
    return folder ? g_path_get_basename(folder) : NULL;
}

/* Return NULL if there is no disk, or it is in use. */
static struct vm_disk_entry *examine(int root, const char *name)
{
    fd_auto int lock = -1;
    fd_auto int dir = open_locked(root, name, &lock);
    struct vm_disk_entry *entry;
    struct stat st;

    if (dir < 0 || fstatat(dir, "disk.qcow2", &st, AT_SYMLINK_NOFOLLOW) < 0)
        return NULL;
    entry = g_new0(struct vm_disk_entry, 1);
    entry->name = g_strdup(name);
    entry->image = read_image(dir);
    entry->bytes = (guint64)st.st_blocks * 512;
    return entry;
}

static int compare(gconstpointer a, gconstpointer b)
{
    const struct vm_disk_entry *const *x = a, *const *y = b;

    return strcmp((*x)->name, (*y)->name);
}

GPtrArray *vm_disk_store_list(void)
{
    GPtrArray *list = g_ptr_array_new_with_free_func(entry_free);
    fd_auto int root = open_root();
    g_autofree char *path = g_strdup_printf("/proc/self/fd/%d", root);
    GDir *names = root >= 0 ? g_dir_open(path, 0, NULL) : NULL;
    const char *name;

    while (names && (name = g_dir_read_name(names))) {
        struct vm_disk_entry *entry = examine(root, name);

        if (entry)
            g_ptr_array_add(list, entry);
    }
    if (names)
        g_dir_close(names);
    g_ptr_array_sort(list, compare);
    return list;
}

gboolean vm_disk_store_remove(const char *name, GError **error)
{
    static const char *const files[] = { "disk.qcow2", "disk.qcow2.new",
                                         "base.json", "lock" };
    fd_auto int root = open_root();
    fd_auto int lock = -1;
    fd_auto int dir = root < 0 ? -1 : open_locked(root, name, &lock);
    bool ok = dir >= 0;

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
