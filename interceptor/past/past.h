/* SPDX-License-Identifier: Apache-2.0
 *
 * past - the tree as it was before a step, to be looked at.
 *
 * Nothing is restored. A name is looked up in what the steps since have noted
 * of it, and where none has, in the tree as it is; a file's bytes are those
 * that it has now, with what the steps since have kept of it laid over them,
 * newest first. Level L of a past is the state before its step L, counted from
 * the oldest, which is step 0; the last level is now.
 *
 * What others than the engine have changed since is not known to be theirs, and
 * is seen as if it had always been so.
 *
 * Threads: with the engine's gate write-locked, from past_open() to
 * past_free().
 */
#ifndef INTERCEPTOR_PAST_PAST_H
#define INTERCEPTOR_PAST_PAST_H

#include <glib.h>

#include "interceptor/engine/engine.h"
#include "interceptor/log/step.h"

enum { PAST_MAX_STEPS = 1000 };

struct past {
    struct ic *ic;
    GPtrArray *steps; /* owned struct step, oldest first */
};

/* What a name meant. Free with past_node_clear(). */
struct past_node {
    uint64_t ino;
    int fd;                        /* O_PATH, owned; -1: it is no more, */
    const struct step_inode *gone; /* and this is what is known of it, */
    unsigned gone_in;              /* by this step */
};

/* Read the steps from the newest to this one. ERROR_INVALID_FIELD: there is no
 * such step; ERROR_TOO_LARGE: too many are newer; else as
 * rollback_load_step(). unprotected_too: this step may be unprotected; then
 * nothing may be looked up at level 0. */
gboolean past_open(struct ic *ic, int64_t id, bool unprotected_too,
                   struct past *ret_past, GError **error);
void past_clear(struct past *past);

/* The step's blobs folder: the caller's fd, or -errno. */
int past_open_blobs(const struct past *past, unsigned step);

/* The record of an inode in a step, or NULL. */
const struct step_inode *past_record(const struct past *past,
                                     const struct past_node *node,
                                     unsigned step);

/* The same, if it is about the inode's content. */
const struct step_inode *past_content_record(const struct past *past,
                                             const struct past_node *node,
                                             unsigned step);

/* What the path, relative to the share, meant at this level. 0; -ENOENT: there
 * was none; -ESTALE: it cannot be found out; or -errno. */
int past_resolve(const struct past *past, const char *path, unsigned level,
                 struct past_node *ret_node);

/* The names that a step, or nobody, has left in the folder that this path meant
 * at this level: a new set. Some of them may name nothing at that level. 0 or
 * -errno, as past_resolve(). */
int past_list(const struct past *past, const char *path, unsigned level,
              GHashTable **ret_names);
void past_node_clear(struct past_node *node);

#endif
