/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_news - see mcp_news.h.
 *
 * Changes are a set of "INDEX/PATH": the folder's index and a path in it.
 * Subscriptions are converted to the same form, however the client's URI refers
 * to the folder.
 */
#include "agent/mcp/mcp_news.h"

#include <string.h>

#include "agent/client/report_json.h"
#include "agent/mcp/mcp_folders.h"
#include "agent/mcp/mcp_state.h"

struct news {
    struct mcp_folders *folders;
    GHashTable *keys; /* the changed ones */
    bool all;         /* any resource may have changed */
    bool lists;       /* files may have been added or removed */
    GHashTable *told; /* URIs */
};

/* A client may write "d//f", "./d/f" or "d/": compare path components only. */
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

/* A change beneath a folder also concerns a subscription to the folder. */
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

/* ---- reports ------------------------------------------------------------- */

static void add_path(struct news *news, const char *label, const char *path)
{
    unsigned index;

    if (mcp_folders_find(news->folders, label, &index))
        g_hash_table_add(news->keys, make_key(index, path));
    else
        news->all = true; /* the folder is unknown */
}

static void read_report(struct news *news, const struct step_report *report)
{
    news->all = news->all || report->truncated;
    for (guint i = 0; i < report->changes->len; i++) {
        const struct step_change *change = g_ptr_array_index(report->changes,
                                                             i);

        add_path(news, change->directory, change->path);
        if (change->from)
            add_path(news, change->directory, change->from);
        if (change->type != IC_MODIFIED && change->type != IC_METADATA)
            news->lists = true;
    }
    news->lists = news->lists || report->truncated;
}

static void read_barrier(struct news *news, const struct undo_barrier *barrier)
{
    news->lists = true; /* the report does not say */
    news->all = news->all || barrier->more > 0;
    for (guint i = 0; i < barrier->paths->len; i++)
        add_path(news, barrier->directory,
                 g_ptr_array_index(barrier->paths, i));
}

/* ---- notifications ------------------------------------------------------- */

static GHashTable *new_set(void)
{
    return g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
}

static void news_clear(struct news *news)
{
    mcp_folders_free(news->folders);
    g_hash_table_unref(news->keys);
    g_hash_table_unref(news->told);
}

static void notify(struct mcp_state *service, struct news *news)
{
    GHashTableIter iter;
    gpointer uri;

    if (!news->all && g_hash_table_size(news->keys) == 0)
        return;
    mcp_server_each_subscribed(service->server, collect, news);
    g_hash_table_iter_init(&iter, news->told);
    while (g_hash_table_iter_next(&iter, &uri, NULL))
        mcp_server_resource_updated(service->server, uri);
    if (news->lists)
        mcp_server_resources_changed(service->server);
}

static struct news news_new(struct mcp_state *service)
{
    return (struct news){ .folders = mcp_folders_new(service),
                          .keys = new_set(),
                          .told = new_set() };
}

void mcp_news_of_report(struct mcp_state *service,
                        const struct step_report *report)
{
    struct news news = news_new(service);

    read_report(&news, report);
    notify(service, &news);
    news_clear(&news);
}

void mcp_news_of_engine(struct mcp_state *service, json_t *payload)
{
    const char *label = json_string_value(
        json_object_get(payload, "directory"));
    struct news news = news_new(service);

    if (json_object_get(payload, "paths")) {
        struct undo_barrier *barrier = barrier_from_json(payload, label);

        read_barrier(&news, barrier);
        undo_barrier_free(barrier);
    } else {
        struct step_report *report = report_from_json(payload, label);

        read_report(&news, report);
        step_report_unref(report);
    }
    notify(service, &news);
    news_clear(&news);
}

void mcp_news_of_history(struct mcp_state *service)
{
    mcp_server_resource_updated(service->server, MCP_HISTORY_URI);
}

void mcp_news_of_all(struct mcp_state *service)
{
    struct news news = news_new(service);

    news.all = news.lists = true;
    notify(service, &news);
    news_clear(&news);
    mcp_news_of_history(service);
}
