/* SPDX-License-Identifier: Apache-2.0
 *
 * paths_apply - see paths_apply.h.
 *
 * Three walks: the first removes, makes and writes; the second adds further
 * names of inodes; the third sets the metadata of directories, deepest first,
 * since making or removing a name changes the directory's mtime.
 */
#include "interceptor/paths/paths_apply.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "common/errors.h"
#include "common/fd.h"
#include "interceptor/engine/engine.h"
#include "interceptor/engine/stale.h"
#include "interceptor/paths/paths_apply_inode.h"
#include "interceptor/sys/rights.h"
#include "interceptor/sys/sys.h"

/* ---- removing ------------------------------------------------------------ */

static int add_name(int fd, const struct dirent *entry, void *opaque)
{
    g_ptr_array_add(opaque, g_strdup(entry->d_name));
    return 0;
}

/* Remove a name and everything below it. */
static int remove_name(struct applier *a, struct ic_inode *dir,
                       const char *name);

static int empty_folder(struct applier *a, struct ic_inode *dir)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    mode_t before;
    bool done;
    int rc = paths_loosen(a, dir, &before, &done);

    if (rc == 0)
        rc = sys_dir_each(ic_inode_fd(dir), ".", add_name, names);
    for (guint i = 0; rc == 0 && i < names->len; i++)
        rc = remove_name(a, dir, g_ptr_array_index(names, i));
    return rc;
}

static int remove_name(struct applier *a, struct ic_inode *dir,
                       const char *name)
{
    struct ic_inode *inode;
    int rc = ic_lookup(a->ic, dir, name, &inode, NULL);
    bool is_dir;

    if (rc < 0)
        return rc;
    is_dir = S_ISDIR(ic_inode_type(inode));
    rc = is_dir ? empty_folder(a, inode) : 0;
    ic_inode_unref(inode);
    return rc < 0 ? rc
                  : ic_unlinkat(a->ic, dir, name, is_dir ? AT_REMOVEDIR : 0);
}

/* ---- making -------------------------------------------------------------- */

static struct ic_cred cred_of(const struct meta *then)
{
    return (struct ic_cred){
        .uid = then->uid == RIGHTS_UNKNOWN ? geteuid() : then->uid,
        .gid = then->gid == RIGHTS_UNKNOWN ? getegid() : then->gid,
    };
}

static int make_file(struct applier *a, struct ic_inode *dir,
                     const struct paths_node *node, struct ic_inode **ret_inode)
{
    const struct ic_cred cred = cred_of(node->then);
    fd_auto int fd = -1;
    int rc = ic_create(a->ic, &cred, dir, node->name, O_WRONLY | O_EXCL, 0600,
                       ret_inode, NULL, &fd);

    if (rc < 0)
        return rc;
    rc = paths_write_image(a, node->image, *ret_inode, fd);
    if (rc < 0)
        ic_inode_unref(*ret_inode);
    return rc;
}

static int make_any(struct applier *a, struct ic_inode *dir,
                    const struct paths_node *node, struct ic_inode **ret_inode)
{
    const struct meta *then = node->then;
    const struct ic_cred cred = cred_of(then);

    if (S_ISREG(then->mode))
        return make_file(a, dir, node, ret_inode);
    if (S_ISDIR(then->mode))
        return ic_mkdirat(a->ic, &cred, dir, node->name, 0700, ret_inode, NULL);
    if (S_ISLNK(then->mode))
        return ic_symlinkat(a->ic, &cred, then->target, dir, node->name,
                            ret_inode, NULL);
    return ic_mknodat(a->ic, &cred, dir, node->name,
                      (then->mode & S_IFMT) | 0600, then->rdev, ret_inode,
                      NULL);
}

/* Find what is at the path; it must be what the plan saw. */
static int find_planned(struct applier *a, struct ic_inode *dir,
                        const struct paths_node *node,
                        struct ic_inode **ret_inode)
{
    struct ic_inode *inode;
    int rc = ic_lookup(a->ic, dir, node->name, &inode, NULL);

    if (rc < 0)
        return rc == -ENOENT ? -EBUSY : rc;
    if (ic_inode_ino(inode) != node->ino ||
        ic_inode_type(inode) != (node->mode & S_IFMT)) {
        ic_inode_unref(inode);
        return -EBUSY;
    }
    *ret_inode = inode;
    return 0;
}

static int change_file(struct applier *a, struct paths_node *node,
                       struct ic_inode *inode)
{
    fd_auto int fd = -1;
    int rc = paths_loosen(a, inode, &node->mode_before, &node->loosened);

    if (rc == 0)
        rc = ic_open(a->ic, inode, O_RDWR, &fd);
    if (rc == 0)
        stale_note_pages(a->ic, inode);
    return rc < 0 ? rc : paths_write_image(a, node->image, inode, fd);
}

static int apply_below(struct applier *a, struct ic_inode *dir,
                       struct paths_node *node);

/* Remove what is at the path, if planned: 0, and *ret_inode is what is there
 * afterwards, or NULL. */
static int clear_place(struct applier *a, struct ic_inode *dir,
                       const struct paths_node *node,
                       struct ic_inode **ret_inode)
{
    int rc;

    *ret_inode = NULL;
    if (!node->exists)
        return 0;
    rc = find_planned(a, dir, node, ret_inode);
    if (rc < 0 || !(node->changes & PATHS_REMOVE))
        return rc;
    ic_inode_unref(*ret_inode);
    *ret_inode = NULL;
    return remove_name(a, dir, node->name);
}

static int apply_node(struct applier *a, struct ic_inode *dir,
                      struct paths_node *node)
{
    bool makes = (node->changes & (PATHS_MAKE | PATHS_LINK)) == PATHS_MAKE;
    struct ic_inode *inode = NULL;
    int rc = clear_place(a, dir, node, &inode);

    if (rc == 0 && makes)
        rc = make_any(a, dir, node, &inode);
    else if (rc == 0 && node->changes & PATHS_CONTENT)
        rc = change_file(a, node, inode);
    if (rc == 0 && inode && S_ISDIR(ic_inode_type(inode)))
        rc = apply_below(a, inode, node);
    else if (rc == 0 && node->changes & (PATHS_MAKE | PATHS_META) && inode)
        rc = paths_set_meta(a, node, inode);
    if (rc < 0 && !a->failed)
        a->failed = node;
    ic_inode_unref(inode);
    return rc;
}

static bool has_changes(const struct paths_node *node)
{
    bool found = node->changes != 0;

    for (guint i = 0; !found && i < node->children->len; i++)
        found = has_changes(g_ptr_array_index(node->children, i));
    return found;
}

static bool changes_names(const struct paths_node *dir)
{
    bool found = false;

    for (guint i = 0; !found && i < dir->children->len; i++) {
        const struct paths_node *child = g_ptr_array_index(dir->children, i);

        found = child->changes & (PATHS_REMOVE | PATHS_MAKE);
    }
    return found;
}

static int apply_below(struct applier *a, struct ic_inode *dir,
                       struct paths_node *node)
{
    int rc = changes_names(node)
                 ? paths_loosen(a, dir, &node->mode_before, &node->loosened)
                 : 0;

    for (guint i = 0; rc == 0 && i < node->children->len; i++) {
        struct paths_node *child = g_ptr_array_index(node->children, i);

        if (has_changes(child))
            rc = apply_node(a, dir, child);
    }
    return rc;
}

/* ---- further names ------------------------------------------------------- */

/* *ret_inode: a new reference. */
static int walk_to(struct applier *a, const struct paths_node *node,
                   struct ic_inode **ret_inode)
{
    struct ic_inode *dir;
    int rc;

    if (!node->parent) {
        *ret_inode = ic_inode_ref(ic_root(a->ic));
        return 0;
    }
    rc = walk_to(a, node->parent, &dir);
    if (rc < 0)
        return rc;
    rc = ic_lookup(a->ic, dir, node->name, ret_inode, NULL);
    ic_inode_unref(dir);
    return rc;
}

static int make_link(struct applier *a, const struct paths_node *node)
{
    struct ic_inode *dir, *inode;
    int rc = walk_to(a, node->parent, &dir);

    if (rc < 0)
        return rc;
    rc = walk_to(a, node->leader, &inode);
    if (rc == 0) {
        rc = ic_linkat(a->ic, inode, dir, node->name, NULL);
        ic_inode_unref(inode);
    }
    ic_inode_unref(dir);
    return rc;
}

static int link_below(struct applier *a, struct paths_node *node)
{
    int rc = node->changes & PATHS_LINK ? make_link(a, node) : 0;

    if (rc < 0)
        a->failed = node;
    for (guint i = 0; rc == 0 && i < node->children->len; i++)
        rc = link_below(a, g_ptr_array_index(node->children, i));
    return rc;
}

/* ---- metadata of folders ------------------------------------------------- */

static int finish_folder(struct applier *a, struct paths_node *node)
{
    const struct ic_setattr attr = { .valid = IC_SET_MODE,
                                     .mode = node->mode_before & 07777 };
    struct ic_inode *dir;
    int rc = walk_to(a, node, &dir);

    if (rc < 0)
        return rc;
    if (node->then && S_ISDIR(node->then->mode))
        rc = paths_set_meta(a, node, dir);
    else if (node->loosened)
        rc = ic_setattr(a->ic, dir, -1, &attr, NULL);
    ic_inode_unref(dir);
    return rc;
}

static int finish_below(struct applier *a, struct paths_node *node)
{
    bool folder = node->then ? S_ISDIR(node->then->mode)
                             : !node->asked && S_ISDIR(node->mode);
    int rc = 0;

    if (!folder || !has_changes(node))
        return 0;
    for (guint i = 0; rc == 0 && i < node->children->len; i++)
        rc = finish_below(a, g_ptr_array_index(node->children, i));
    if (rc == 0) {
        rc = finish_folder(a, node);
        if (rc < 0)
            a->failed = node;
    }
    return rc;
}

/* ---- applying ------------------------------------------------------------ */

gboolean paths_apply(struct ic *ic, const struct paths_plan *plan,
                     GPtrArray *warnings, GError **error)
{
    struct applier a = { .ic = ic, .plan = plan, .warnings = warnings };
    int rc = apply_below(&a, ic_root(ic), plan->root);

    if (rc == 0)
        rc = link_below(&a, plan->root);
    if (rc == 0)
        rc = finish_below(&a, plan->root);
    return rc == 0 || paths_fail(a.failed ? a.failed : plan->root, rc, error);
}
