/* SPDX-License-Identifier: Apache-2.0
 *
 * restore_relax - see restore_relax.h.
 */
#include "interceptor/restore/restore_relax.h"

#include "interceptor/sys/sys.h"

/* Record the metadata, and note the mode. What the step created needs neither.
 */
static int note_mode(struct restore *r, int fd, const struct stat *st)
{
    struct step_inode *inode = step_find_inode(r->step, st->st_ino);
    struct meta *meta;
    int rc = 0;

    if (!inode || inode->flags & (STEP_CREATED | STEP_LOST))
        return 0;
    if (!(inode->flags & STEP_META)) {
        rc = restore_open_journal(r);
        if (rc == 0)
            rc = meta_read(fd, &meta);
        if (rc == 0)
            rc = step_record_meta(r->step, inode, meta);
    }
    if (rc == 0 && !g_hash_table_contains(r->relaxed, inode))
        g_hash_table_insert(r->relaxed, inode,
                            GUINT_TO_POINTER(st->st_mode & 07777));
    return rc;
}

void restore_relax(struct restore *r, int dirfd)
{
    struct stat st;

    if (!r->step->dry && sys_stat_fd(dirfd, &st) == 0 &&
        (st.st_mode & 0700) != 0700 && note_mode(r, dirfd, &st) == 0)
        sys_chmod_fd(dirfd, (st.st_mode & 07777) | 0700);
}
