/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox_filter - the system call filter of a sandbox.
 */
#ifndef COMMON_SANDBOX_FILTER_H
#define COMMON_SANDBOX_FILTER_H

#include <glib.h>

struct sandbox;

/* Filter the system calls of all threads. FALSE and error on failure. */
gboolean sandbox_filter(const struct sandbox *sandbox, GError **error);

#endif
