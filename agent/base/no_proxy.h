/* SPDX-License-Identifier: Apache-2.0
 *
 * no_proxy - the value of the variable NO_PROXY: which names a proxy is not
 * for.
 *
 *     example.org       this name, and names below it
 *     .example.org      the same; also with "*." in front
 *     example.org:8443  this port only
 *     *                 all names
 *
 * Entries are separated by commas or white space. Addresses and networks match
 * no name, and malformed entries nothing, as with other programs.
 */
#ifndef AGENT_BASE_NO_PROXY_H
#define AGENT_BASE_NO_PROXY_H

#include <stdbool.h>

/* Return whether the value (NULL: none) has an entry for this name, which is
 * normalized (network_name.h). */
bool no_proxy_matches(const char *value, const char *name, unsigned port);

#endif
