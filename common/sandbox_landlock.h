/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox_landlock - the paths that Landlock lets a sandbox use.
 */
#ifndef COMMON_SANDBOX_LANDLOCK_H
#define COMMON_SANDBOX_LANDLOCK_H

#include <glib.h>

struct sandbox;

/* False and no error: this kernel has none that is good enough. */
gboolean sandbox_restrict_paths(const struct sandbox *sandbox, GError **error);

#endif
