/* SPDX-License-Identifier: Apache-2.0
 *
 * capture - what a change is about to destroy goes into the open step.
 *
 * mutate*.c calls these before it changes the share. Each captures a thing
 * once a step and is then a table look-up. They write to the log only.
 *
 * Locks: all but capture_content_keep() under the engine's names lock.
 */
#ifndef INTERCEPTOR_CAPTURE_CAPTURE_H
#define INTERCEPTOR_CAPTURE_CAPTURE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "interceptor/inode/held.h"
#include "interceptor/inode/inode.h"
#include "interceptor/log/step.h"

/* The open step and its folder, wal/in_progress. */
struct wal {
    struct step *step;
    int dir, blobs;
    uint64_t epoch;
    int64_t last_content;    /* number of the last content */
    struct pack *pack;       /* or NULL: no content was kept yet */
    GPtrArray *contents;     /* owned struct content */
    atomic_bool no_clones;   /* the filesystem has no reflinks */
    atomic_bool unprotected; /* nothing is kept any more (limits.h) */
    bool sync;               /* see durable.h */
    _Atomic int64_t limit;   /* bytes that the step may copy */
    int64_t before;          /* bytes copied when the last change began */
    int64_t moved;           /* bytes that the inodes which it took occupy */
    bool told_fixed;         /* of this step: why a change was refused */
    bool told_rights;        /* the same (capture_rights.c) */
    uint64_t plain_epoch, plain_dir; /* the last folder in whose way no project
                                      * is (capture_rights.c) */
    struct inode_table *inodes;      /* borrowed */
    int root;                        /* the share; borrowed */
    struct held_links *held;         /* borrowed */
};

/* The step's record of an inode that existed before, with a way to find it
 * again, or of one that the step created. *ret_inode is NULL if there is
 * nothing to restore: the inode has no name and never will. -ESTALE: its
 * place in the tree cannot be found. */
int capture_inode(struct wal *wal, struct ic_inode *inode,
                  struct step_inode **ret_inode);

/* dir/name is about to change. now: what is there (NULL: nothing). Records
 * the directory's metadata too, for its mtime.
 *
 * This and the next ones: -EPERM if the inode is append-only or immutable. What
 * the kernel would let a client do with it, make a name or append, it would not
 * let an undo take back. */
int capture_binding(struct wal *wal, struct ic_inode *dir, const char *name,
                    const struct stat *now);

/* Whether capture_binding() has nothing left to do, whatever is there now.
 * Records nothing. */
bool capture_has_binding(const struct wal *wal, const struct ic_inode *dir,
                         const char *name);

/* The inode is about to get one more name. */
int capture_link(struct wal *wal, struct ic_inode *inode);

/* Its owner or group is about to become this; -1: not that. -EPERM as above,
 * also if the old one could not be given back. */
int capture_owner(struct wal *wal, struct ic_inode *inode, uid_t uid,
                  gid_t gid);

/* dir/name, whose stat is now, is about to be renamed. -EPERM: a folder of
 * others that we could not put aside to rename it back. */
int capture_rename(struct wal *wal, struct ic_inode *dir, const char *name,
                   const struct stat *now);

/* The inode's metadata is about to change. */
int capture_meta(struct wal *wal, struct ic_inode *inode);

/* The same of dir/name, whose stat is now. -EAGAIN: it is another by now. */
int capture_meta_at(struct wal *wal, struct ic_inode *dir, const char *name,
                    const struct stat *now);

/* Of the inode's content, [offset, offset + length) is about to change; in
 * three parts, so that a long copy holds no lock but the content's own.
 * *ret_content is what the step keeps of it; NULL if nothing is to be done. */
int capture_content_begin(struct wal *wal, struct ic_inode *inode,
                          struct content **ret_content);
/* -EXFULL: more than the step may copy. */
int capture_content_keep(struct wal *wal, struct ic_inode *inode,
                         struct content *content, off_t offset, off_t length);
int capture_content_end(struct wal *wal, struct ic_inode *inode,
                        struct content *content);

/* Bytes of content and records that the step has copied into the log. */
int64_t capture_copied(const struct wal *wal);

/* Close what is in the blobs folder: an unprotected step drops it. */
void capture_close_blobs(struct wal *wal);

/* The step is about to be committed: nothing more is kept. */
int capture_seal(struct wal *wal);

/* Forget everything of the step in memory. */
void capture_clear(struct wal *wal);

/* dir/name, whose stat is now, is about to be removed and cannot be moved into
 * the log: copy all of it. -EXFULL as above. */
int capture_copy(struct wal *wal, struct ic_inode *dir, const char *name,
                 const struct stat *now);

/* A name of the inode was removed, and was not moved into the log; before: its
 * stat until then. If it was the last, the number may be used again. */
void capture_note_gone(struct wal *wal, const struct stat *before);

/* Search the share for a name that the file had before the step, and note it
 * in the inode (inode_set_place()). 0, -ENOENT, or -errno. */
int capture_find_lost(struct wal *wal, struct ic_inode *inode);

/* Need the last name of this inode not be kept: has the step created it, or
 * does the step's log hold it already? */
bool capture_may_go(struct wal *wal, const struct stat *now);

/* The log took the inode, whose stat was st, as blobs/i<ino>. */
void capture_note_kept(struct wal *wal, const struct stat *st);

/* The step made this inode. */
void capture_note_created(struct wal *wal, struct ic_inode *inode);

/* It gave this inode one more name. */
void capture_note_linked(struct wal *wal, struct ic_inode *inode);

/* It made this one without a name. It is in the step's tables only when it gets
 * one: nobody tells when it is gone, and its number another's. */
void capture_note_unnamed(struct wal *wal, struct ic_inode *inode);

#endif
