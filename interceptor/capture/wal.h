/* SPDX-License-Identifier: Apache-2.0
 *
 * wal - the open step, while the engine captures.
 */
#ifndef INTERCEPTOR_CAPTURE_WAL_H
#define INTERCEPTOR_CAPTURE_WAL_H

#include "interceptor/inode/log_links.h"
#include "interceptor/inode/inode.h"
#include "interceptor/log/content.h"
#include "interceptor/log/pack.h"
#include "interceptor/log/step.h"

/* The open step and its folder, wal/in_progress. take_wal() copies each member.
 */
struct wal {
    struct step *step;
    int dir, blobs;
    uint64_t epoch;
    int64_t last_content;       /* the newest content's number */
    struct pack *pack;          /* NULL: no content was saved yet */
    GPtrArray *contents;        /* owned struct content */
    atomic_bool no_clones;      /* the filesystem has no reflinks */
    atomic_bool unprotected;    /* nothing is saved any more (limits.h) */
    bool sync;                  /* see durable.h */
    _Atomic int64_t limit;      /* bytes that the step may copy */
    int64_t before;             /* bytes copied when the last change began */
    int64_t moved;              /* bytes occupied by the inodes that it took */
    _Atomic uint64_t n_dropped; /* inodes that the step made and removed */
    bool told_fixed;            /* once per step: warned of a fixed inode */
    bool told_rights;           /* likewise (capture_rights.c) */
    uint64_t plain_epoch, plain_dir; /* the last folder without a conflicting
                                      * project (capture_rights.c) */
    struct inode_table *inodes;      /* borrowed */
    int root;                        /* the share; borrowed */
    struct log_links *log_links;     /* borrowed */
};

#endif
