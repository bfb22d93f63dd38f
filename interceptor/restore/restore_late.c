/* SPDX-License-Identifier: Apache-2.0
 *
 * restore_late - see restore_late.h.
 */
#include "interceptor/restore/restore_late.h"

#include "common/fd.h"
#include "interceptor/restore/restore_find.h"
#include "interceptor/restore/restore_lost.h"
#include "interceptor/restore/restore_names.h"
#include "interceptor/restore/restore_stand_in.h"

/* Note the topmost missing directory. */
void restore_note_gone_folder(struct restore *r, struct step_inode *dir)
{
    for (; dir->home && dir->depth > 0; dir = dir->home) {
        fd_auto int above = restore_open_dir(r, dir->home);

        r->gone = dir;
        if (!restore_is_gone(above))
            return;
    }
}

/* Add what is needed to attach the inode again: 1, 0 if that is impossible, or
 * -errno. */
static int revive(struct restore *r, struct step_inode *inode)
{
    int rc;

    /* A file that the search found may be gone since. */
    g_clear_pointer(&r->alive, g_hash_table_unref);
    rc = restore_can_find(r, inode);
    if (rc == 0 && restore_is_folder(inode) && !(inode->flags & STEP_META)) {
        rc = restore_record_plain_folder(r, inode);
        rc = rc < 0 ? rc : 1;
    }
    if (rc > 0 && inode->names)
        restore_note_emptied(r, inode);
    if (rc <= 0 || inode->names)
        return rc;
    if (!inode->home || inode->home->flags & STEP_LOST)
        return 0;
    rc = step_record_binding(r->step, inode->home, inode->home_name, inode);
    return rc < 0 ? rc : 1;
}

int restore_go_without(struct restore *r, int rc)
{
    struct step_inode *inode = g_steal_pointer(&r->gone);
    bool again = false;

    if (!r->edited_too || !inode || inode == r->step->root)
        return rc;
    walker_clear(&r->walker); /* it may hold directories open that are gone */
    if (!r->missed)
        r->missed = g_hash_table_new(NULL, NULL);
    again = !g_hash_table_add(r->missed, inode);
    rc = restore_open_journal(r);
    if (rc == 0)
        rc = again ? 0 : revive(r, inode);
    if (rc == 0)
        rc = restore_lose(r, inode);
    return rc < 0 ? rc : 1;
}
