/* SPDX-License-Identifier: Apache-2.0
 *
 * btime - an inode's creation time, which with its number identifies it.
 *
 * A filesystem reuses an inode number once the inode is gone. The btime
 * (statx(2), STATX_BTIME) cannot be set and never changes. So two inodes with
 * the same number and different btimes are different inodes. Overlayfs reports
 * the time of the copy-up, which is not a btime.
 */
#ifndef INTERCEPTOR_SYS_BTIME_H
#define INTERCEPTOR_SYS_BTIME_H

#include <stdint.h>

/* Return the btime of dirfd/name, or of dirfd itself (which may be O_PATH) if
 * the name is "", as clock_ns(). 0: unknown, because the filesystem does not
 * report it or a clock was set back after it. */
int64_t btime_of_name(int dirfd, const char *name);

#endif
