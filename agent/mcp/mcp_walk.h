/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_walk - list the files of a folder in pages.
 *
 * Files come in a fixed order, folders by name, so that a page can begin after
 * the last file of the previous page, whatever was added or removed in between.
 * Symlinks are not followed. Folders named .git are skipped, because their
 * files are git's internal data.
 */
#ifndef AGENT_MCP_MCP_WALK_H
#define AGENT_MCP_MCP_WALK_H

#include <glib.h>
#include <stdbool.h>
#include <sys/stat.h>

struct mcp_walk_entry {
    char *path; /* relative; any bytes */
    struct stat st;
};

/* Return up to max regular files after a path ("": from the beginning), of type
 * struct mcp_walk_entry. *ret_next: the path after which to continue, a new
 * string; NULL after the last page. A page may be shorter, because the work per
 * page is limited. */
GPtrArray *mcp_walk(int root_fd, const char *after, unsigned max,
                    char **ret_next);

#endif
