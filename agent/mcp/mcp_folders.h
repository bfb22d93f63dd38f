/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_folders - MCP resource URIs for the session's working folders.
 *
 *     stepback://files/PATH           a file of the first folder
 *     stepback://folder/LABEL/PATH    a file of the folder with this label
 *     stepback://history              the steps that can be undone, as JSON
 *
 * LABEL and PATH are percent-encoded; a slash in LABEL is encoded too. Lists
 * use the first form for the first folder, whether or not there are others;
 * both forms are accepted. The scheme is private: with file:// a client could
 * take such a file for one on the host.
 */
#ifndef AGENT_MCP_MCP_FOLDERS_H
#define AGENT_MCP_MCP_FOLDERS_H

#include <glib.h>
#include <stdbool.h>

#define MCP_HISTORY_URI "stepback://history"
#define MCP_FILES_URI   "stepback://files/"
#define MCP_FOLDER_URI  "stepback://folder/"

struct mcp_state;

struct mcp_folders {
    unsigned count;
    char **labels; /* n labels; NULL: no running session, or no labels */
};

/* Take a snapshot. While no session runs there is one folder without a label,
 * which may not exist. */
struct mcp_folders *mcp_folders_new(struct mcp_state *service);
void mcp_folders_free(struct mcp_folders *folders);

/* Find the index of the folder with this label (NULL: no label). */
bool mcp_folders_find(const struct mcp_folders *folders, const char *label,
                      unsigned *ret_index);

/* Return the folder's fd, borrowed; -1 and error on failure. */
int mcp_folders_fd(struct mcp_state *service, unsigned index, GError **error);

/* Returns a new string. */
char *mcp_folders_uri(const struct mcp_folders *folders, unsigned index,
                      const char *path);

/* Parse a file's URI, if it refers to one of these folders: *ret_path is a new
 * string, not empty. */
bool mcp_folders_parse(const struct mcp_folders *folders, const char *uri,
                       unsigned *ret_index, char **ret_path);

/* Return whether this is the URI of a file, in any folder. */
bool mcp_folders_is_file(const char *uri);

/* Parse "LABEL/PATH" as after MCP_FOLDER_URI: the folder, and PATH as
 * written. */
bool mcp_folders_parse_label(const struct mcp_folders *folders,
                             const char *text, unsigned *ret_index,
                             const char **ret_path);

#endif
