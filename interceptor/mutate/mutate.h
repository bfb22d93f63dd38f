/* SPDX-License-Identifier: Apache-2.0
 *
 * mutate - shared by the files of the mutation layer: see mutate.c.
 */
#ifndef INTERCEPTOR_MUTATE_MUTATE_H
#define INTERCEPTOR_MUTATE_MUTATE_H

#include "interceptor/engine/engine.h"

enum {
    MUTATE_RACE_TRIES = 16
}; /* retries when other processes change the same
    * name */

/* Begin a change of names: enter the gate, lock names, ensure an open step.
 * name (may be NULL) must be a component. Returns 0, or -errno with nothing
 * locked. */
int mutate_begin(struct ic *ic, struct ic_inode *dir, const char *name);

/* End it; returns rc. */
int mutate_finish(struct ic *ic, int rc);

/* A removed directory that the client still has open lives on in the log, where
 * nothing may be made in it. With names locked. */
bool mutate_is_removed(const struct ic_inode *dir);

/* Begin to move or remove a name. Returns the inode that the name (NULL: none)
 * leads to and that the change removes. */
struct inode_victim mutate_hold_name(struct ic *ic, const struct ic_inode *dir,
                                     const char *name);

/* End it with rc: if 0, the victim was removed. Clears the victim. */
void mutate_let_go(struct ic *ic, struct inode_victim *victim, int rc,
                   const struct ic_inode *dir, const char *name);

/* Move dir/name, whose stat is now, into the log. -EXDEV: it must be copied
 * instead; -EAGAIN: it was another inode. */
int mutate_move_into_log(struct ic *ic, struct ic_inode *dir, const char *name,
                         const struct stat *now);

#endif
