/* SPDX-License-Identifier: Apache-2.0
 *
 * install_paths - locate the other installed parts of Stepback.
 *
 * Search order: the environment ($STEPBACK_LIBEXECDIR, $STEPBACK_DATADIR; both
 * must be absolute), the build directory if this program runs from one, then
 * the installation directory.
 */
#ifndef AGENT_BASE_INSTALL_PATHS_H
#define AGENT_BASE_INSTALL_PATHS_H

#include <stdbool.h>

/* Return the path of a helper program such as "stepback-virtiofsd": a new
 * string, or NULL if it is not found. */
char *install_paths_find_helper(const char *name);

/* Return whether an upgrade has replaced this program while it runs. The helper
 * programs then speak another version's language. */
bool install_paths_are_newer(void);

/* Return the path of this program: a new string. */
char *install_paths_self(void);

/* Explain why a helper is not found: "NAME: not ...; REMEDY". Returns a new
 * string. */
char *install_paths_describe_missing(const char *name);

/* Return the path of the guest image build script: a new string, or NULL. */
char *install_paths_find_image_builder(void);

/* Return the folder of the installed network presets: a new string, or NULL. */
char *install_paths_find_presets(void);

#endif
