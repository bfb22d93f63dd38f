/* SPDX-License-Identifier: Apache-2.0
 *
 * places - see places.h.
 */
#include "interceptor/places.h"

static struct ic_inode *find_now(struct inode_table *table, dev_t dev,
                                 const struct step_inode *inode)
{
    return inode_table_find(
        table, dev, inode->flags & STEP_RETIRED ? inode->now : inode->ino);
}

static void note_binding(struct inode_table *table, dev_t dev,
                         const struct step_binding *binding)
{
    struct ic_inode *inode = find_now(table, dev, binding->before);
    struct ic_inode *dir = inode ? find_now(table, dev, binding->dir) : NULL;

    if (dir)
        inode_set_place(inode, dir, binding->name);
    ic_inode_unhold(dir);
    ic_inode_unhold(inode);
}

void places_note_restored(struct inode_table *table, dev_t dev,
                          const struct step *step)
{
    struct step_binding *binding;
    GHashTableIter iter;

    if (!inode_table_is_crowded(table))
        return;
    g_hash_table_iter_init(&iter, step->bindings);
    while (g_hash_table_iter_next(&iter, (gpointer *)&binding, NULL)) {
        if (binding->before)
            note_binding(table, dev, binding);
    }
}
