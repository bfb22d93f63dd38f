/* SPDX-License-Identifier: Apache-2.0
 *
 * mutate - what the parts of the one door share: see mutate.c.
 */
#ifndef INTERCEPTOR_MUTATE_MUTATE_H
#define INTERCEPTOR_MUTATE_MUTATE_H

#include "interceptor/engine/engine.h"

enum { MUTATE_RACE_TRIES = 16 }; /* others change the same name meanwhile */

/* A change of names begins: the gate is entered, names is held, a step is
 * open. name (may be NULL) must be a component. 0, or -errno and nothing is
 * held. */
int mutate_begin(struct ic *ic, struct ic_inode *dir, const char *name);

/* It ends; returns rc. */
int mutate_finish(struct ic *ic, int rc);

/* A removed directory that the client still holds lives on in the log, where
 * nothing may be made in it. With names held. */
bool mutate_is_removed(const struct ic_inode *dir);

/* A name is about to be moved or removed. The inode that a name (NULL: none)
 * leads to, which the change removes. */
struct inode_victim mutate_hold_name(struct ic *ic, const struct ic_inode *dir,
                                     const char *name);

/* The change ended with rc. The victim, which is cleared, was removed if that
 * is 0. */
void mutate_let_go(struct ic *ic, struct inode_victim *victim, int rc,
                   const struct ic_inode *dir, const char *name);

/* Move dir/name, whose stat is now, into the log. -EXDEV: it must be copied
 * instead; -EAGAIN: it was another inode. */
int mutate_move_into_log(struct ic *ic, struct ic_inode *dir, const char *name,
                         const struct stat *now);

#endif
