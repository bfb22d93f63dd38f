/* SPDX-License-Identifier: Apache-2.0
 *
 * capture - save what a change is about to destroy into the open step.
 *
 * mutate*.c calls these before it changes the share. Each saves a thing once
 * per step; further calls are table lookups. They write to the log only.
 *
 * Locks: all but capture_content_keep() under the engine's names lock.
 */
#ifndef INTERCEPTOR_CAPTURE_CAPTURE_H
#define INTERCEPTOR_CAPTURE_CAPTURE_H

#include "interceptor/capture/capture_home.h"
#include "interceptor/capture/capture_note.h"
#include "interceptor/capture/capture_rights.h"
#include "interceptor/capture/wal.h"

/* dir/name is about to change. now: its stat (NULL: it does not exist). Also
 * records the directory's metadata, for its mtime.
 *
 * This and the next functions return -EPERM if the inode is append-only or
 * immutable: the kernel would let a client make a name in it or append to it,
 * but would not let undo reverse that. */
int capture_binding(struct wal *wal, struct ic_inode *dir, const char *name,
                    const struct stat *now);

/* Return whether capture_binding() has nothing left to do, whatever exists now.
 * Records nothing. */
bool capture_has_binding(const struct wal *wal, const struct ic_inode *dir,
                         const char *name);

/* The inode's metadata is about to change. */
int capture_meta(struct wal *wal, struct ic_inode *inode);

/* The same for dir/name, whose stat is now. -EAGAIN: it is another inode by
 * now. */
int capture_meta_at(struct wal *wal, struct ic_inode *dir, const char *name,
                    const struct stat *now);

/* [offset, offset + length) of the inode's content is about to change. In three
 * parts, so that a long copy holds no lock but the content's own. *ret_content
 * is what the step saves; NULL if nothing needs saving. */
int capture_content_begin(struct wal *wal, struct ic_inode *inode,
                          struct content **ret_content);
/* -EXFULL: more than the step may copy. */
int capture_content_keep(struct wal *wal, struct ic_inode *inode,
                         struct content *content, off_t offset, off_t length);
int capture_content_end(struct wal *wal, struct ic_inode *inode,
                        struct content *content);

/* Return the bytes of content and records that the step has copied into the
 * log. */
int64_t capture_copied(const struct wal *wal);

/* Close everything in the blobs folder: an unprotected step drops it. */
void capture_close_blobs(struct wal *wal);

/* The step is about to be committed: nothing more is saved. */
int capture_seal(struct wal *wal);

/* Free the step's state in memory. */
void capture_clear(struct wal *wal);

/* dir/name, whose stat is now, is about to be removed and cannot be moved into
 * the log: copy all of it. -EXFULL as above. */
int capture_copy(struct wal *wal, struct ic_inode *dir, const char *name,
                 const struct stat *now);

#endif
