/* SPDX-License-Identifier: Apache-2.0
 *
 * paths_links - see paths_links.h.
 */
#include "interceptor/paths/paths_links.h"

#include <errno.h>
#include <fcntl.h>

#include "common/errors.h"
#include "common/fd.h"
#include "interceptor/engine/engine.h"
#include "interceptor/past/past_content.h"
#include "interceptor/sys/fail.h"
#include "interceptor/sys/sys.h"

/* ---- inodes -------------------------------------------------------------- */

/* The number of an inode that no longer exists may be another inode's. */
struct key {
    uint64_t ino;
    const struct step_inode *gone;
};

static guint hash_key(gconstpointer data)
{
    const struct key *key = data;

    return g_int64_hash(&key->ino) ^ g_direct_hash(key->gone);
}

static gboolean is_same_key(gconstpointer a, gconstpointer b)
{
    const struct key *x = a, *y = b;

    return x->ino == y->ino && x->gone == y->gone;
}

static void free_names(gpointer names)
{
    g_ptr_array_unref(names);
}

GHashTable *paths_links_table(void)
{
    return g_hash_table_new_full(hash_key, is_same_key, g_free, free_names);
}

void paths_links_add(struct paths_plan *plan, struct paths_node *node,
                     const struct past_node *then)
{
    const struct key key = { then->ino, then->gone };
    GPtrArray *names = g_hash_table_lookup(plan->inodes, &key);

    if (!names) {
        names = g_ptr_array_new();
        g_hash_table_insert(plan->inodes, g_memdup2(&key, sizeof(key)), names);
    }
    g_ptr_array_add(names, node);
}

static bool is_in_place(const struct paths_node *node)
{
    return !(node->changes & PATHS_MAKE);
}

/* Return a name that the inode still has, or the first one. */
static struct paths_node *choose_leader(const GPtrArray *names)
{
    for (guint i = 0; i < names->len; i++) {
        struct paths_node *node = g_ptr_array_index(names, i);

        if (is_in_place(node))
            return node;
    }
    return g_ptr_array_index(names, 0);
}

static void follow_leader(const GPtrArray *names, struct paths_node *leader)
{
    for (guint i = 0; i < names->len; i++) {
        struct paths_node *node = g_ptr_array_index(names, i);

        if (node == leader)
            continue;
        node->leader = leader;
        if (is_in_place(node))
            node->changes = 0; /* only the leader is changed */
        else
            node->changes |= PATHS_LINK;
    }
}

/* ---- contents ------------------------------------------------------------ */

static bool is_written(const struct past *past, const struct past_node *then)
{
    bool found = false;

    for (unsigned i = 0; !found && i < past->steps->len; i++) {
        const struct step_inode *record = past_record(past, then, i);

        found = record && record->flags & STEP_DATA;
    }
    return found;
}

static int add_image(struct paths_plan *plan, struct paths_node *node)
{
    struct past_node then;
    int rc = paths_resolve_then(plan, node, &then);

    if (rc < 0)
        return rc;
    if (!is_in_place(node) || is_written(&plan->past, &then)) {
        if (plan->spool.fd < 0)
            rc = past_spool_open(&plan->past, &plan->spool);
        if (rc == 0)
            rc = past_image_new(&plan->past, &plan->spool, &then, node->size,
                                !is_in_place(node), &node->image);
        if (rc == 0)
            g_ptr_array_add(plan->images, node->image);
    }
    past_node_clear(&then);
    return rc;
}

static int compare(struct paths_plan *plan, struct paths_node *node)
{
    fd_auto int file = -1;
    struct past_node now;
    int rc = paths_resolve_now(plan, node, &now);

    if (rc < 0)
        return rc;
    file = sys_reopen(now.fd, O_RDONLY | O_NONBLOCK);
    past_node_clear(&now);
    if (file < 0)
        return file;
    rc = past_image_compare(&plan->spool, node->image, file);
    if (rc == 0 && is_in_place(node) && node->image->differs)
        node->changes |= PATHS_CONTENT | PATHS_META;
    return rc;
}

/* Return whether the names, and no others, are one inode now, of the former
 * type and state except its content. 1, 0 or -errno. */
static int is_like_then(struct paths_plan *plan, const GPtrArray *names)
{
    const struct paths_node *first = g_ptr_array_index(names, 0);
    g_autoptr(meta_auto) meta = NULL;
    struct past_node now;
    struct stat st;
    guint held;
    int rc;

    for (guint i = 0; i < names->len; i++) {
        const struct paths_node *node = g_ptr_array_index(names, i);

        if (!node->exists || node->ino != first->ino ||
            (node->mode & S_IFMT) != (node->then->mode & S_IFMT))
            return 0;
    }
    rc = paths_resolve_now(plan, first, &now);
    if (rc < 0)
        return rc;
    rc = sys_stat_fd(now.fd, &st);
    if (rc == 0)
        rc = meta_read(now.fd, &meta);
    past_node_clear(&now);
    if (rc < 0)
        return rc == -EACCES ? 0 : rc;
    held = log_links_count(st.st_dev, st.st_ino, plan->past.ic->log_links);
    return meta_equal(first->then, meta, true) &&
           st.st_nlink == names->len + held &&
           (!S_ISREG(st.st_mode) || st.st_size == first->size);
}

/* An earlier restore made a different inode, which need not be made again. */
static int keep_equal(struct paths_plan *plan, struct paths_node *leader,
                      const GPtrArray *names)
{
    int rc = is_like_then(plan, names);

    if (rc > 0 && leader->image) {
        rc = compare(plan, leader);
        rc = rc < 0 ? rc : !leader->image->differs;
    }
    for (guint i = 0; rc > 0 && i < names->len; i++)
        ((struct paths_node *)g_ptr_array_index(names, i))->changes = 0;
    return MIN(rc, 0);
}

/* ---- other names --------------------------------------------------------- */

/* Record an inode that is changed and has names which were not asked for. */
static int note_shared(struct paths_plan *plan, const struct paths_node *node,
                       const GPtrArray *names)
{
    const struct ic *ic = plan->past.ic;
    struct past_node now;
    guint known = 0, held;
    struct stat st;
    int rc;

    if (!(node->changes & (PATHS_CONTENT | PATHS_META)))
        return 0;
    rc = paths_resolve_now(plan, node, &now);
    if (rc < 0)
        return rc;
    rc = sys_stat_fd(now.fd, &st);
    past_node_clear(&now);
    if (rc < 0)
        return rc;
    for (guint i = 0; i < names->len; i++)
        known += is_in_place(g_ptr_array_index(names, i));
    held = log_links_count(st.st_dev, st.st_ino, ic->log_links);
    if (st.st_nlink > known + held)
        g_ptr_array_add(plan->shared, paths_node_path(node));
    return 0;
}

/* ---- settling ------------------------------------------------------------ */

typedef int inode_visit(struct paths_plan *plan, struct paths_node *leader,
                        const GPtrArray *names);

static gboolean each_inode(struct paths_plan *plan, inode_visit *visit,
                           GError **error)
{
    GHashTableIter iter;
    gpointer names;

    g_hash_table_iter_init(&iter, plan->inodes);
    while (g_hash_table_iter_next(&iter, NULL, &names)) {
        struct paths_node *leader = choose_leader(names);
        int rc = visit(plan, leader, names);

        if (rc < 0)
            return paths_fail(leader, rc, error);
    }
    return TRUE;
}

static int begin_inode(struct paths_plan *plan, struct paths_node *leader,
                       const GPtrArray *names)
{
    follow_leader(names, leader);
    return S_ISREG(leader->then->mode) ? add_image(plan, leader) : 0;
}

static int end_inode(struct paths_plan *plan, struct paths_node *leader,
                     const GPtrArray *names)
{
    int rc;

    if (!is_in_place(leader))
        return keep_equal(plan, leader, names);
    rc = leader->image ? compare(plan, leader) : 0;
    return rc < 0 ? rc : note_shared(plan, leader, names);
}

gboolean paths_links_settle(struct paths_plan *plan, GError **error)
{
    int rc;

    if (!each_inode(plan, begin_inode, error))
        return FALSE;
    rc = past_images_go_back(&plan->past, &plan->spool, plan->images);
    if (rc < 0)
        return fail_errno(error,
                          rc == -EBADMSG  ? ERROR_PREIMAGE_CORRUPT
                          : rc == -ENOENT ? ERROR_PREIMAGE_MISSING
                                          : ERROR_IO_ERROR,
                          "content kept in the undo log", rc);
    return each_inode(plan, end_inode, error);
}
