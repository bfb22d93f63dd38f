/* SPDX-License-Identifier: Apache-2.0
 *
 * walker - see walker.h.
 */
#include "interceptor/sys/walker.h"

#include <errno.h>
#include <fcntl.h>

#include "common/fd.h"
#include "interceptor/sys/sys.h"

enum { DIR_FLAGS = O_PATH | O_DIRECTORY | O_NOFOLLOW };

void walker_init(struct walker *walker, const struct walker_ops *ops,
                 int top_fd, gconstpointer top)
{
    *walker = (struct walker){
        .ops = ops, .top_fd = top_fd, .top = top, .at = top
    };
    for (size_t i = 0; i < WALKER_NEAR; i++)
        walker->near[i].fd = -1;
}

void walker_clear(struct walker *walker)
{
    for (size_t i = 0; i < WALKER_NEAR; i++) {
        fd_close(&walker->near[i].fd);
        walker->near[i].node = NULL;
    }
    walker->at = walker->top;
}

/* Return the fd of a node if it is open, else -1. */
static int fd_of(const struct walker *w, gconstpointer node)
{
    unsigned slot = w->ops->depth(node) % WALKER_NEAR;

    if (node == w->top)
        return w->top_fd;
    return w->near[slot].node == node ? w->near[slot].fd : -1;
}

/* Check that fd (ownership taken), found in node's place, is that node. */
static int arrive(struct walker *w, gconstpointer node, int fd)
{
    unsigned slot = w->ops->depth(node) % WALKER_NEAR;
    struct stat st;
    int rc = sys_stat_fd(fd, &st);

    if (rc == 0 && !w->ops->is(node, &st))
        rc = -ESTALE;
    if (rc < 0) {
        fd_close(&fd);
        return rc;
    }
    fd_close(&w->near[slot].fd);
    w->near[slot].fd = fd;
    w->near[slot].node = node;
    w->at = node;
    return 0;
}

static int go_up(struct walker *w)
{
    gconstpointer parent = w->ops->parent(w->at);
    int fd;

    if (fd_of(w, parent) < 0) {
        fd = sys_openat(fd_of(w, w->at), "..", DIR_FLAGS, 0);
        return fd < 0 ? fd : arrive(w, parent, fd);
    }
    w->at = parent;
    return 0;
}

static int go_down(struct walker *w, gconstpointer node)
{
    int from = fd_of(w, w->at), fd = fd_of(w, node);

    if (fd >= 0) {
        w->at = node;
        return 0;
    }
    fd = sys_openat(from, w->ops->name(node), DIR_FLAGS, 0);
    if (fd == -EACCES && w->ops->relax) {
        w->ops->relax(from, w->opaque);
        fd = sys_openat(from, w->ops->name(node), DIR_FLAGS, 0);
    }
    return fd < 0 ? fd : arrive(w, node, fd);
}

/* Return the nearest node that is an ancestor of, or equal to, both. */
static gconstpointer common_node(const struct walker *w, gconstpointer a,
                                 gconstpointer b)
{
    while (a != b) {
        if (w->ops->depth(a) >= w->ops->depth(b))
            a = w->ops->parent(a);
        else
            b = w->ops->parent(b);
    }
    return a;
}

static int go_up_to(struct walker *w, gconstpointer node)
{
    unsigned down = w->ops->depth(node) - w->ops->depth(w->top);

    while (w->at != node) {
        unsigned up = w->ops->depth(w->at) - w->ops->depth(node);

        /* Restart at the top if that is the shorter way or the only one: a
         * directory was moved, or its ".." cannot be read. */
        if (down < up || go_up(w) < 0) {
            walker_clear(w);
            return 0;
        }
    }
    return 0;
}

int walker_go(struct walker *w, gconstpointer node)
{
    g_autoptr(GPtrArray) way = NULL;
    int rc;

    if (w->at == node)
        return fd_of(w, node);
    rc = go_up_to(w, common_node(w, w->at, node));
    way = g_ptr_array_new();
    for (gconstpointer n = node; n != w->at; n = w->ops->parent(n))
        g_ptr_array_add(way, (gpointer)n);
    for (guint i = way->len; rc == 0 && i > 0; i--)
        rc = go_down(w, g_ptr_array_index(way, i - 1));
    return rc < 0 ? rc : fd_of(w, node);
}
