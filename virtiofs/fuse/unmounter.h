/* SPDX-License-Identifier: Apache-2.0
 *
 * unmounter - a helper process that unmounts for an ordinary user, through
 * fusermount3.
 *
 * libfuse would run fusermount3 by a fork(2) amid running requests. That child
 * has all open files until its exec, and the last close of a written file is
 * then reported with the child's process: as an outside edit. So this child is
 * created before the first request, has no files, and waits.
 *
 * Threads: one at a time.
 */
#ifndef VIRTIOFS_FUSE_UNMOUNTER_H
#define VIRTIOFS_FUSE_UNMOUNTER_H

#include <stdbool.h>

struct unmounter;

/* Start the helper for this mount (borrowed for the call). Return NULL if it
 * cannot be started. */
struct unmounter *unmounter_start(const char *dir);

/* Unmount; may be called once. Return false if it failed, or for NULL. */
bool unmounter_run(struct unmounter *unmounter);

/* End the helper, if it has not run. NULL is allowed. */
void unmounter_free(struct unmounter *unmounter);

#endif
