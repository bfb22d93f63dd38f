/* SPDX-License-Identifier: Apache-2.0
 *
 * copier - the process of one copy.
 *
 * Only this process of the shim allocates memory (libarchive does), blocks on
 * the guest's file systems, and fails without harm to others.
 */
#ifndef SHIM_COPIER_H
#define SHIM_COPIER_H

#include <sys/types.h>

#include "shim/bulk_wire.h"

/* What a copier writes to its news fd: COPIER_OPENED first unless the path was
 * refused; at the end COPIER_DONE and the payload of BULK_END, or
 * COPIER_FAILED and the reason. Its end of file without them is a failure. */
enum { COPIER_OPENED = 'o', COPIER_DONE = 'd', COPIER_FAILED = 'f' };

/* Fork a copier. Return its pid or -errno; sets the non-blocking ends: data
 * (the stream) and news. */
pid_t copier_start(unsigned flags, const char *path, int *ret_data,
                   int *ret_news);

#endif
