/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_walk - the files of a folder, one page after another.
 *
 * Files come in a fixed order, folders by name, so that a page can begin after
 * the file that the last one ended with, whatever has come and gone meanwhile.
 * No symlink is followed. Folders named .git are passed by: what is in there
 * is no reading for anybody.
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

/* Up to max regular files after a path ("": from the beginning), of type struct
 * mcp_walk_entry. *ret_next: after which path to go on, a new string; NULL:
 * that was all. A page may be short, as the work for one is bounded. */
GPtrArray *mcp_walk(int root_fd, const char *after, unsigned max,
                    char **ret_next);

#endif
