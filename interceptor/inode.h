/* SPDX-License-Identifier: Apache-2.0
 *
 * inode - the inodes that the file server knows.
 *
 * An ic_inode exists once for each inode of the share that the server holds a
 * reference to. Its O_PATH fd pins the inode, so that (dev, ino) is its
 * identity while it exists, and so that it can be reached whatever happens to
 * its names. parent and name are where it was last seen: a hint that is
 * checked before it is believed, since others may rename.
 *
 * Epochs. data_epoch and meta_epoch hold the engine's epoch (a number for
 * each step, never 0) in which the inode's content or metadata was already
 * captured as a whole: then a change needs one atomic compare and no lock.
 * Where a part of the content was captured, content_epoch is the engine's and
 * content says which part (content.h). content is set before content_epoch,
 * and what it points to lives until the step is closed, for which the engine's
 * gate has to be write-locked.
 *
 * Locks: the table's lock guards the hash and the step from one reference to
 * none; inode->lock guards parent and name. Order: the engine's locks, then
 * the table's, then inode->lock.
 */
#ifndef INTERCEPTOR_INODE_H
#define INTERCEPTOR_INODE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "interceptor/interceptor.h"

struct content;
struct inode_table;

struct ic_inode {
    struct inode_table *table;
    dev_t dev;
    ino_t ino;
    mode_t type; /* S_IFMT */
    int fd;      /* O_PATH, owned */
    _Atomic unsigned refs;

    _Atomic uint64_t data_epoch;
    _Atomic uint64_t content_epoch; /* in which content is valid */
    struct content *content;        /* the open step's; borrowed */
    _Atomic uint64_t meta_epoch;
    _Atomic uint64_t guard_epoch; /* in which no safeguard asks about it */
    _Atomic unsigned log_links;   /* links that the undo log holds */

    pthread_mutex_t lock;
    struct ic_inode *parent; /* a reference, or NULL: the root or unnamed */
    char *name;              /* NULL with parent */
};

/* link_count (may be NULL) says how many links the log holds of an inode that
 * is met anew. */
struct inode_table *inode_table_new(unsigned (*log_links)(dev_t dev, ino_t ino,
                                                          void *opaque),
                                    void *opaque);

/* Frees the table; all inodes must have been given back. */
void inode_table_free(struct inode_table *table);

/* The inode of an O_PATH fd (taken) whose stat is st: the one in the table, or
 * a new one. A new reference. parent (borrowed) and name: where it was found;
 * NULL: nowhere. */
struct ic_inode *inode_table_take(struct inode_table *table, int fd,
                                  const struct stat *st,
                                  struct ic_inode *parent, const char *name);

/* The inode if it is known, else NULL. A new reference. */
struct ic_inode *inode_table_find(struct inode_table *table, dev_t dev,
                                  ino_t ino);

/* Note that the inode is now to be found there. */
void inode_set_place(struct ic_inode *inode, struct ic_inode *parent,
                     const char *name);

/* Where it was last seen: a new reference and a new string, or false. */
bool inode_get_place(struct ic_inode *inode, struct ic_inode **ret_parent,
                     char **ret_name);

#endif
