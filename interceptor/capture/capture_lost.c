/* SPDX-License-Identifier: Apache-2.0
 *
 * capture_lost - see capture_lost.h.
 */
#include "interceptor/capture/capture_lost.h"

#include <errno.h>
#include <fcntl.h>

#include "common/fd.h"
#include "interceptor/capture/search.h"
#include "interceptor/sys/sys.h"

struct lost {
    struct wal *wal;
    struct ic_inode *inode;
};

/* Names that the step has made do not count. */
static int found_name(int dirfd, const char *name, uint64_t ino, void *opaque)
{
    const struct lost *lost = opaque;
    fd_auto int fd = sys_openat(dirfd, ".", O_PATH | O_DIRECTORY, 0);
    struct step_inode *dir;
    struct ic_inode *parent;
    struct stat st;
    int rc;

    rc = fd < 0 ? fd : sys_stat_fd(fd, &st);
    if (rc < 0)
        return rc;
    dir = step_find_inode(lost->wal->step, st.st_ino);
    if (dir && (dir->flags & STEP_CREATED ||
                step_find_binding(lost->wal->step, dir, name)))
        return -ENOENT;
    parent = inode_table_take(lost->wal->inodes, fd_steal(&fd), &st, 0, NULL,
                              NULL);
    inode_set_place(lost->inode, parent, name);
    ic_inode_unref(parent);
    return 0;
}

int capture_find_lost(struct wal *wal, struct ic_inode *inode)
{
    struct lost lost = { wal, inode };

    return S_ISDIR(inode->type)
               ? -ENOENT
               : search_file(wal->root, inode->ino, found_name, &lost);
}
