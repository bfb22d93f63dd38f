/* SPDX-License-Identifier: Apache-2.0
 *
 * restore_busy - see restore_busy.h.
 */
#include "interceptor/restore/restore_busy.h"

#include <errno.h>
#include <fcntl.h>

#include "common/errors.h"
#include "common/fd.h"
#include "interceptor/capture/search.h"
#include "interceptor/restore/restore_alive.h"
#include "interceptor/sys/sys.h"

/* Open, O_PATH, an entry of the survey. */
static int open_entry(struct walker *walker, const struct survey_entry *entry)
{
    int dir = entry->dir ? walker_go(walker, entry->dir) : -ENOENT;

    return dir < 0 ? dir : sys_openat(dir, entry->name, O_PATH | O_NOFOLLOW, 0);
}

/* Return the errno if the kernel denies writing. restore_content() handles
 * other obstacles, most of which it can work around. */
static int try_open(int inode_fd)
{
    struct stat st;
    fd_auto int fd = -1;

    if (inode_fd < 0 || sys_stat_fd(inode_fd, &st) < 0 || !S_ISREG(st.st_mode))
        return 0;
    fd = sys_reopen(inode_fd, O_WRONLY | O_NONBLOCK);
    return fd == -ETXTBSY || fd == -EAGAIN ? fd : 0;
}

static gboolean refuse(const struct restore *r, const struct step_inode *inode,
                       int rc, GError **error)
{
    g_autofree char *path = step_path_before(r->step, inode, NULL);

    g_set_error(error, STEPBACK_ERROR, ERROR_BUSY,
                rc == -ETXTBSY
                    ? "undo: '%s' is running as a program and cannot be "
                      "written; stop it and try again"
                    : "undo: '%s' is leased (fcntl(2), F_SETLEASE), and its "
                      "holder was asked to release it; try again",
                path ? path : "a file without a name");
    return FALSE;
}

struct checker {
    struct restore *r;
    const struct step_inode *inode; /* its content is to be restored */
    int rc;                         /* the result of try_open() */
};

/* A file that no record leads to, but that attaching would find by its search.
 */
static int check_found(int dirfd, const char *name, uint64_t ino, void *opaque)
{
    struct checker *c = opaque;
    const struct step_inode *inode = step_find_inode(c->r->step, ino);
    fd_auto int fd = -1;
    int moved;

    if (!inode || restore_is_other(inode, dirfd, name))
        return -ENOENT;
    moved = restore_was_moved(c->r, inode, dirfd, name);
    if (moved != 0) /* it stays unchanged */
        return MIN(moved, 0);
    fd = sys_openat(dirfd, name, O_PATH | O_NOFOLLOW, 0);
    c->inode = inode;
    c->rc = try_open(fd);
    return c->rc;
}

/* Search directories that the log keeps, then the tree. restore_attach()
 * reports what cannot be searched. */
static void check_unplaced(struct checker *c, GHashTable *wanted)
{
    if (search_files(c->r->blobs, wanted, check_found, c) == 0)
        search_files(c->r->root, wanted, check_found, c);
}

gboolean restore_check_busy(struct restore *r, GError **error)
{
    g_autoptr(GHashTable) wanted = search_set_new();
    struct checker c = { .r = r };
    struct walker walker;
    GHashTableIter iter;
    gpointer value;

    survey_walker_init(&walker, r->survey, r->step, r->root);
    g_hash_table_iter_init(&iter, r->step->inodes);
    while (c.rc == 0 && g_hash_table_iter_next(&iter, NULL, &value)) {
        const struct survey_entry *entry = g_hash_table_lookup(
            r->survey->inodes, value);
        fd_auto int fd = -1;

        c.inode = value;
        if (!(c.inode->flags & STEP_DATA))
            continue;
        fd = entry ? open_entry(&walker, entry)
                   : sys_openat(r->blobs, step_inode_blob(c.inode->ino).text,
                                O_PATH | O_NOFOLLOW, 0);
        if (!entry && fd == -ENOENT && !(c.inode->flags & STEP_LOST))
            search_set_add(wanted, c.inode->ino);
        c.rc = try_open(fd);
    }
    walker_clear(&walker);
    if (c.rc == 0)
        check_unplaced(&c, wanted);
    return c.rc == 0 || refuse(r, c.inode, c.rc, error);
}
