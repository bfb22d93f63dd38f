/* SPDX-License-Identifier: Apache-2.0
 *
 * restore_find - see restore_find.h.
 */
#include "interceptor/restore/restore_find.h"

#include <errno.h>
#include <sys/stat.h>

#include "interceptor/restore/restore_alive.h"
#include "interceptor/restore/restore_names.h"
#include "interceptor/sys/sys.h"

bool restore_can_remake(const struct step_inode *inode)
{
    return inode->flags & STEP_META &&
           (!S_ISREG(inode->meta->mode) || inode->flags & STEP_CLONE ||
            (inode->flags & STEP_DATA &&
             inode->flags & (STEP_RETIRED | STEP_ALL)));
}

int restore_is_there(int dirfd, const char *name, uint64_t ino)
{
    struct stat st;
    int rc = dirfd < 0 ? -ENOENT : sys_stat_name(dirfd, name, &st);

    if (rc < 0)
        return rc == -ENOENT ? 0 : rc;
    return st.st_ino == ino;
}

int restore_is_kept(const struct restore *r, const struct step_inode *inode)
{
    int rc;

    if (inode->flags & STEP_RETIRED)
        return 0;
    rc = restore_is_there(r->staging, restore_staged_name(inode->ino).text,
                          inode->ino);
    return rc != 0
               ? rc
               : restore_is_there(r->blobs, step_inode_blob(inode->ino).text,
                                  inode->ino);
}

int restore_can_find(struct restore *r, const struct step_inode *inode)
{
    int rc = restore_can_remake(inode) ? 1 : restore_is_kept(r, inode);

    return rc == 0 && r->forced ? restore_is_alive(r, inode) : rc;
}
