/* SPDX-License-Identifier: Apache-2.0
 *
 * paths_node - the data of a plan (paths_plan.h), path by path.
 */
#ifndef INTERCEPTOR_PATHS_NODE_H
#define INTERCEPTOR_PATHS_NODE_H

#include "interceptor/log/meta.h"
#include "interceptor/past/past_image.h"

enum paths_change {
    PATHS_REMOVE = 1 << 0,  /* what is there now, with everything below it */
    PATHS_MAKE = 1 << 1,    /* the former inode */
    PATHS_LINK = 1 << 2,    /* with PATHS_MAKE: as a link of .leader */
    PATHS_CONTENT = 1 << 3, /* of a file that is kept */
    PATHS_META = 1 << 4,    /* of an inode that is kept */
    PATHS_TIME = 1 << 5,    /* only the times of a directory that is kept */
};

struct paths_node {
    struct paths_node *parent; /* NULL: the root */
    char *name;
    GPtrArray *children; /* owned struct paths_node */
    bool asked;          /* the path, or one above it, was asked for */
    unsigned changes;    /* enum paths_change */

    /* Before. NULL: nothing. In a step's record, or owned. */
    const struct meta *then;
    struct meta *owned;
    int64_t size;             /* of a regular file, bytes */
    struct past_image *image; /* borrowed; of a leader; or NULL */
    struct paths_node *leader;

    /* Now. */
    bool exists;
    uint64_t ino;
    mode_t mode;
    int64_t size_now;

    /* During the restore. */
    bool loosened; /* its mode was changed to make it writable */
    mode_t mode_before;
};

struct paths_plan {
    struct past past;
    struct past_spool spool;
    GPtrArray *overlaps; /* owned struct overlap, of past.steps */
    struct paths_node *root;
    GPtrArray *images;  /* owned struct past_image */
    GHashTable *inodes; /* former inodes: owned key -> GPtrArray of borrowed
                         * nodes */
    GPtrArray
        *shared; /* owned paths: files that also change under other names */
};

/* Each level of a tree costs a few fds and stack space. */
enum { PATHS_MAX_DEPTH = 256 };

/* Make a node; the parent owns it. Free a root with paths_node_free(). */
struct paths_node *paths_node_new(struct paths_node *parent, const char *name);
void paths_node_free(gpointer node);

/* Look up what the node's path meant before the oldest step, or means now.
 * Returns what past_resolve() does. */
int paths_resolve_then(const struct paths_plan *plan,
                       const struct paths_node *node,
                       struct past_node *ret_found);
int paths_resolve_now(const struct paths_plan *plan,
                      const struct paths_node *node,
                      struct past_node *ret_found);

/* Call visit for each node with changes, a directory before its content. */
typedef void paths_visit(const struct paths_node *node, void *opaque);
void paths_plan_each_change(const struct paths_plan *plan, paths_visit *visit,
                            void *opaque);

/* Return the path, relative to the share; "." for the root. A new string. */
char *paths_node_path(const struct paths_node *node);

/* The same, but "" for the root, as past_resolve() expects. */
char *paths_node_plain(const struct paths_node *node);

/* Set an error about a node; rc: -errno. Returns FALSE. */
gboolean paths_fail(const struct paths_node *node, int rc, GError **error);

#endif
