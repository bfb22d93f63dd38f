/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_news - see mcp_news.h.
 *
 * What has changed is a set of "INDEX/PATH": the folder's index, and a path in
 * it. So is what a client has subscribed to, whichever way it names the folder.
 */
#include "agent/mcp/mcp_news.h"

#include <string.h>

#include "agent/mcp/mcp_folders.h"
#include "agent/mcp/mcp_state.h"
#include "common/json_bytes.h"

struct news {
    const struct mcp_folders *folders;
    GHashTable *keys; /* that have changed */
    bool all;         /* any may have */
    GHashTable *told; /* uris */
};

/* A client may write "d//f", "./d/f" or "d/": components alone count. */
static char *make_key(unsigned index, const char *path)
{
    GString *key = g_string_new(NULL);

    g_string_printf(key, "%u", index);
    while (*path) {
        size_t len = strcspn(path, "/");

        if (len > 0 && !(len == 1 && *path == '.')) {
            g_string_append_c(key, '/');
            g_string_append_len(key, path, (gssize)len);
        }
        path += len + (path[len] == '/');
    }
    return g_string_free(key, FALSE);
}

/* A change below a folder is news for whoever watches that. */
static bool is_news(const struct news *news, const char *key)
{
    GHashTableIter iter;
    gpointer changed;
    size_t len = strlen(key);

    if (news->all || g_hash_table_contains(news->keys, key))
        return true;
    g_hash_table_iter_init(&iter, news->keys);
    while (g_hash_table_iter_next(&iter, &changed, NULL)) {
        if (strncmp(changed, key, len) == 0 && ((char *)changed)[len] == '/')
            return true;
    }
    return false;
}

static void collect(const char *uri, void *opaque)
{
    struct news *news = opaque;
    g_autofree char *path = NULL, *key = NULL;
    unsigned index = 0;
    bool known = mcp_folders_parse(news->folders, uri, &index, &path);

    if (!known && !(news->all && mcp_folders_is_file(uri)))
        return;
    key = known ? make_key(index, path) : g_strdup("");
    if (is_news(news, key))
        g_hash_table_add(news->told, g_strdup(uri));
}

/* ---- what a report says -------------------------------------------------- */

/* path is taken; label is that of its folder. */
static void add_path(struct news *news, const char *label, char *path)
{
    unsigned index;

    if (path && mcp_folders_find(news->folders, label, &index))
        g_hash_table_add(news->keys, make_key(index, path));
    else if (path)
        news->all = true; /* of whom is that? */
    g_free(path);
}

static const char *label_of(json_t *object)
{
    return json_string_value(json_object_get(object, "directory"));
}

static char *bytes_of(json_t *object, const char *key)
{
    size_t len;

    return json_object_get(object, key) ? json_bytes_get(object, key, &len)
                                        : NULL;
}

/* Paths as the control protocol has them: text, or an object with base64. */
static void add_paths(struct news *news, const char *label, json_t *list)
{
    json_t *item;
    size_t i;

    json_array_foreach(list, i, item)
    {
        add_path(news, label,
                 json_is_string(item) ? g_strdup(json_string_value(item))
                                      : bytes_of(item, "path"));
    }
}

static void add_changes(struct news *news, json_t *changes)
{
    json_t *change;
    size_t i;

    json_array_foreach(changes, i, change)
    {
        const char *label = label_of(change);

        add_path(news, label, bytes_of(change, "path"));
        add_path(news, label, bytes_of(change, "from"));
    }
}

static void read_report(struct news *news, json_t *report)
{
    json_t *changes = json_object_get(report, "changes");

    if (json_is_true(json_object_get(report, "truncated")) ||
        json_integer_value(json_object_get(report, "more")) > 0)
        news->all = true;
    add_paths(news, label_of(report), json_object_get(report, "paths"));
    if (changes)
        add_changes(news, changes);
    else /* the same without their folders */
        add_paths(news, label_of(report),
                  json_object_get(report, "affected_paths"));
}

/* Whether files have come or gone. */
static bool changes_list(json_t *report)
{
    json_t *changes = json_object_get(report, "changes"), *change;
    size_t i;

    if (!changes)
        return true; /* nobody knows */
    json_array_foreach(changes, i, change)
    {
        const char *kind = json_string_value(json_object_get(change, "change"));

        if (kind && strcmp(kind, "modified") != 0 &&
            strcmp(kind, "metadata") != 0)
            return true;
    }
    return json_is_true(json_object_get(report, "truncated"));
}

/* ---- telling ------------------------------------------------------------- */

static GHashTable *new_set(void)
{
    return g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
}

/* report: NULL if anything may have changed. */
static void tell(struct mcp_state *service, json_t *report)
{
    g_autoptr(GHashTable) keys = new_set(), told = new_set();
    struct mcp_folders *folders = mcp_folders_new(service);
    struct news news = { folders, keys, report == NULL, told };
    GHashTableIter iter;
    gpointer uri;

    if (report)
        read_report(&news, report);
    if (news.all || g_hash_table_size(keys) > 0) {
        mcp_server_each_subscribed(service->server, collect, &news);
        g_hash_table_iter_init(&iter, told);
        while (g_hash_table_iter_next(&iter, &uri, NULL))
            mcp_server_resource_updated(service->server, uri);
        if (!report || changes_list(report))
            mcp_server_resources_changed(service->server);
    }
    mcp_folders_free(folders);
}

void mcp_news_of_report(struct mcp_state *service, json_t *report)
{
    tell(service, report);
}

void mcp_news_of_history(struct mcp_state *service)
{
    mcp_server_resource_updated(service->server, MCP_HISTORY_URI);
}

void mcp_news_of_all(struct mcp_state *service)
{
    tell(service, NULL);
    mcp_news_of_history(service);
}
