/* SPDX-License-Identifier: Apache-2.0
 *
 * restore_busy - see restore_busy.h.
 */
#include "interceptor/restore/restore_busy.h"

#include <errno.h>
#include <fcntl.h>

#include "common/errors.h"
#include "common/fd.h"
#include "interceptor/sys/sys.h"

/* An O_PATH fd of what the survey has seen in the tree. */
static int open_entry(struct walker *walker, const struct survey_entry *entry)
{
    int dir = entry->dir ? walker_go(walker, entry->dir) : -ENOENT;

    return dir < 0 ? dir : sys_openat(dir, entry->name, O_PATH | O_NOFOLLOW, 0);
}

/* Will the kernel let it be written to? What else may be in the way is for
 * restore_content() to find out, which knows a way around the most of it. */
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
                      "written to: end that and try again"
                    : "undo: '%s' is leased (fcntl(2), F_SETLEASE); who has "
                      "the lease was asked to give it back: try again",
                path ? path : "a file without a name");
    return FALSE;
}

gboolean restore_check_busy(struct restore *r, GError **error)
{
    struct walker walker;
    GHashTableIter iter;
    gpointer value;
    const struct step_inode *inode = NULL;
    int rc = 0;

    survey_walker_init(&walker, r->survey, r->step, r->root);
    g_hash_table_iter_init(&iter, r->step->inodes);
    while (rc == 0 && g_hash_table_iter_next(&iter, NULL, &value)) {
        const struct survey_entry *entry = g_hash_table_lookup(
            r->survey->inodes, value);
        fd_auto int fd = -1;

        inode = value;
        if (!(inode->flags & STEP_DATA))
            continue;
        fd = entry ? open_entry(&walker, entry)
                   : sys_openat(r->blobs, step_inode_blob(inode->ino).text,
                                O_PATH | O_NOFOLLOW, 0);
        rc = try_open(fd);
    }
    walker_clear(&walker);
    return rc == 0 || refuse(r, inode, rc, error);
}
