/* SPDX-License-Identifier: Apache-2.0
 *
 * stall - delay calls that wait for a disk as long as a test needs.
 *
 * These are fsync(2), fdatasync(2), ftruncate(2), preadv(2), and pwritev2(2)
 * with RWF_SYNC. A seccomp(2) filter passes such calls of the process's
 * children to a thread here, which continues them at once, or when requested.
 * To them nothing is in the page cache: preadv2(2) with RWF_NOWAIT fails with
 * EAGAIN.
 */
#ifndef TESTS_STALL_H
#define TESTS_STALL_H

/* Call once, before the first child. Calls continue until stall_begin(). */
void stall_install(void);

/* Hold them from now on. */
void stall_begin(void);

/* Wait until count calls are held. */
void stall_wait(unsigned count);

/* Return the number of calls since stall_begin(), held or not. */
unsigned stall_count(void);

/* Continue those that are held, and all later ones. */
void stall_end(void);

#endif
