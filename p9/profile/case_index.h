/* SPDX-License-Identifier: Apache-2.0
 *
 * case_index - which names of a folder differ in case alone.
 *
 * A client's file system tells "Foo" from "foo", a Windows host's does not: to
 * make the one where the other is would change the other. So before a name is
 * made it is looked up here, among the folder's names without their case.
 *
 * A folder is read when a name is made in it for the first time, and watched
 * from before that on (inotify(7)). The kernel queues an event before the call
 * that changed the folder returns, whoever made it, undo included; and the
 * queue is emptied before each answer. So the answer is right for every change
 * that was done before the question. If events are lost, everything is read
 * again; a folder that cannot be watched is read each time.
 *
 * Bounded: of so many folders and names, those that were not asked for the
 * longest are forgotten; a name takes some 150 bytes.
 *
 * Threads: every call by any thread, but case_index_free(). That nobody makes
 * the name meanwhile is the caller's to see to.
 */
#ifndef P9_PROFILE_CASE_INDEX_H
#define P9_PROFILE_CASE_INDEX_H

#include "interceptor/interceptor.h"

enum {
    CASE_INDEX_MAX_DIRS = 4096,
    CASE_INDEX_MAX_NAMES = 1 << 20,
};

struct case_index;

struct case_index *case_index_new(void);
void case_index_free(struct case_index *index);

/* Is there a name in the folder (a reference) that differs from this one, and
 * in case alone? except (may be NULL) does not count. 1, 0 or -errno. */
int case_index_collides(struct case_index *index, struct ic_inode *dir,
                        const char *name, const char *except);

/* How many names it knows (for tests and messages). */
size_t case_index_names(struct case_index *index);

#endif
