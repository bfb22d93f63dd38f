/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_files - the file tools; see mcp_state.h.
 *
 * Reading accesses the folder directly. Writing goes through the daemon, as a
 * step of its own (control-protocol.md, write_file).
 */
#include "agent/mcp/mcp_state.h"
#include "agent/mcp/mcp_text.h"

#include <string.h>

#include "agent/wire/fs_json.h"
#include "common/json_bytes.h"

enum {
    READ_DEFAULT = 256 << 10,
    EDIT_MAX = 2 << 20,
    LIST_DEFAULT = 1000,
};

/* ---- reading ------------------------------------------------------------- */

static json_int_t get_int(json_t *arguments, const char *key, json_int_t other)
{
    json_t *value = json_object_get(arguments, key);

    return value ? json_integer_value(value) : other;
}

/* Return how much of the data is text, if more of the file follows: the last
 * character may be cut. 0: not text. */
static size_t text_length(const char *data, size_t len, bool more)
{
    for (size_t cut = 0; cut <= (more ? 3u : 0u) && cut < len; cut++) {
        if (json_bytes_is_text(data, len - cut))
            return len - cut;
    }
    return 0;
}

static json_t *describe_read(const struct fs_content *content, const char *path)
{
    gint64 end = content->offset + (gint64)content->length, next;
    size_t kept = text_length(content->data, content->length,
                              end < content->size);
    json_t *result = json_object();

    json_object_set_new(result, "path", json_string(path));
    if (kept > 0 || content->length == 0) {
        json_object_set_new(result, "content",
                            json_stringn(content->data, kept));
        json_object_set_new(result, "encoding", json_string("utf-8"));
    } else {
        g_autofree char *base64 = g_base64_encode((const guchar *)content->data,
                                                  content->length);

        kept = content->length;
        json_object_set_new(result, "content", json_string(base64));
        json_object_set_new(result, "encoding", json_string("base64"));
    }
    next = content->offset + (gint64)kept;
    json_object_set_new(result, "offset", json_integer(content->offset));
    json_object_set_new(result, "length", json_integer((json_int_t)kept));
    json_object_set_new(result, "size", json_integer(content->size));
    json_object_set_new(result, "next_offset",
                        next < content->size ? json_integer(next)
                                             : json_null());
    return result;
}

/* Resolve a tool's arguments, call view, and finish the call with its result;
 * text describes the result. */
static void look(struct mcp_call *call, json_t *arguments,
                 json_t *(*view)(int fd, const char *path, json_t *arguments,
                                 GError **error),
                 char *(*text)(json_t *result))
{
    struct mcp_state *service = mcp_state_of(call);
    struct mcp_place place = mcp_state_place(service, arguments);
    g_autoptr(GError) error = NULL;
    int fd = service->host->folder_fd(service->host_opaque, place.directory,
                                      &error);
    json_t *result = fd >= 0 ? view(fd, place.path, arguments, &error) : NULL;

    if (result)
        mcp_tools_finish(call, text(result), result);
    else
        mcp_state_refuse(call, error);
}

static json_t *view_file(int fd, const char *path, json_t *arguments,
                         GError **error)
{
    struct fs_content *content = fs_view_read(
        fd, path, get_int(arguments, "offset", 0),
        get_int(arguments, "length", READ_DEFAULT), error);
    json_t *result = content ? describe_read(content, path) : NULL;

    fs_content_free(content);
    return result;
}

void mcp_tool_read_file(struct mcp_call *call, json_t *arguments)
{
    look(call, arguments, view_file, mcp_text_file);
}

static json_t *view_folder(int fd, const char *path, json_t *arguments,
                           GError **error)
{
    struct fs_listing *listing = fs_view_list(
        fd, path, (unsigned)get_int(arguments, "limit", LIST_DEFAULT), error);
    json_t *result = listing ? fs_listing_to_json(listing, path) : NULL;

    fs_listing_free(listing);
    return result;
}

void mcp_tool_list_directory(struct mcp_call *call, json_t *arguments)
{
    look(call, arguments, view_folder, mcp_text_listing);
}

/* ---- writing ------------------------------------------------------------- */

struct write {
    json_int_t size, replacements; /* 0 replacements: write_file */
    char path[];                   /* relative to the folder */
};

static json_t *describe_write(const struct mcp_job *job,
                              const struct step_report *report)
{
    static const char *const keys[] = { "step_id", "undoable", "changes",
                                        "unprotected" };
    const struct write *write = job->data;
    json_t *all = mcp_state_report(report), *result = json_object();

    for (size_t i = 0; i < G_N_ELEMENTS(keys); i++) {
        json_t *value = json_object_get(all, keys[i]);

        if (value)
            json_object_set(result, keys[i], value);
    }
    json_object_set_new(result, "path", json_string(write->path));
    json_object_set_new(result, "size", json_integer(write->size));
    if (write->replacements)
        json_object_set_new(result, "replacements",
                            json_integer(write->replacements));
    json_decref(all);
    return result;
}

static void finish_write(struct mcp_job *job, const struct step_report *report)
{
    bool many = mcp_state_has_folders(mcp_state_of(job->call));
    json_t *result = describe_write(job, report);

    mcp_tools_finish(job->call, mcp_text_write(result, many), result);
}

/* Writing follows no symlink, because the guest could redirect it in the
 * meantime. The error names the current target. */
static bool refuse_link(struct mcp_job *job, const char *path,
                        const GError *error)
{
    struct mcp_state *service = mcp_state_of(job->call);
    struct mcp_place place = mcp_state_place(service, job->arguments);
    int fd = error_code_of(error) != ERROR_PATH_OUTSIDE_ROOT
                 ? -1
                 : service->host->folder_fd(service->host_opaque,
                                            place.directory, NULL);
    g_autofree char *target = fd < 0 ? NULL : fs_view_target(fd, path);
    bool is_link = target && strcmp(target, path) != 0 &&
                   g_utf8_validate(target, -1, NULL);

    if (is_link)
        mcp_tools_refuse(job->call,
                         "%s contains a symbolic link or .., which writing "
                         "does not follow; it leads to %s: give that path",
                         path, target);
    return is_link;
}

static void on_written(const struct answer *answer, const GError *error,
                       void *opaque)
{
    struct mcp_job *job = opaque;
    const struct write *write = job->data;

    if (!error)
        finish_write(job, answer->report);
    else if (!refuse_link(job, write->path, error))
        mcp_state_refuse(job->call, error);
    mcp_queue_end(job);
}

/* Normalise the path: the daemon refuses "." and doubled slashes. Returns a new
 * string. A path with a slash at its end stays invalid. */
static char *plain_path(const char *path)
{
    GString *plain = g_string_new(*path == '/' ? "/" : "");

    while (*path) {
        size_t len = strcspn(path, "/");

        if (len > 0 && !(len == 1 && *path == '.')) {
            g_string_append_len(plain, path, (gssize)len);
            if (path[len])
                g_string_append_c(plain, '/');
        }
        path += len + (path[len] != '\0');
    }
    return g_string_free(plain, FALSE);
}

/* content is taken. */
static struct file_write *new_write(struct mcp_job *job, GBytes *content,
                                    struct mcp_place *ret_place)
{
    g_autofree char *path = NULL;

    *ret_place = mcp_state_place(mcp_state_of(job->call), job->arguments);
    path = plain_path(ret_place->path);
    return file_write_new(path, content);
}

/* what is taken. */
static void send_write(struct mcp_job *job, const struct mcp_place *place,
                       struct file_write *what, unsigned replacements)
{
    struct mcp_state *service = mcp_state_of(job->call);
    struct write *write = g_malloc(sizeof(*write) + strlen(what->path) + 1);

    strcpy(write->path, what->path);
    write->size = (json_int_t)g_bytes_get_size(what->content);
    write->replacements = replacements;
    job->data = write;
    service->host->write_file(service->host_opaque, place->directory, what,
                              on_written, job);
}

static void start_write(struct mcp_job *job)
{
    json_t *mode = json_object_get(job->arguments, "mode");
    size_t len;
    char *data = json_bytes_get(job->arguments, "content", &len);
    struct mcp_place place;
    struct file_write *write = new_write(job, g_bytes_new_take(data, len),
                                         &place);

    write->make_parents = true;
    if (mode)
        write->mode = (int)json_integer_value(mode);
    send_write(job, &place, write, 0);
}

void mcp_tool_write_file(struct mcp_call *call, json_t *arguments)
{
    const char *encoding = json_string_value(
        json_object_get(arguments, "encoding"));
    g_autofree char *data = NULL;
    size_t len;

    if (g_strcmp0(encoding, "base64") == 0)
        data = json_bytes_get(arguments, "content", &len);
    if (g_strcmp0(encoding, "base64") == 0 && !data)
        mcp_tools_refuse(call, "write_file: the argument 'content' is "
                               "not valid base64");
    else
        mcp_queue_add(mcp_state_of(call)->queue, call, arguments, start_write,
                      NULL);
}

/* ---- editing ------------------------------------------------------------- */

static unsigned count_of(const char *text, size_t len, const char *old)
{
    const char *end = text + len;
    unsigned count = 0;

    for (; (text = memmem(text, (size_t)(end - text), old, strlen(old)));
         text += strlen(old))
        count++;
    return count;
}

/* Replace every occurrence of old in text. Returns a new string. */
static GString *replace(const char *text, size_t len, const char *old,
                        const char *new)
{
    GString *result = g_string_new(NULL);
    const char *end = text + len, *found;
    size_t old_len = strlen(old);

    while ((found = memmem(text, (size_t)(end - text), old, old_len))) {
        g_string_append_len(result, text, found - text);
        g_string_append(result, new);
        text = found + old_len;
    }
    g_string_append_len(result, text, end - text);
    return result;
}

/* Read the whole file, or return NULL and error. Returns a new object. */
static struct fs_content *read_whole(struct mcp_job *job, GError **error)
{
    struct mcp_state *service = mcp_state_of(job->call);
    struct mcp_place place = mcp_state_place(service, job->arguments);
    int fd = service->host->folder_fd(service->host_opaque, place.directory,
                                      error);
    struct fs_content *content = fd >= 0 ? fs_view_read(fd, place.path, 0,
                                                        EDIT_MAX + 1, error)
                                         : NULL;

    if (content && content->length > EDIT_MAX) {
        g_set_error(error, STEPBACK_ERROR, ERROR_TOO_LARGE,
                    "%s is longer than %d bytes; edit it with a command, such "
                    "as sed -i",
                    place.path, EDIT_MAX);
        g_clear_pointer(&content, fs_content_free);
    }
    return content;
}

static bool check_count(struct mcp_job *job, unsigned count)
{
    bool all = json_is_true(json_object_get(job->arguments, "replace_all"));
    const char *path = json_string_value(
        json_object_get(job->arguments, "path"));

    if (count == 0)
        mcp_tools_refuse(job->call,
                         "'old_text' is not in %s; read the file and copy the "
                         "text exactly, including white space",
                         path);
    else if (count > 1 && !all)
        mcp_tools_refuse(job->call,
                         "'old_text' occurs %u times in %s; add more of the "
                         "surrounding text, or \"replace_all\": true",
                         count, path);
    else
        return true;
    return false;
}

/* Check the size before the replacement: a million occurrences times a megabyte
 * exceeds any limit. */
static bool check_size(struct mcp_job *job, size_t len, unsigned count)
{
    json_t *old = json_object_get(job->arguments, "old_text");
    json_t *new = json_object_get(job->arguments, "new_text");
    guint64 kept = len - (guint64)count * json_string_length(old);
    guint64 added = (guint64)count * json_string_length(new);

    if (kept + added <= MCP_HOST_WRITE_MAX)
        return true;
    mcp_tools_refuse(job->call,
                     "the file would be %" G_GUINT64_FORMAT
                     " bytes long, and the limit of a call is %d; edit it with "
                     "a command, such as sed -i",
                     kept + added, MCP_HOST_WRITE_MAX);
    return false;
}

/* Replace the text in the file's content, and send the result. Return false if
 * the call has been refused. */
static bool edit(struct mcp_job *job, const struct fs_content *content)
{
    const char *old = json_string_value(
        json_object_get(job->arguments, "old_text"));
    const char *new = json_string_value(
        json_object_get(job->arguments, "new_text"));
    unsigned count = count_of(content->data, content->length, old);
    struct mcp_place place;
    struct file_write *write;

    if (!check_count(job, count) || !check_size(job, content->length, count))
        return false;
    write = new_write(job,
                      g_string_free_to_bytes(
                          replace(content->data, content->length, old, new)),
                      &place);
    write->command = g_strdup_printf("edit_file %s", write->path);
    /* Before the daemon writes, a session start may roll back the content just
     * read or find another folder under the path, and other processes may write
     * at any time. */
    write->replaced_size = (gint64)content->length;
    write->replaced_sha256 = g_compute_checksum_for_data(
        G_CHECKSUM_SHA256, (const guchar *)content->data, content->length);
    send_write(job, &place, write, count);
    return true;
}

static void start_edit(struct mcp_job *job)
{
    g_autoptr(GError) error = NULL;
    struct fs_content *content = read_whole(job, &error);

    if (!content)
        mcp_state_refuse(job->call, error);
    if (!content || !edit(job, content))
        mcp_queue_end(job);
    fs_content_free(content);
}

void mcp_tool_edit_file(struct mcp_call *call, json_t *arguments)
{
    if (json_equal(json_object_get(arguments, "old_text"),
                   json_object_get(arguments, "new_text")))
        mcp_tools_refuse(call, "edit_file: 'old_text' and 'new_text' are "
                               "the same, so nothing would change");
    else
        mcp_queue_add(mcp_state_of(call)->queue, call, arguments, start_edit,
                      NULL);
}
