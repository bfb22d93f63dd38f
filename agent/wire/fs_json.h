/* SPDX-License-Identifier: Apache-2.0
 *
 * fs_json - folders and files as the answers to fs.list and fs.read.
 */
#ifndef AGENT_WIRE_FS_JSON_H
#define AGENT_WIRE_FS_JSON_H

#include <jansson.h>

#include "agent/session/fs_view.h"

/* path is UTF-8. Both return a new object. */
json_t *fs_listing_to_json(const struct fs_listing *listing, const char *path);
json_t *fs_content_to_json(const struct fs_content *content, const char *path);

#endif
