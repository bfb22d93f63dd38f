/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_folders - the session's working folders, as MCP resources name them.
 *
 *     stepback://files/PATH           a file of the first folder
 *     stepback://folder/LABEL/PATH    a file of the folder with this label
 *     stepback://history              the steps that can be undone, as JSON
 *
 * LABEL and PATH are percent-encoded, and a slash in LABEL is, too. The first
 * folder's files are listed by the first form, whether there are other folders
 * or not; both forms are understood. The scheme is our own: a client must not
 * take such a file for one of the host's, as it might with file://.
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
    char **labels; /* count of them; NULL: no session runs that has labels */
};

/* As they are now. While no session runs there is one folder without a label,
 * which may not be there. */
struct mcp_folders *mcp_folders_new(struct mcp_state *service);
void mcp_folders_free(struct mcp_folders *folders);

/* The index of the folder with this label (NULL: there is none). */
bool mcp_folders_find(const struct mcp_folders *folders, const char *label,
                      unsigned *ret_index);

/* The folder's fd, borrowed; -1 and error. */
int mcp_folders_fd(struct mcp_state *service, unsigned index, GError **error);

/* A new string. */
char *mcp_folders_uri(const struct mcp_folders *folders, unsigned index,
                      const char *path);

/* The file that a uri names, if it is one's of these folders: *ret_path is a
 * new string, not empty. */
bool mcp_folders_parse(const struct mcp_folders *folders, const char *uri,
                       unsigned *ret_index, char **ret_path);

/* Whether it is a file's, of these folders or of others. */
bool mcp_folders_is_file(const char *uri);

/* "LABEL/PATH", as after MCP_FOLDER_URI: the folder, and PATH as it stands
 * there. */
bool mcp_folders_parse_label(const struct mcp_folders *folders,
                             const char *text, unsigned *ret_index,
                             const char **ret_path);

#endif
