/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox_ids - users and capabilities of a sandbox.
 */
#ifndef COMMON_SANDBOX_IDS_H
#define COMMON_SANDBOX_IDS_H

#include <glib.h>
#include <stdbool.h>

#include "common/sandbox_options.h"

/* Check the syntax of a list or map; a map must include this process's own id.
 * NULL is valid. error: ERROR_INVALID_FIELD. */
gboolean sandbox_check_modcaps(const char *modcaps, GError **error);
gboolean sandbox_check_map(const char *option, const char *text, unsigned own,
                           GError **error);

/* Return whether any id inside differs from the one outside. NULL: no. */
bool sandbox_map_renumbers(const char *text);

/* ---- for sandbox.c ------------------------------------------------------- */

/* A user namespace (sandbox_ids.c), with the maps of options: in two stages,
 * because a process outside writes the maps. False and error on failure. */
struct sandbox_mapper;
struct sandbox_mapper *sandbox_mapper_new(const struct sandbox_options *options,
                                          GError **error);
gboolean sandbox_mapper_run(struct sandbox_mapper *mapper, GError **error);
void sandbox_mapper_free(struct sandbox_mapper *mapper);

gboolean sandbox_drop_capabilities(const char *modcaps, bool file_handles,
                                   GError **error);

#endif
