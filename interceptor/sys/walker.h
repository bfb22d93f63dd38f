/* SPDX-License-Identifier: Apache-2.0
 *
 * walker - from one directory of a tree to another, however deep they are.
 *
 * A client may nest directories without end, so neither a path nor the stack
 * nor an fd for each level can hold a place in a tree. A walker stands in one
 * directory and holds it and a few above it open. It goes up by "..", down by
 * name, and to wherever it is sent by the shortest of the ways over the
 * nearest common directory and from the top.
 *
 * Directories are nodes of the caller's, of any kind, each with a parent. At
 * each directory that it comes to, the walker asks whether it is the one that
 * the node means, so nothing that others rename leads it astray.
 *
 * Visiting a tree in the order of its depth costs a few system calls for each
 * directory; so does any order that seldom changes branches.
 */
#ifndef INTERCEPTOR_SYS_WALKER_H
#define INTERCEPTOR_SYS_WALKER_H

#include <glib.h>
#include <stdbool.h>
#include <sys/stat.h>

struct walker_ops {
    gconstpointer (*parent)(gconstpointer node);
    const char *(*name)(gconstpointer node); /* in its parent */
    unsigned (*depth)(gconstpointer node);   /* its parent's + 1 */
    bool (*is)(gconstpointer node, const struct stat *st);

    /* Called for a directory that may not be entered, before a second try. May
     * be NULL. */
    void (*relax)(int dirfd);
};

enum { WALKER_NEAR = 8 };

struct walker {
    const struct walker_ops *ops;
    int top_fd;        /* borrowed */
    gconstpointer top; /* the node that it is */
    gconstpointer at;
    struct {
        gconstpointer node;
        int fd;          /* O_PATH, owned; -1: unused */
    } near[WALKER_NEAR]; /* at and above it, by depth */
};

/* All pointers and top_fd are borrowed until walker_clear(). */
void walker_init(struct walker *walker, const struct walker_ops *ops,
                 int top_fd, gconstpointer top);
void walker_clear(struct walker *walker); /* it may go on from the top */

/* Go to node, which is top or below it. An O_PATH fd of it (borrowed, until
 * the next call), or -errno; -ESTALE if something else is there. */
int walker_go(struct walker *walker, gconstpointer node);

#endif
