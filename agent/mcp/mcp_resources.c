/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_resources - see mcp_resources.h.
 */
#include "agent/mcp/mcp_resources.h"

#include <string.h>

#include "agent/mcp/mcp_folders.h"
#include "agent/mcp/mcp_state.h"
#include "agent/mcp/mcp_walk.h"
#include "agent/session/fs_view.h"
#include "agent/client/report_json.h"
#include "common/json_bytes.h"

#define TEMPLATE        MCP_FILES_URI "{+path}"
#define FOLDER_TEMPLATE MCP_FOLDER_URI "{label}/{+path}"

enum {
    PAGE = 100,
    HISTORY_STEPS = 100,
    COMPLETIONS = 100, /* the protocol's limit */
    COMPLETION_NAMES = 10000,
    READ_MAX = 1 << 20,
    TEMPLATES_TTL_MS = 3600 * 1000,
};

/* ---- cursors ------------------------------------------------------------- */

/* The folder and path after which a page begins. In base64, a cursor is
 * "after:PATH" for the first folder and "in:LABEL/PATH" for another one; an
 * empty PATH means the beginning. */
struct place {
    unsigned index;
    char *after;
};

static const char first_mark[] = "after:", other_mark[] = "in:";

static bool parse_cursor(const struct mcp_folders *folders, const char *plain,
                         struct place *ret_place)
{
    const char *after = NULL;

    if (g_str_has_prefix(plain, first_mark) && plain[strlen(first_mark)])
        after = plain + strlen(first_mark);
    else if (!g_str_has_prefix(plain, other_mark) ||
             !mcp_folders_parse_label(folders, plain + strlen(other_mark),
                                      &ret_place->index, &after))
        return false;
    ret_place->after = g_strdup(after);
    return true;
}

/* Return false for a malformed cursor, or one of a folder that no longer
 * exists. */
static bool read_cursor(struct mcp_call *call,
                        const struct mcp_folders *folders,
                        struct place *ret_place)
{
    json_t *cursor = json_object_get(mcp_call_params(call), "cursor");
    const char *text = json_string_value(cursor);
    g_autofree guchar *data = NULL;
    g_autofree char *plain = NULL;
    gsize len;

    *ret_place = (struct place){ 0 };
    if (!cursor) {
        ret_place->after = g_strdup("");
        return true;
    }
    data = text && *text ? g_base64_decode(text, &len) : NULL;
    if (!data || memchr(data, '\0', len))
        return false;
    plain = g_strndup((char *)data, len);
    return parse_cursor(folders, plain, ret_place);
}

static json_t *make_cursor(const struct mcp_folders *folders, unsigned index,
                           const char *after)
{
    g_autofree char *label = index > 0
                                 ? g_uri_escape_string(folders->labels[index],
                                                       NULL, FALSE)
                                 : NULL;
    g_autofree char *plain = label ? g_strconcat(other_mark, label, "/", after,
                                                 NULL)
                                   : g_strconcat(first_mark, after, NULL);
    g_autofree char *text = g_base64_encode((const guchar *)plain,
                                            strlen(plain));

    return json_string(text);
}

/* ---- lists --------------------------------------------------------------- */

static json_t *describe_file(const struct mcp_folders *folders, unsigned index,
                             const struct mcp_walk_entry *entry)
{
    g_autofree char *uri = mcp_folders_uri(folders, index, entry->path);
    g_autofree char *path = g_utf8_make_valid(entry->path, -1);
    g_autofree char *name = index > 0 ? g_strconcat(folders->labels[index], "/",
                                                    path, NULL)
                                      : g_strdup(path);

    return json_pack("{s:s, s:s, s:I}", "uri", uri, "name", name, "size",
                     (json_int_t)entry->st.st_size);
}

static json_t *describe_history(enum mcp_version version)
{
    json_t *history = json_pack("{s:s, s:s, s:s, s:s}", "uri", MCP_HISTORY_URI,
                                "name", "undo history", "description",
                                "The steps that can be undone, newest first.",
                                "mimeType", "application/json");

    if (version >= MCP_2025_06_18)
        json_object_set_new(history, "title", json_string("Undo history"));
    return history;
}

/* Add up to max files of a folder. Return how many; *ret_next: as
 * mcp_walk(). */
static unsigned list_folder(struct mcp_state *service,
                            const struct mcp_folders *folders,
                            const struct place *place, unsigned max,
                            json_t *list, char **ret_next)
{
    int fd = mcp_folders_fd(service, place->index, NULL);
    g_autoptr(GPtrArray) files = NULL;

    *ret_next = NULL;
    if (fd < 0)
        return 0;
    files = mcp_walk(fd, place->after, max, ret_next);
    for (guint i = 0; i < files->len; i++)
        json_array_append_new(list, describe_file(folders, place->index,
                                                  g_ptr_array_index(files, i)));
    return files->len;
}

/* Build one page, across folders if necessary. Return the next page's cursor,
 * or NULL after the last. */
static json_t *list_page(struct mcp_state *service,
                         const struct mcp_folders *folders, struct place place,
                         json_t *list)
{
    unsigned room = PAGE;

    for (; place.index < folders->count; place.index++) {
        g_autofree char *next = NULL;

        if (room == 0)
            return make_cursor(folders, place.index, "");
        room -= list_folder(service, folders, &place, room, list, &next);
        if (next)
            return make_cursor(folders, place.index, next);
        place.after = (char *)"";
    }
    return NULL;
}

void mcp_resources_list(struct mcp_call *call)
{
    struct mcp_state *service = mcp_state_of(call);
    struct mcp_folders *folders = mcp_folders_new(service);
    json_t *list = json_array(), *next, *result;
    struct place place;

    if (!read_cursor(call, folders, &place)) {
        mcp_call_fail(call, MCP_RPC_INVALID_PARAMS, NULL,
                      "'cursor' is not one that this server issued");
        json_decref(list);
    } else {
        if (place.index == 0 && !*place.after)
            json_array_append_new(list,
                                  describe_history(mcp_call_version(call)));
        next = list_page(service, folders, place, list);
        result = json_pack("{s:o, s:o*}", "resources", list, "nextCursor",
                           next);
        mcp_call_finish_cached(call, result, 0);
    }
    g_free(place.after);
    mcp_folders_free(folders);
}

static json_t *describe_template(enum mcp_version version, const char *uri,
                                 const char *name, const char *title,
                                 const char *description)
{
    json_t *template = json_pack("{s:s, s:s, s:s}", "uriTemplate", uri, "name",
                                 name, "description", description);

    if (version >= MCP_2025_06_18)
        json_object_set_new(template, "title", json_string(title));
    return template;
}

void mcp_resources_templates(struct mcp_call *call)
{
    enum mcp_version version = mcp_call_version(call);

    if (json_object_get(mcp_call_params(call), "cursor")) {
        mcp_call_fail(call, MCP_RPC_INVALID_PARAMS, NULL,
                      "'cursor' is not one that this server issued");
        return;
    }
    mcp_call_finish_cached(
        call,
        json_pack("{s:[o, o]}", "resourceTemplates",
                  describe_template(version, TEMPLATE, "file", "File",
                                    "A file of the working folder."),
                  describe_template(version, FOLDER_TEMPLATE, "folder_file",
                                    "File of a folder",
                                    "A file of one of several working folders, "
                                    "identified by its label.")),
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

static json_t *describe_contents(const struct fs_content *content)
{
    json_t *contents = json_object();

    if (json_bytes_is_text(content->data, content->length)) {
        json_object_set_new(contents, "mimeType", json_string("text/plain"));
        json_object_set_new(contents, "text",
                            json_stringn(content->data, content->length));
    } else {
        g_autofree char *base64 = g_base64_encode((const guchar *)content->data,
                                                  content->length);

        json_object_set_new(contents, "mimeType",
                            json_string("application/octet-stream"));
        json_object_set_new(contents, "blob", json_string(base64));
    }
    return contents;
}

static void read_file(struct mcp_call *call, const char *uri, unsigned index,
                      const char *path)
{
    g_autoptr(GError) error = NULL;
    int fd = mcp_folders_fd(mcp_state_of(call), index, &error);
    struct fs_content *content = fd < 0 ? NULL
                                        : fs_view_read(fd, path, 0,
                                                       READ_MAX + 1, &error);

    if (!content)
        not_found(call, uri, error->message);
    else if (content->size > READ_MAX)
        mcp_call_fail(call, MCP_RPC_INVALID_PARAMS,
                      json_pack("{s:s}", "uri", uri),
                      "the file is longer than %d bytes; the tool read_file "
                      "reads it in parts",
                      READ_MAX);
    else
        finish_read(call, describe_contents(content));
    fs_content_free(content);
}

static void on_history(const struct answer *answer, const GError *error,
                       void *opaque)
{
    struct mcp_job *job = opaque;

    if (error) {
        mcp_call_fail(job->call, MCP_RPC_INTERNAL_ERROR, NULL, "%s",
                      error->message);
    } else {
        json_t *payload = result_to_json(answer->result);
        char *text = json_dumps(payload, JSON_INDENT(1));

        json_decref(payload);
        finish_read(job->call, json_pack("{s:s, s:s}", "mimeType",
                                         "application/json", "text", text));
        free(text);
    }
    mcp_queue_end(job);
}

static void start_history(struct mcp_job *job)
{
    struct mcp_state *service = mcp_state_of(job->call);

    service->host->history(service->host_opaque, FOLDER_NONE, HISTORY_STEPS,
                           on_history, job);
}

static void read_uri(struct mcp_call *call, const char *uri)
{
    struct mcp_folders *folders = mcp_folders_new(mcp_state_of(call));
    g_autofree char *path = NULL;
    unsigned index;

    if (mcp_folders_parse(folders, uri, &index, &path))
        read_file(call, uri, index, path);
    else if (strcmp(uri, MCP_HISTORY_URI) == 0)
        mcp_queue_add(mcp_state_of(call)->queue, call, NULL, start_history,
                      NULL);
    else
        not_found(call, uri, "unknown URI");
    mcp_folders_free(folders);
}

void mcp_resources_read(struct mcp_call *call)
{
    const char *uri = json_string_value(
        json_object_get(mcp_call_params(call), "uri"));

    if (uri)
        read_uri(call, uri);
    else
        mcp_call_fail(call, MCP_RPC_INVALID_PARAMS, NULL,
                      "'uri' must be a string");
}

/* ---- completion ---------------------------------------------------------- */

/* values is taken. */
static json_t *completion(json_t *values, json_int_t total)
{
    return json_pack("{s:o, s:I, s:b}", "values", values, "total", total,
                     "hasMore", total > COMPLETIONS);
}

/* List the names in the typed path's folder that start with its last
 * component. */
static json_t *complete_path(struct mcp_state *service, unsigned index,
                             const char *typed)
{
    const char *slash = strrchr(typed, '/');
    const char *start = slash ? slash + 1 : typed;
    g_autofree char *folder = g_strndup(typed,
                                        slash ? (gsize)(slash - typed) : 0);
    int fd = mcp_folders_fd(service, index, NULL);
    struct fs_listing *listing = fd < 0 ? NULL
                                        : fs_view_list(fd, folder,
                                                       COMPLETION_NAMES, NULL);
    json_t *values = json_array();
    json_int_t total = 0;

    for (guint i = 0; listing && i < listing->entries->len; i++) {
        const struct fs_entry *entry = &g_array_index(listing->entries,
                                                      struct fs_entry, i);
        g_autofree char *path = NULL;

        if (!g_utf8_validate(entry->name, -1, NULL) ||
            !g_str_has_prefix(entry->name, start) || total++ >= COMPLETIONS)
            continue;
        path = g_strconcat(folder, slash ? "/" : "", entry->name,
                           S_ISDIR(entry->st.st_mode) ? "/" : "", NULL);
        json_array_append_new(values, json_string(path));
    }
    fs_listing_free(listing);
    return completion(values, total);
}

static json_t *complete_label(const struct mcp_folders *folders,
                              const char *typed)
{
    json_t *values = json_array();

    for (unsigned i = 0; folders->labels && i < folders->count; i++) {
        if (g_str_has_prefix(folders->labels[i], typed))
            json_array_append_new(values, json_string(folders->labels[i]));
    }
    return completion(values, (json_int_t)json_array_size(values));
}

/* Use the other arguments: the folder of a path. Return NULL if there are
 * none. */
static json_t *complete_in_folder(struct mcp_state *service,
                                  const struct mcp_folders *folders,
                                  json_t *params, const char *typed)
{
    json_t *known = json_object_get(json_object_get(params, "context"),
                                    "arguments");
    unsigned index;

    if (!mcp_folders_find(folders,
                          json_string_value(json_object_get(known, "label")),
                          &index))
        return completion(json_array(), 0);
    return complete_path(service, index, typed);
}

/* Return NULL for a reference that this server does not complete. */
static json_t *complete(struct mcp_state *service,
                        const struct mcp_folders *folders, json_t *params)
{
    json_t *ref = json_object_get(params, "ref");
    json_t *argument = json_object_get(params, "argument");
    const char *type = json_string_value(json_object_get(ref, "type"));
    const char *uri = json_string_value(json_object_get(ref, "uri"));
    const char *name = json_string_value(json_object_get(argument, "name"));
    const char *value = json_string_value(json_object_get(argument, "value"));
    bool path = g_strcmp0(name, "path") == 0;

    if (g_strcmp0(type, "ref/resource") != 0 || !value)
        return NULL;
    if (g_strcmp0(uri, TEMPLATE) == 0 && path)
        return complete_path(service, 0, value);
    if (g_strcmp0(uri, FOLDER_TEMPLATE) != 0)
        return NULL;
    if (path)
        return complete_in_folder(service, folders, params, value);
    return g_strcmp0(name, "label") == 0 ? complete_label(folders, value)
                                         : NULL;
}

void mcp_resources_complete(struct mcp_call *call)
{
    struct mcp_state *service = mcp_state_of(call);
    struct mcp_folders *folders = mcp_folders_new(service);
    json_t *found = complete(service, folders, mcp_call_params(call));

    mcp_folders_free(folders);
    if (found)
        mcp_call_finish(call, json_pack("{s:o}", "completion", found));
    else
        mcp_call_fail(
            call, MCP_RPC_INVALID_PARAMS, NULL,
            "only the arguments 'path' of the resource template '" TEMPLATE
            "', and 'label' and 'path' of '" FOLDER_TEMPLATE
            "', can be completed");
}
