/* SPDX-License-Identifier: Apache-2.0
 *
 * profile - see profile.h.
 */
#include "p9/profile/profile.h"

#include "common/fd.h"

void p9_making_clear(struct p9_making *making)
{
    if (!making->inode)
        return;
    fd_close(&making->fd);
    ic_inode_unref(g_steal_pointer(&making->inode));
}
