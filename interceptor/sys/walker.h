/* SPDX-License-Identifier: Apache-2.0
 *
 * walker - move from one directory of a tree to another at any depth.
 *
 * A client may nest directories without limit, so neither a path, nor the
 * stack, nor an fd for each level can describe a position in a tree. A walker
 * keeps its current directory and a few above it open. It moves up by ".." and
 * down by name, along the shorter of two ways: over the nearest common
 * directory, or from the top.
 *
 * Directories are nodes of the caller, of any type, each with a parent. At each
 * directory the walker asks the caller whether it is the one that the node
 * describes, so a rename by another process cannot lead it to a wrong one.
 *
 * A visit in the order of depth costs a few system calls for each directory; so
 * does any order that seldom changes branches.
 */
#ifndef INTERCEPTOR_SYS_WALKER_H
#define INTERCEPTOR_SYS_WALKER_H

#include <glib.h>
#include <stdbool.h>
#include <sys/stat.h>

struct walker_ops {
    gconstpointer (*parent)(gconstpointer node);
    const char *(*name)(gconstpointer node); /* in the parent */
    unsigned (*depth)(gconstpointer node);   /* the parent's plus 1 */
    bool (*is)(gconstpointer node, const struct stat *st);

    /* Called for a directory that cannot be entered, before a second try. May
     * be NULL. */
    void (*relax)(int dirfd, void *opaque);
};

enum { WALKER_NEAR = 8 };

struct walker {
    const struct walker_ops *ops;
    void *opaque;      /* for ops->relax(); NULL unless it is set */
    int top_fd;        /* borrowed */
    gconstpointer top; /* the node for top_fd */
    gconstpointer at;
    struct {
        gconstpointer node;
        int fd;          /* O_PATH, owned; -1: unused */
    } near[WALKER_NEAR]; /* the current directory and those above it, by depth
                          */
};

/* All pointers and top_fd are borrowed until walker_clear(). */
void walker_init(struct walker *walker, const struct walker_ops *ops,
                 int top_fd, gconstpointer top);
void walker_clear(
    struct walker *walker); /* it may be used again, from the top */

/* Go to node, which is the top or below it. Returns an O_PATH fd (borrowed,
 * until the next call) or -errno; -ESTALE if another directory is there. */
int walker_go(struct walker *walker, gconstpointer node);

#endif
