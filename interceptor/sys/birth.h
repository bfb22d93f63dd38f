/* SPDX-License-Identifier: Apache-2.0
 *
 * birth - when an inode was made: with its number, who it is.
 *
 * A number is given again when its inode is gone. The time of birth (statx(2),
 * STATX_BTIME) cannot be set and stays; so two of the same number and another
 * birth are two, and who was born after an inode of that number was met is
 * another one. overlayfs says when a file was copied up, which is not that.
 */
#ifndef INTERCEPTOR_SYS_BIRTH_H
#define INTERCEPTOR_SYS_BIRTH_H

#include <stdint.h>

/* clock_ns() of the birth of what is at dirfd/name, or, with the name "", of
 * what is open as dirfd, which may be O_PATH. 0: not known, as where the
 * filesystem does not say, or where a clock was set back after it. */
int64_t birth_of_name(int dirfd, const char *name);

#endif
