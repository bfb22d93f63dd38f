/* SPDX-License-Identifier: Apache-2.0
 *
 * restore_search - find an inode of which nobody knows the name.
 *
 * Where the log is on another filesystem, an inode that lost a name was copied,
 * not moved. It lives on if it had other names, and no record says where they
 * are.
 */
#ifndef INTERCEPTOR_RESTORE_SEARCH_H
#define INTERCEPTOR_RESTORE_SEARCH_H

#include <stdint.h>

/* Link the inode, wherever it is below top, to dirfd/name. -ENOENT if it is
 * not there. */
int restore_search(int top, uint64_t ino, int dirfd, const char *name);

#endif
