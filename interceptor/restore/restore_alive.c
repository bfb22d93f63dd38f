/* SPDX-License-Identifier: Apache-2.0
 *
 * restore_alive - see restore_alive.h.
 */
#include "interceptor/restore/restore_alive.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "interceptor/capture/search.h"
#include "interceptor/log/post_state.h"
#include "interceptor/sys/btime.h"
#include "interceptor/sys/sys.h"

enum { CHUNK = 1 << 20 };

/* ---- finding ------------------------------------------------------------- */

bool restore_is_other(const struct step_inode *inode, int dirfd,
                      const char *name)
{
    if (inode->born)
        return btime_of_name(dirfd, name) > inode->born;
    return inode->flags & STEP_SEEN &&
           btime_of_name(dirfd, name) > inode->seen.changed;
}

static int note_alive(int dirfd, const char *name, uint64_t ino, void *opaque)
{
    struct restore *r = opaque;
    const struct step_inode *inode = step_find_inode(r->step, ino);

    if (!inode || restore_is_other(inode, dirfd, name))
        return -ENOENT;
    search_set_add(r->alive, ino);
    return 0;
}

/* Search for all inodes at once: a walk through the tree is expensive. */
static int look_for_all(struct restore *r)
{
    g_autoptr(GHashTable) wanted = search_set_new();
    GHashTableIter iter;
    gpointer value;

    g_hash_table_iter_init(&iter, r->step->inodes);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        const struct step_inode *inode = value;

        if (inode != r->step->root && !inode->bindings && !inode->children)
            search_set_add(wanted, inode->ino);
    }
    return search_files(r->root, wanted, note_alive, r);
}

int restore_is_alive(struct restore *r, const struct step_inode *inode)
{
    int rc = 0;

    if (inode->flags & STEP_RETIRED)
        return 0;
    if (!r->alive) {
        r->alive = search_set_new();
        rc = look_for_all(r);
    }
    if (rc < 0) {
        g_clear_pointer(&r->alive, g_hash_table_unref);
        return rc;
    }
    return g_hash_table_contains(r->alive, &inode->ino);
}

/* ---- moved files --------------------------------------------------------- */

static bool is_place_of(const struct step_inode *inode, uint64_t dir,
                        const char *name)
{
    if (inode->home && step_is_now(inode->home, dir) &&
        strcmp(inode->home_name, name) == 0)
        return true;
    for (guint i = 0; inode->names && i < inode->names->len; i++) {
        const struct step_binding *binding = g_ptr_array_index(inode->names, i);

        if (step_is_now(binding->dir, dir) && strcmp(binding->name, name) == 0)
            return true;
    }
    return false;
}

static const struct step_inode *find_recorded(const struct step *step,
                                              uint64_t number)
{
    GHashTableIter iter;
    gpointer value;

    g_hash_table_iter_init(&iter, step->inodes);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        const struct step_inode *inode = value;

        if (inode->recorded == number)
            return inode;
    }
    for (guint i = 0; i < step->retired->len; i++) {
        const struct step_inode *inode = g_ptr_array_index(step->retired, i);

        if (inode->recorded == number)
            return inode;
    }
    return NULL;
}

/* Return whether the name is where the step left the file, in a directory that
 * has not moved either. */
static bool is_left_at(const struct restore *r, const struct post_state *post,
                       uint64_t dir, const char *name)
{
    const struct step_inode *known;
    int64_t born;

    if (!post->dir || strcmp(post->name, name) != 0)
        return false;
    known = find_recorded(r->step, post->dir->state.ino);
    return known ? step_is_now(known, dir)
                 : undo_log_alias(&post->dir->state, r->step->seq, &born,
                                  r->log) == dir;
}

int restore_was_moved(const struct restore *r, const struct step_inode *inode,
                      int dirfd, const char *name)
{
    const struct post_state *post = r->forced
                                        ? post_state_only_name(r->step, inode)
                                        : NULL;
    struct stat st, dir;
    int rc;

    if (!post || inode->flags & STEP_RETIRED)
        return 0;
    rc = sys_stat_name(dirfd, name, &st);
    if (rc == 0)
        rc = sys_stat_fd(dirfd, &dir);
    if (rc < 0)
        return rc;
    return S_ISREG(st.st_mode) && st.st_nlink == 1 &&
           !is_place_of(inode, dir.st_ino, name) &&
           !is_left_at(r, post, dir.st_ino, name);
}

/* ---- copying ------------------------------------------------------------- */

/* 1; 0 at the end of the file; or -errno. */
static int copy_part(int from, int to, char *chunk, off_t *offset)
{
    ssize_t n = pread(from, chunk, CHUNK, *offset);
    int rc = n <= 0 ? 0 : sys_pwrite_all(to, chunk, (size_t)n, *offset);

    if (n < 0)
        return -errno;
    *offset += n;
    return rc < 0 ? rc : n > 0;
}

int restore_copy_data(int from, int to, off_t size)
{
    g_autofree char *chunk = g_malloc(CHUNK);
    off_t offset = 0;
    int rc = sys_clone(from, to);

    if (rc == 0)
        return 0;
    rc = sys_ftruncate(to, size);
    while (rc == 0 && offset < size) {
        off_t data = lseek(from, offset, SEEK_DATA);

        if (data < 0)
            return errno == ENXIO ? 0 : -errno;
        offset = data;
        rc = copy_part(from, to, chunk, &offset);
        if (rc == 0)
            return 0; /* the file was truncated meanwhile */
        rc = MIN(rc, 0);
    }
    return rc;
}

int restore_copy_file(int source, int dirfd, const char *name)
{
    fd_auto int from = sys_reopen(source, O_RDONLY | O_NONBLOCK);
    fd_auto int to = -1;
    g_autoptr(meta_auto) meta = NULL;
    struct stat st;
    int rc = from < 0 ? from : sys_stat_fd(from, &st);

    if (rc == 0)
        rc = meta_read(from, &meta);
    if (rc < 0)
        return rc;
    to = sys_openat(dirfd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW,
                    0600);
    rc = to < 0 ? to : restore_copy_data(from, to, st.st_size);
    return rc < 0 ? rc : meta_apply(meta, to);
}
