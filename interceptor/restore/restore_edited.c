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

enum { MAX_COPIES = 100 /* of one file, of several tries */ };

/* What the step removed is in none of the places that others can look at, but
 * they may have it open. What has another name is known already. */
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

/* A fresh one: that of a try which was killed may be whole, and the file half
 * restored since. */
struct copy_name {
    char text[48];
};

static struct copy_name copy_name(uint64_t ino, int n)
{
    struct copy_name name;

    snprintf(name.text, sizeof(name.text), "e%" PRIu64 ".%d", ino, n);
    return name;
}

static int create_copy(int blobs, uint64_t ino)
{
    int fd = -EEXIST;

    for (int n = 0; fd == -EEXIST && n < MAX_COPIES; n++)
        fd = sys_openat(blobs, copy_name(ino, n).text,
                        O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    return fd;
}

int restore_save_copy(struct restore *r, uint64_t ino, int fd, off_t size)
{
    fd_auto int from = sys_reopen(fd, O_RDONLY | O_NONBLOCK);
    fd_auto int to = -1;
    int rc;

    if (from == -EACCES && sys_chmod_fd(fd, 0600) == 0) /* it is set later */
        from = sys_reopen(fd, O_RDONLY | O_NONBLOCK);
    if (from < 0)
        return from;
    to = create_copy(r->blobs, ino);
    rc = to < 0 ? to : restore_copy_data(from, to, size);
    return rc < 0 ? rc : sys_fsync(to); /* the only copy */
}

static int save_link(struct restore *r, int dirfd, const char *name,
                     uint64_t ino)
{
    char target[PATH_MAX];
    ssize_t len = readlinkat(dirfd, name, target, sizeof(target) - 1);
    int rc = -EEXIST;

    if (len < 0)
        return -errno;
    target[len] = '\0';
    for (int n = 0; rc == -EEXIST && n < MAX_COPIES; n++)
        rc = sys_symlinkat(target, r->blobs, copy_name(ino, n).text);
    return rc;
}

int restore_save_name(struct restore *r, int dirfd, const char *name,
                      const struct stat *st)
{
    fd_auto int fd = -1;

    if (S_ISLNK(st->st_mode))
        return save_link(r, dirfd, name, st->st_ino);
    if (!S_ISREG(st->st_mode))
        return 0;
    fd = sys_openat(dirfd, name, O_PATH | O_NOFOLLOW, 0);
    return fd < 0 ? fd : restore_save_copy(r, st->st_ino, fd, st->st_size);
}

int restore_save_edited(struct restore *r, uint64_t ino, int fd)
{
    struct stat st;
    int rc = sys_stat_fd(fd, &st);

    return rc < 0 || !is_edited(r, ino, &st)
               ? rc
               : restore_save_copy(r, ino, fd, st.st_size);
}
