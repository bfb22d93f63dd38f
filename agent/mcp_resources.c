/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_resources - see mcp_resources.h.
 */
#include "agent/mcp_resources.h"

#include <string.h>

#include "agent/fs_view.h"
#include "agent/mcp_service.h"
#include "agent/mcp_walk.h"
#include "common/json_bytes.h"

#define FILES_URI   "stepback://files/"
#define HISTORY_URI "stepback://history"
#define TEMPLATE    FILES_URI "{+path}"

enum {
    PAGE = 100,
    HISTORY_STEPS = 100,
    COMPLETIONS = 100, /* the protocol's bound */
    COMPLETION_NAMES = 10000,
    READ_MAX = 1 << 20,
    TEMPLATES_TTL_MS = 3600 * 1000,
};

/* A cursor is what it says after this, in base64. */
static const char cursor_mark[] = "after:";

/* ---- names --------------------------------------------------------------- */

static char *uri_of(const char *path)
{
    g_autofree char *escaped = g_uri_escape_bytes((const guint8 *)path,
                                                  strlen(path), "/");

    return g_strconcat(FILES_URI, escaped, NULL);
}

/* The path that a uri names: a new string; NULL: it is no file's. */
static char *path_of(const char *uri)
{
    g_autoptr(GBytes) bytes = NULL;
    const char *data;
    gsize len;

    if (!g_str_has_prefix(uri, FILES_URI))
        return NULL;
    bytes = g_uri_unescape_bytes(uri + strlen(FILES_URI), -1, NULL, NULL);
    data = bytes ? g_bytes_get_data(bytes, &len) : NULL;
    if (!data || len == 0 || memchr(data, '\0', len))
        return NULL;
    return g_strndup(data, len);
}

/* ---- lists --------------------------------------------------------------- */

/* NULL: there is none ("" is returned), or it is none of ours. */
static char *read_cursor(struct mcp_call *call)
{
    json_t *cursor = json_object_get(mcp_call_params(call), "cursor");
    const char *text = json_string_value(cursor);
    g_autofree char *plain = NULL;
    gsize len;

    if (!cursor)
        return g_strdup("");
    plain = text && *text ? (char *)g_base64_decode(text, &len) : NULL;
    if (!plain || len <= strlen(cursor_mark) || memchr(plain, '\0', len) ||
        strncmp(plain, cursor_mark, strlen(cursor_mark)) != 0)
        return NULL;
    return g_strndup(plain + strlen(cursor_mark), len - strlen(cursor_mark));
}

static json_t *make_cursor(const char *after)
{
    g_autofree char *plain = g_strconcat(cursor_mark, after, NULL);
    g_autofree char *text = g_base64_encode((const guchar *)plain,
                                            strlen(plain));

    return json_string(text);
}

static json_t *describe_file(const struct mcp_walk_entry *entry)
{
    g_autofree char *uri = uri_of(entry->path);
    g_autofree char *name = g_utf8_make_valid(entry->path, -1);

    return json_pack("{s:s, s:s, s:I}", "uri", uri, "name", name, "size",
                     (json_int_t)entry->st.st_size);
}

static json_t *describe_history(enum mcp_version version)
{
    json_t *history = json_pack("{s:s, s:s, s:s, s:s}", "uri", HISTORY_URI,
                                "name", "undo history", "description",
                                "The steps that can be undone, newest first.",
                                "mimeType", "application/json");

    if (version >= MCP_2025_06_18)
        json_object_set_new(history, "title", json_string("Undo history"));
    return history;
}

void mcp_resources_list(struct mcp_call *call)
{
    struct mcp_service_state *service = mcp_service_of(call);
    g_autofree char *after = read_cursor(call), *next = NULL;
    g_autoptr(GPtrArray) files = NULL;
    json_t *list, *result;
    int fd;

    if (!after) {
        mcp_call_fail(call, MCP_RPC_INVALID_PARAMS, NULL,
                      "'cursor' is none that was given");
        return;
    }
    list = json_array();
    if (!*after)
        json_array_append_new(list, describe_history(mcp_call_version(call)));
    fd = service->host->folder_fd(service->host_opaque, NULL, NULL);
    if (fd >= 0)
        files = mcp_walk(fd, after, PAGE, &next);
    for (guint i = 0; files && i < files->len; i++)
        json_array_append_new(list, describe_file(g_ptr_array_index(files, i)));
    result = json_pack("{s:o}", "resources", list);
    if (next)
        json_object_set_new(result, "nextCursor", make_cursor(next));
    mcp_call_finish_cached(call, result, 0);
}

void mcp_resources_templates(struct mcp_call *call)
{
    json_t *template = json_pack("{s:s, s:s, s:s}", "uriTemplate", TEMPLATE,
                                 "name", "file", "description",
                                 "A file of the working folder.");

    if (json_object_get(mcp_call_params(call), "cursor")) {
        json_decref(template);
        mcp_call_fail(call, MCP_RPC_INVALID_PARAMS, NULL,
                      "'cursor' is none that was given");
        return;
    }
    if (mcp_call_version(call) >= MCP_2025_06_18)
        json_object_set_new(template, "title", json_string("File"));
    mcp_call_finish_cached(call,
                           json_pack("{s:[o]}", "resourceTemplates", template),
                           TEMPLATES_TTL_MS);
}

/* ---- reading ------------------------------------------------------------- */

static void not_found(struct mcp_call *call, const char *uri, const char *why)
{
    mcp_call_fail(call,
                  mcp_call_version(call) >= MCP_MODERN ? MCP_RPC_INVALID_PARAMS
                                                       : MCP_RPC_NO_RESOURCE,
                  json_pack("{s:s}", "uri", uri), "Resource not found: %s",
                  why);
}

/* contents: an object without "uri", taken. */
static void finish_read(struct mcp_call *call, json_t *contents)
{
    json_object_set(contents, "uri",
                    json_object_get(mcp_call_params(call), "uri"));
    mcp_call_finish_cached(call, json_pack("{s:[o]}", "contents", contents), 0);
}

static json_t *describe_contents(json_t *view)
{
    json_t *contents = json_object();
    size_t len;
    g_autofree char *data = json_bytes_get(view, "data", &len);

    if (json_bytes_is_text(data, len)) {
        json_object_set_new(contents, "mimeType", json_string("text/plain"));
        json_object_set_new(contents, "text", json_stringn(data, len));
    } else {
        g_autofree char *base64 = g_base64_encode((const guchar *)data, len);

        json_object_set_new(contents, "mimeType",
                            json_string("application/octet-stream"));
        json_object_set_new(contents, "blob", json_string(base64));
    }
    return contents;
}

static void read_file(struct mcp_call *call, const char *uri, const char *path)
{
    struct mcp_service_state *service = mcp_service_of(call);
    g_autoptr(GError) error = NULL;
    int fd = service->host->folder_fd(service->host_opaque, NULL, &error);
    json_t *view = fd < 0 ? NULL
                          : fs_view_read(fd, path, 0, READ_MAX + 1, &error);

    if (!view)
        not_found(call, uri, error->message);
    else if (json_integer_value(json_object_get(view, "size")) > READ_MAX)
        mcp_call_fail(call, MCP_RPC_INVALID_PARAMS,
                      json_pack("{s:s}", "uri", uri),
                      "the file is longer than %d bytes; the tool read_file "
                      "reads it in parts",
                      READ_MAX);
    else
        finish_read(call, describe_contents(view));
    json_decref(view);
}

static void on_history(json_t *payload, const GError *error, json_t *data,
                       void *opaque)
{
    struct mcp_job *job = opaque;

    if (error) {
        mcp_call_fail(job->call, MCP_RPC_INTERNAL_ERROR, NULL, "%s",
                      error->message);
    } else {
        char *text = json_dumps(payload, JSON_INDENT(1));

        finish_read(job->call, json_pack("{s:s, s:s}", "mimeType",
                                         "application/json", "text", text));
        free(text);
    }
    mcp_queue_end(job);
}

static void start_history(struct mcp_job *job)
{
    struct mcp_service_state *service = mcp_service_of(job->call);

    service->host->history(service->host_opaque, NULL, HISTORY_STEPS,
                           on_history, job);
}

void mcp_resources_read(struct mcp_call *call)
{
    const char *uri = json_string_value(
        json_object_get(mcp_call_params(call), "uri"));
    g_autofree char *path = uri ? path_of(uri) : NULL;

    if (!uri)
        mcp_call_fail(call, MCP_RPC_INVALID_PARAMS, NULL,
                      "'uri' must be a string");
    else if (path)
        read_file(call, uri, path);
    else if (strcmp(uri, HISTORY_URI) == 0)
        mcp_queue_add(mcp_service_of(call)->queue, call, NULL, start_history,
                      NULL);
    else
        not_found(call, uri, "no such URI");
}

/* ---- completion ---------------------------------------------------------- */

/* Names in the folder of what was typed that begin as it ends. */
static json_t *complete_path(struct mcp_service_state *service,
                             const char *typed)
{
    const char *slash = strrchr(typed, '/');
    const char *start = slash ? slash + 1 : typed;
    g_autofree char *folder = g_strndup(typed,
                                        slash ? (gsize)(slash - typed) : 0);
    int fd = service->host->folder_fd(service->host_opaque, NULL, NULL);
    json_t *view = fd < 0 ? NULL
                          : fs_view_list(fd, folder, COMPLETION_NAMES, NULL);
    json_t *values = json_array(), *entry;
    json_int_t total = 0;
    size_t i;

    json_array_foreach(json_object_get(view, "entries"), i, entry)
    {
        const char *name = json_string_value(json_object_get(entry, "name"));
        const char *type = json_string_value(json_object_get(entry, "type"));
        g_autofree char *path = NULL;

        if (json_object_get(entry, "encoding") ||
            !g_str_has_prefix(name, start) || total++ >= COMPLETIONS)
            continue;
        path = g_strconcat(folder, slash ? "/" : "", name,
                           strcmp(type, "directory") == 0 ? "/" : "", NULL);
        json_array_append_new(values, json_string(path));
    }
    json_decref(view);
    return json_pack("{s:o, s:I, s:b}", "values", values, "total", total,
                     "hasMore", total > COMPLETIONS);
}

void mcp_resources_complete(struct mcp_call *call)
{
    json_t *params = mcp_call_params(call);
    json_t *ref = json_object_get(params, "ref");
    json_t *argument = json_object_get(params, "argument");
    const char *type = json_string_value(json_object_get(ref, "type"));
    const char *uri = json_string_value(json_object_get(ref, "uri"));
    const char *name = json_string_value(json_object_get(argument, "name"));
    const char *value = json_string_value(json_object_get(argument, "value"));

    if (g_strcmp0(type, "ref/resource") != 0 || g_strcmp0(uri, TEMPLATE) != 0 ||
        g_strcmp0(name, "path") != 0 || !value)
        mcp_call_fail(call, MCP_RPC_INVALID_PARAMS, NULL,
                      "only the argument 'path' of the resource template "
                      "'" TEMPLATE "' can be completed");
    else
        mcp_call_finish(call,
                        json_pack("{s:o}", "completion",
                                  complete_path(mcp_service_of(call), value)));
}

/* ---- changes ------------------------------------------------------------- */

struct news {
    struct mcp_service_state *service;
    GHashTable *paths; /* that have changed; NULL: any may have */
    GHashTable *told;  /* uris */
};

/* A change below a folder is news for whoever watches that. */
static bool is_news(const struct news *news, const char *path)
{
    GHashTableIter iter;
    gpointer changed;
    size_t len = strlen(path);

    if (!news->paths || g_hash_table_contains(news->paths, path))
        return true;
    g_hash_table_iter_init(&iter, news->paths);
    while (g_hash_table_iter_next(&iter, &changed, NULL)) {
        if (strncmp(changed, path, len) == 0 && ((char *)changed)[len] == '/')
            return true;
    }
    return false;
}

static void collect(const char *uri, void *opaque)
{
    struct news *news = opaque;
    g_autofree char *path = path_of(uri);

    if (path && is_news(news, path))
        g_hash_table_add(news->told, g_strdup(uri));
}

static void add_path(GHashTable *paths, json_t *object, const char *key)
{
    size_t len;
    char *path = json_bytes_get(object, key, &len);

    if (path)
        g_hash_table_add(paths, path);
}

/* Paths as the control protocol has them: text, or an object with base64. */
static void add_paths(GHashTable *paths, json_t *list)
{
    json_t *item;
    size_t i;

    json_array_foreach(list, i, item)
    {
        if (json_is_string(item))
            g_hash_table_add(paths, g_strdup(json_string_value(item)));
        else
            add_path(paths, item, "path");
    }
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

static GHashTable *read_paths(json_t *report)
{
    GHashTable *paths = g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
                                              NULL);
    json_t *change;
    size_t i;

    add_paths(paths, json_object_get(report, "affected_paths"));
    add_paths(paths, json_object_get(report, "paths"));
    json_array_foreach(json_object_get(report, "changes"), i, change)
    {
        add_path(paths, change, "path");
        add_path(paths, change, "from");
    }
    return paths;
}

void mcp_resources_changed(struct mcp_service_state *service, json_t *report)
{
    g_autoptr(GHashTable) paths = read_paths(report);
    g_autoptr(GHashTable)
        told = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    bool all = json_is_true(json_object_get(report, "truncated")) ||
               json_integer_value(json_object_get(report, "more")) > 0;
    struct news news = { service, all ? NULL : paths, told };
    GHashTableIter iter;
    gpointer uri;

    if (!all && g_hash_table_size(paths) == 0)
        return;
    mcp_server_each_subscribed(service->server, collect, &news);
    g_hash_table_iter_init(&iter, told);
    while (g_hash_table_iter_next(&iter, &uri, NULL))
        mcp_server_resource_updated(service->server, uri);
    if (changes_list(report))
        mcp_server_resources_changed(service->server);
}

void mcp_resources_history_changed(struct mcp_service_state *service)
{
    mcp_server_resource_updated(service->server, HISTORY_URI);
}
