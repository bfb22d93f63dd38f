/* SPDX-License-Identifier: Apache-2.0
 *
 * unmounter - what unmounts for an ordinary user, who needs fusermount3.
 *
 * libfuse would run it by a fork(2) in the midst of work. The child has all
 * files until its exec, and the last close of one that was written is told with
 * its process: as an edit from outside. So the child is made before there is
 * work, has no files, and waits.
 *
 * Threads: for one.
 */
#ifndef VIRTIOFS_FUSE_UNMOUNTER_H
#define VIRTIOFS_FUSE_UNMOUNTER_H

#include <stdbool.h>

struct unmounter;

/* For this mount (borrowed for the call). NULL: there can be none. */
struct unmounter *unmounter_start(const char *dir);

/* Once. False: it is not unmounted, or NULL. */
bool unmounter_run(struct unmounter *unmounter);

/* Let it go, if it has not run. NULL is allowed. */
void unmounter_free(struct unmounter *unmounter);

#endif
