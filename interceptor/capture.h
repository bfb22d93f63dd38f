/* SPDX-License-Identifier: Apache-2.0
 *
 * capture - what a change is about to destroy goes into the open step.
 *
 * mutate*.c calls these before it changes the share. Each captures a thing
 * once a step and is then a table look-up. They write to the log only.
 *
 * Locks: all but capture_data_save() under the engine's names lock.
 */
#ifndef INTERCEPTOR_CAPTURE_H
#define INTERCEPTOR_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "interceptor/held.h"
#include "interceptor/inode.h"
#include "interceptor/step.h"

/* The open step and its folder, wal/in_progress. */
struct wal {
    struct step *step;
    int dir, blobs;
    uint64_t epoch;
    int64_t last_blob;          /* number of the last content blob */
    struct inode_table *inodes; /* borrowed */
    struct held_links *held;    /* borrowed */
};

/* The step's record of an inode that existed before, with a way to find it
 * again, or of one that the step created. *ret_inode is NULL if there is
 * nothing to restore: the inode has no name and never will. -ESTALE: its
 * place in the tree cannot be found. */
int capture_inode(struct wal *wal, struct ic_inode *inode,
                  struct step_inode **ret_inode);

/* dir/name is about to change. now: what is there (NULL: nothing). Records
 * the directory's metadata too, for its mtime. */
int capture_binding(struct wal *wal, struct ic_inode *dir, const char *name,
                    const struct stat *now);

/* The inode's metadata is about to change. */
int capture_meta(struct wal *wal, struct ic_inode *inode);

/* The inode's content is about to change, in three parts, so that a long copy
 * holds no lock but the inode's own: *ret_blob is the number to save it
 * under, or 0 if nothing is to be done. */
int capture_data_begin(struct wal *wal, struct ic_inode *inode,
                       int64_t *ret_blob);
int capture_data_save(struct wal *wal, struct ic_inode *inode, int64_t blob,
                      int64_t *ret_size);
int capture_data_end(struct wal *wal, struct ic_inode *inode, int64_t blob,
                     int64_t size);

/* dir/name, whose stat is now, is about to be removed and cannot be moved into
 * the log: copy all of it. */
int capture_copy(struct wal *wal, struct ic_inode *dir, const char *name,
                 const struct stat *now);

/* Need the last name of this inode not be kept: has the step created it, or
 * does the step's log hold it already? */
bool capture_may_go(struct wal *wal, const struct stat *now);

/* The log took the inode, as blobs/i<ino>. */
void capture_note_kept(struct wal *wal, uint64_t ino);

/* The step made this inode. */
void capture_note_created(struct wal *wal, struct ic_inode *inode);

#endif
