/* SPDX-License-Identifier: Apache-2.0
 *
 * past - look at the tree as it was before a step.
 *
 * Nothing is restored. A name is looked up in the records of the later steps,
 * and, if none has it, in the present tree. The content of a file is its
 * present content, overlaid with what the later steps kept, newest first. Level
 * L of a past is the state before its step L, counted from the oldest, step 0;
 * the last level is the present.
 *
 * Changes by other processes since then are not known, and look as if they had
 * always been there.
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

/* The inode that a name meant. Free with past_node_clear(). */
struct past_node {
    uint64_t ino;
    int fd;                        /* O_PATH, owned; -1: it no longer exists, */
    const struct step_inode *gone; /* and this is its record, */
    unsigned gone_in;              /* by this step */
};

/* Read the steps from the newest to this one. ERROR_INVALID_FIELD: no such
 * step; ERROR_TOO_LARGE: too many newer steps; else as rollback_load_step().
 * unprotected_too: this step may be unprotected; then level 0 must not be used
 * for lookups. */
gboolean past_open(struct ic *ic, int64_t id, bool unprotected_too,
                   struct past *ret_past, GError **error);
void past_clear(struct past *past);

/* Open the step's blobs directory: an fd that the caller owns, or -errno. */
int past_open_blobs(const struct past *past, unsigned step);

/* Return the record of an inode in a step, or NULL. */
const struct step_inode *past_record(const struct past *past,
                                     const struct past_node *node,
                                     unsigned step);

/* The same, but only if it has content of the inode. */
const struct step_inode *past_content_record(const struct past *past,
                                             const struct past_node *node,
                                             unsigned step);

/* Find what the path, relative to the share, meant at this level. 0; -ENOENT:
 * nothing; -ESTALE: unknown; or -errno. */
int past_resolve(const struct past *past, const char *path, unsigned level,
                 struct past_node *ret_node);

/* List names in the directory that this path meant at this level, from the
 * steps' records and from the present tree: a new set. Some may name nothing at
 * that level. 0 or -errno, as past_resolve(). */
int past_list(const struct past *past, const char *path, unsigned level,
              GHashTable **ret_names);
void past_node_clear(struct past_node *node);

#endif
