/* SPDX-License-Identifier: Apache-2.0
 *
 * case_index - finds names of a directory that differ only in case.
 *
 * A client's file system distinguishes "Foo" from "foo", a Windows host's does
 * not: creating one where the other exists would change the other. So before a
 * name is created it is looked up here, among the directory's case-folded
 * names.
 *
 * A directory is read when a name is created in it for the first time, and
 * watched from before that on (inotify(7)). The kernel queues an event before
 * the system call that changed the directory returns, whatever process made it,
 * undo included; and the queue is drained before each answer. So the answer is
 * right for every change that completed before the query. If events are lost,
 * everything is read again; a directory that cannot be watched is read each
 * time.
 *
 * Bounded: beyond these numbers of directories and names, the least recently
 * used ones are dropped; a name takes about 150 bytes.
 *
 * Threads: any thread may make any call, except case_index_free(). The caller
 * must keep the name from being created concurrently.
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

/* Return whether the directory (a reference) has a name that differs from this
 * one only in case. except (may be NULL) does not count. Return 1, 0 or -errno.
 */
int case_index_collides(struct case_index *index, struct ic_inode *dir,
                        const char *name, const char *except);

/* Return the number of cached names (for tests and messages). */
size_t case_index_names(struct case_index *index);

#endif
