/* SPDX-License-Identifier: Apache-2.0
 *
 * places - see places.h.
 */
#include "interceptor/restore/places.h"

#include <errno.h>
#include <fcntl.h>

#include "common/fd.h"
#include "interceptor/restore/restore_names.h"
#include "interceptor/sys/sys.h"
#include "interceptor/sys/walker.h"

static struct ic_inode *find_now(struct inode_table *table, dev_t dev,
                                 const struct step_inode *inode)
{
    return inode_table_find(
        table, dev, inode->flags & STEP_RETIRED ? inode->now : inode->ino);
}

/* Return whether the known place is still valid. It is then as good as the
 * home: another process may have moved the inode since the step, and of several
 * names it may be the one that stays. */
static bool is_in_place(struct ic_inode *inode)
{
    struct ic_inode *parent;
    g_autofree char *name = NULL;
    struct stat st;
    bool found;

    if (inode_get_place(inode, &parent, &name) <= 0)
        return false;
    found = sys_stat_name(parent->fd, name, &st) == 0 &&
            st.st_ino == inode->ino && st.st_dev == inode->dev;
    ic_inode_unref(parent);
    return found;
}

/* dirfd < 0: the directory could not be opened. */
static bool is_elsewhere(const struct step_inode *inode, int dirfd)
{
    struct stat st;
    int rc = dirfd < 0 ? dirfd : sys_stat_name(dirfd, inode->home_name, &st);

    return rc == 0 ? !step_is_now(inode, st.st_ino) : rc == -ENOENT;
}

/* Return the directory's inode; the client may have forgotten the directory
 * while it has a file in it open. */
static struct ic_inode *take_dir(struct inode_table *table, dev_t dev,
                                 const struct step_inode *dir, int dirfd)
{
    struct ic_inode *known = find_now(table, dev, dir);
    fd_auto int fd = -1;
    struct stat st;

    if (known || dirfd < 0)
        return known;
    fd = fcntl(dirfd, F_DUPFD_CLOEXEC, 0);
    if (fd < 0 || sys_stat_fd(fd, &st) < 0)
        return NULL;
    known = inode_table_take(table, fd_steal(&fd), &st, 0, NULL, NULL);
    ic_inode_hold(known);
    ic_inode_unref(known);
    return known;
}

static void note_home(struct inode_table *table, dev_t dev,
                      const struct step_inode *step_inode, int dirfd)
{
    struct ic_inode *inode, *dir;

    if (is_elsewhere(step_inode, dirfd))
        return;
    inode = find_now(table, dev, step_inode);
    dir = inode && !is_in_place(inode)
              ? take_dir(table, dev, step_inode->home, dirfd)
              : NULL;
    if (dir)
        inode_set_place(inode, dir, step_inode->home_name);
    ic_inode_unhold(dir);
    ic_inode_unhold(inode);
}

static void add_known(GPtrArray *list, struct inode_table *table, dev_t dev,
                      struct step_inode *step_inode)
{
    struct ic_inode *inode = NULL;

    if (step_inode->home && step_inode->order > 0 &&
        !(step_inode->flags & STEP_LOST))
        inode = find_now(table, dev, step_inode);
    if (inode)
        g_ptr_array_add(list, step_inode);
    ic_inode_unhold(inode);
}

static int compare_order(gconstpointer a, gconstpointer b)
{
    const struct step_inode *x = *(struct step_inode *const *)a;
    const struct step_inode *y = *(struct step_inode *const *)b;

    return x->order < y->order ? -1 : x->order > y->order;
}

/* Return the step's inodes that the server knows, in the order of a walk. */
static GPtrArray *find_known(struct inode_table *table, dev_t dev,
                             const struct step *step)
{
    GPtrArray *list = g_ptr_array_new();
    GHashTableIter iter;
    gpointer value;

    g_hash_table_iter_init(&iter, step->inodes);
    while (g_hash_table_iter_next(&iter, NULL, &value))
        add_known(list, table, dev, value);
    for (guint i = 0; i < step->retired->len; i++)
        add_known(list, table, dev, g_ptr_array_index(step->retired, i));
    g_ptr_array_sort(list, compare_order);
    return list;
}

void places_note_restored(struct inode_table *table, dev_t dev, int root,
                          const struct step *step)
{
    g_autoptr(GPtrArray) known = find_known(table, dev, step);
    struct walker walker;

    restore_walker_init_plain(&walker, root, step->root);
    for (guint i = 0; i < known->len; i++) {
        const struct step_inode *inode = g_ptr_array_index(known, i);

        note_home(table, dev, inode, walker_go(&walker, inode->home));
    }
    walker_clear(&walker);
}
