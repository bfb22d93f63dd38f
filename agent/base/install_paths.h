/* SPDX-License-Identifier: Apache-2.0
 *
 * install_paths - where the other parts of Stepback are.
 *
 * The environment comes first ($STEPBACK_LIBEXECDIR, $STEPBACK_DATADIR, which
 * must be absolute), then
 * the build directory if this program runs from one, then the place of
 * installation.
 */
#ifndef AGENT_BASE_INSTALL_PATHS_H
#define AGENT_BASE_INSTALL_PATHS_H

/* The path of a helper program such as "stepback-virtiofsd". A new string, or
 * NULL if it is nowhere. */
char *install_paths_find_helper(const char *name);

/* Tell why that is nowhere: "NAME: not ...; REMEDY". A new string. */
char *install_paths_describe_missing(const char *name);

/* The path of the script that builds guest images. A new string, or NULL. */
char *install_paths_find_image_builder(void);

#endif
