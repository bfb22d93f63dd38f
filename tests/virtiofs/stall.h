/* SPDX-License-Identifier: Apache-2.0
 *
 * stall - makes calls that wait for a disk take as long as a test wishes:
 * fsync(2), fdatasync(2), ftruncate(2), preadv(2), and pwritev2(2) with
 * RWF_SYNC.
 *
 * A filter of seccomp(2) hands these calls of the process's children to a
 * thread here, which lets them go on at once, or when it is told. Nothing is in
 * the host's memory for them: preadv2(2) with RWF_NOWAIT fails with EAGAIN.
 */
#ifndef TESTS_STALL_H
#define TESTS_STALL_H

/* Once, before the first child. The calls go on until stall_begin(). */
void stall_install(void);

/* Hold them from now on. */
void stall_begin(void);

/* Wait until so many are held. */
void stall_wait(unsigned count);

/* How many there were since stall_begin(), held or not. */
unsigned stall_count(void);

/* Let those that are held go on, and all that come. */
void stall_end(void);

#endif
