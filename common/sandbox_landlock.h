/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox_landlock - the paths that a sandbox may use by Landlock.
 */
#ifndef COMMON_SANDBOX_LANDLOCK_H
#define COMMON_SANDBOX_LANDLOCK_H

#include <glib.h>

struct sandbox;

/* Return false without an error if this kernel's Landlock is absent or too
 * old. */
gboolean sandbox_restrict_paths(const struct sandbox *sandbox, GError **error);

#endif
