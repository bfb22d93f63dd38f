/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox_filter - the system calls that a sandbox allows.
 */
#ifndef COMMON_SANDBOX_FILTER_H
#define COMMON_SANDBOX_FILTER_H

#include <glib.h>

struct sandbox;

/* Filter system calls, of all threads. */
gboolean sandbox_filter(const struct sandbox *sandbox, GError **error);

#endif
