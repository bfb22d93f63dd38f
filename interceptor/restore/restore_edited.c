/* SPDX-License-Identifier: Apache-2.0
 *
 * restore_edited - see restore_edited.h.
 */
#include "interceptor/restore/restore_edited.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "interceptor/restore/restore_alive.h"
#include "interceptor/restore/restore_base.h"
#include "interceptor/sys/sys.h"

/* The watcher cannot see files that the step removed into the log, but another
 * process may have them open and write. Files that have another name as well
 * are known already. */
static int note_kept(int blobs, const struct dirent *entry, void *opaque)
{
    struct restore *r = opaque;
    struct stat st;
    uint64_t ino;
    int rc;

    if (entry->d_name[0] != 'i')
        return 0;
    rc = sys_stat_name(blobs, entry->d_name, &st);
    if (rc < 0 || !S_ISREG(st.st_mode))
        return rc == -ENOENT ? 0 : rc;
    ino = g_ascii_strtoull(entry->d_name + 1, NULL, 10);
    if (g_hash_table_contains(r->edited, &ino))
        return 0;
    g_hash_table_insert(
        r->edited, g_memdup2(&ino, sizeof(ino)),
        GINT_TO_POINTER(sys_time_us(&st.st_ctim) > r->edited_since));
    return 0;
}

int restore_set_edited(struct restore *r, int64_t since_us, GHashTable *inodes)
{
    g_clear_pointer(&r->edited, g_hash_table_unref);
    r->edited = inodes;
    r->edited_since = since_us;
    return inodes && since_us < INT64_MAX
               ? sys_dir_each(r->blobs, ".", note_kept, r)
               : 0;
}

bool restore_is_edited(const char *name)
{
    return name[0] == 'e';
}

static bool is_edited(const struct restore *r, uint64_t ino,
                      const struct stat *st)
{
    gpointer edited;

    if (r->edited &&
        g_hash_table_lookup_extended(r->edited, &ino, NULL, &edited))
        return GPOINTER_TO_INT(edited) != 0;
    return sys_time_us(&st->st_ctim) > r->edited_since;
}

/* ---- copying ------------------------------------------------------------- */

struct copy_name restore_copy_name(uint64_t ino, int n)
{
    struct copy_name name;

    snprintf(name.text, sizeof(name.text), "e%" PRIu64 ".%d", ino, n);
    return name;
}

static int create_file(int dirfd, const char *name)
{
    return sys_openat(dirfd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW,
                      0600);
}

static int create_copy(int blobs, uint64_t ino)
{
    int fd = -EEXIST;

    for (int n = 0; fd == -EEXIST && n < RESTORE_MAX_COPIES; n++)
        fd = create_file(blobs, restore_copy_name(ino, n).text);
    return fd;
}

/* Copy the file to a new one. fd: O_PATH; to: taken. */
static int copy_content(int fd, off_t size, int to)
{
    fd_auto int created = to;
    fd_auto int from = sys_reopen(fd, O_RDONLY | O_NONBLOCK);
    int rc;

    if (created < 0)
        return created;
    if (from == -EACCES && sys_chmod_fd(fd, 0600) == 0) /* our file; its mode is
                                                         * set later */
        from = sys_reopen(fd, O_RDONLY | O_NONBLOCK);
    rc = from < 0 ? from : restore_copy_data(from, created, size);
    return rc < 0 ? rc : sys_fsync(created); /* the only copy */
}

/* Copy the file's content to blobs/. fd: O_PATH. 0 or -errno. */
static int save_copy(struct restore *r, uint64_t ino, int fd, off_t size)
{
    return copy_content(fd, size, create_copy(r->blobs, ino));
}

int restore_save_as(int dirfd, const char *name, const struct stat *st, int to,
                    const char *to_name)
{
    char target[PATH_MAX];
    fd_auto int fd = -1;
    ssize_t len;

    if (S_ISLNK(st->st_mode)) {
        len = readlinkat(dirfd, name, target, sizeof(target) - 1);
        if (len < 0)
            return -errno;
        target[len] = '\0';
        return sys_symlinkat(target, to, to_name);
    }
    if (!S_ISREG(st->st_mode))
        return 0;
    fd = sys_openat(dirfd, name, O_PATH | O_NOFOLLOW, 0);
    return fd < 0 ? fd
                  : copy_content(fd, st->st_size, create_file(to, to_name));
}

int restore_save_name(struct restore *r, int dirfd, const char *name,
                      const struct stat *st)
{
    int rc = -EEXIST;

    for (int n = 0; rc == -EEXIST && n < RESTORE_MAX_COPIES; n++)
        rc = restore_save_as(dirfd, name, st, r->blobs,
                             restore_copy_name(st->st_ino, n).text);
    return rc;
}

int restore_save_edited(struct restore *r, uint64_t ino, int fd)
{
    struct stat st;
    int rc = sys_stat_fd(fd, &st);

    return rc < 0 || !is_edited(r, ino, &st)
               ? rc
               : save_copy(r, ino, fd, st.st_size);
}
