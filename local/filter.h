/* SPDX-License-Identifier: Apache-2.0
 *
 * filter - the system calls that a local sandbox does not have.
 */
#ifndef LOCAL_FILTER_H
#define LOCAL_FILTER_H

/* Return an open file with the filter as bubblewrap's --seccomp takes it. Exit
 * on failure. */
int filter_make(void);

#endif
