/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox_ids - users and capabilities of a sandbox.
 */
#ifndef COMMON_SANDBOX_IDS_H
#define COMMON_SANDBOX_IDS_H

#include <glib.h>
#include <stdbool.h>

#include "common/sandbox_options.h"

/* Can these texts be such a list or map, the map for one with our own id? NULL
 * can. error: ERROR_INVALID_FIELD. */
gboolean sandbox_check_modcaps(const char *modcaps, GError **error);
gboolean sandbox_check_map(const char *option, const char *text, unsigned own,
                           GError **error);

/* Has somebody another number inside than outside? NULL: no. */
bool sandbox_map_renumbers(const char *text);

/* ---- for sandbox.c ------------------------------------------------------- */

/* A user namespace (sandbox_ids.c), with the maps of options: in two parts,
 * because the maps are written by a process outside. False and error. */
struct sandbox_mapper;
struct sandbox_mapper *sandbox_mapper_new(const struct sandbox_options *options,
                                          GError **error);
gboolean sandbox_mapper_run(struct sandbox_mapper *mapper, GError **error);
void sandbox_mapper_free(struct sandbox_mapper *mapper);

gboolean sandbox_drop_capabilities(const char *modcaps, bool file_handles,
                                   GError **error);

#endif
