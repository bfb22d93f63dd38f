/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_folders - see mcp_folders.h.
 */
#include "agent/mcp/mcp_folders.h"

#include <string.h>

#include "agent/mcp/mcp_state.h"

struct mcp_folders *mcp_folders_new(struct mcp_state *service)
{
    struct mcp_folders *folders = g_new0(struct mcp_folders, 1);
    const struct session_config *config;
    struct session_status status;

    service->host->get_status(service->host_opaque, &status);
    config = status.config;
    folders->count = config ? config->n_directories : 1;
    if (config)
        folders->labels = g_new0(char *, folders->count + 1);
    for (unsigned i = 0; config && i < folders->count; i++)
        folders->labels[i] = g_strdup(config->directories[i]->label);
    return folders;
}

void mcp_folders_free(struct mcp_folders *folders)
{
    g_strfreev(folders->labels);
    g_free(folders);
}

bool mcp_folders_find(const struct mcp_folders *folders, const char *label,
                      unsigned *ret_index)
{
    for (unsigned i = 0; label && folders->labels && i < folders->count; i++) {
        if (strcmp(folders->labels[i], label) == 0) {
            *ret_index = i;
            return true;
        }
    }
    return false;
}

int mcp_folders_fd(struct mcp_state *service, unsigned index, GError **error)
{
    const struct folder_ref folder = { .given = index > 0, .index = index };

    return service->host->folder_fd(service->host_opaque, folder, error);
}

/* ---- URIs ---------------------------------------------------------------- */

char *mcp_folders_uri(const struct mcp_folders *folders, unsigned index,
                      const char *path)
{
    g_autofree char *escaped = g_uri_escape_bytes((const guint8 *)path,
                                                  strlen(path), "/");
    g_autofree char *label = NULL;

    if (index == 0)
        return g_strconcat(MCP_FILES_URI, escaped, NULL);
    label = g_uri_escape_string(folders->labels[index], NULL, FALSE);
    return g_strconcat(MCP_FOLDER_URI, label, "/", escaped, NULL);
}

/* Decode percent-encoding: a new string, or NULL if it is empty or
 * malformed. */
static char *unescape(const char *text, gssize len)
{
    g_autoptr(GBytes) bytes = g_uri_unescape_bytes(text, len, NULL, NULL);
    gsize size = 0;
    const char *data = bytes ? g_bytes_get_data(bytes, &size) : NULL;

    return data && size > 0 && !memchr(data, '\0', size) ? g_strndup(data, size)
                                                         : NULL;
}

bool mcp_folders_parse_label(const struct mcp_folders *folders,
                             const char *text, unsigned *ret_index,
                             const char **ret_path)
{
    const char *slash = strchr(text, '/');
    g_autofree char *label = slash ? unescape(text, slash - text) : NULL;

    if (!mcp_folders_find(folders, label, ret_index))
        return false;
    *ret_path = slash + 1;
    return true;
}

bool mcp_folders_parse(const struct mcp_folders *folders, const char *uri,
                       unsigned *ret_index, char **ret_path)
{
    const char *rest = uri + strlen(MCP_FILES_URI);

    *ret_index = 0;
    if (!g_str_has_prefix(uri, MCP_FILES_URI) &&
        (!g_str_has_prefix(uri, MCP_FOLDER_URI) ||
         !mcp_folders_parse_label(folders, uri + strlen(MCP_FOLDER_URI),
                                  ret_index, &rest)))
        return false;
    *ret_path = unescape(rest, -1);
    return *ret_path != NULL;
}

bool mcp_folders_is_file(const char *uri)
{
    return g_str_has_prefix(uri, MCP_FILES_URI) ||
           g_str_has_prefix(uri, MCP_FOLDER_URI);
}
