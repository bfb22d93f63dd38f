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

#include "interceptor/capture/capture_home.h"
#include "interceptor/capture/capture_note.h"
#include "interceptor/capture/capture_rights.h"
#include "interceptor/capture/wal.h"

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

#endif
