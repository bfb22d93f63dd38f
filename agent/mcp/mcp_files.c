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

#include "agent/session/fs_view.h"
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

/* Convert the result of fs_view_read() to the tool's result. */
static json_t *describe_read(json_t *view, const char *path)
{
    json_int_t offset = json_integer_value(json_object_get(view, "offset"));
    json_int_t size = json_integer_value(json_object_get(view, "size"));
    size_t len, kept;
    g_autofree char *data = json_bytes_get(view, "data", &len);
    bool more = offset + (json_int_t)len < size;
    json_t *result = json_object();
    json_int_t next;

    kept = text_length(data, len, more);
    json_object_set_new(result, "path", json_string(path));
    if (kept > 0 || len == 0) {
        json_object_set_new(result, "content", json_stringn(data, kept));
        json_object_set_new(result, "encoding", json_string("utf-8"));
    } else {
        g_autofree char *base64 = g_base64_encode((const guchar *)data, len);

        kept = len;
        json_object_set_new(result, "content", json_string(base64));
        json_object_set_new(result, "encoding", json_string("base64"));
    }
    next = offset + (json_int_t)kept;
    json_object_set_new(result, "offset", json_integer(offset));
    json_object_set_new(result, "length", json_integer((json_int_t)kept));
    json_object_set_new(result, "size", json_integer(size));
    json_object_set_new(result, "next_offset",
                        next < size ? json_integer(next) : json_null());
    return result;
}

/* Resolve a tool's arguments and call view on the result; NULL: the call was
 * refused. */
static json_t *look(struct mcp_call *call, json_t *arguments,
                    json_t *(*view)(int fd, const char *path, json_t *arguments,
                                    GError **error),
                    struct mcp_place *ret_place)
{
    struct mcp_state *service = mcp_state_of(call);
    g_autoptr(GError) error = NULL;
    json_t *seen = NULL;
    int fd;

    *ret_place = mcp_state_place(service, arguments);
    fd = service->host->folder_fd(service->host_opaque, ret_place->directory,
                                  &error);
    if (fd >= 0)
        seen = view(fd, ret_place->path, arguments, &error);
    if (!seen)
        mcp_state_refuse(call, error);
    return seen;
}

static json_t *view_file(int fd, const char *path, json_t *arguments,
                         GError **error)
{
    return fs_view_read(fd, path, get_int(arguments, "offset", 0),
                        get_int(arguments, "length", READ_DEFAULT), error);
}

void mcp_tool_read_file(struct mcp_call *call, json_t *arguments)
{
    struct mcp_place place;
    json_t *view = look(call, arguments, view_file, &place);

    json_t *result = view ? describe_read(view, place.path) : NULL;

    if (result)
        mcp_tools_finish(call, mcp_text_file(result), result);
    json_decref(view);
}

static json_t *view_folder(int fd, const char *path, json_t *arguments,
                           GError **error)
{
    return fs_view_list(
        fd, path, (unsigned)get_int(arguments, "limit", LIST_DEFAULT), error);
}

void mcp_tool_list_directory(struct mcp_call *call, json_t *arguments)
{
    struct mcp_place place;
    json_t *view = look(call, arguments, view_folder, &place);

    if (view)
        mcp_tools_finish(call, mcp_text_listing(view), view);
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

/* Read the whole file into a new buffer, or return NULL and error. */
static char *read_whole(struct mcp_job *job, size_t *ret_len, GError **error)
{
    struct mcp_state *service = mcp_state_of(job->call);
    struct mcp_place place = mcp_state_place(service, job->arguments);
    int fd = service->host->folder_fd(service->host_opaque, place.directory,
                                      error);
    json_t *view = fd >= 0
                       ? fs_view_read(fd, place.path, 0, EDIT_MAX + 1, error)
                       : NULL;
    char *data = view ? json_bytes_get(view, "data", ret_len) : NULL;

    json_decref(view);
    if (data && *ret_len > EDIT_MAX) {
        g_set_error(error, STEPBACK_ERROR, ERROR_TOO_LARGE,
                    "%s is longer than %d bytes; edit it with a command, such "
                    "as sed -i",
                    place.path, EDIT_MAX);
        g_clear_pointer(&data, g_free);
    }
    return data;
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

static void start_edit(struct mcp_job *job)
{
    const char *old = json_string_value(
        json_object_get(job->arguments, "old_text"));
    const char *new = json_string_value(
        json_object_get(job->arguments, "new_text"));
    g_autoptr(GError) error = NULL;
    g_autoptr(GString) text = NULL;
    g_autofree char *data = NULL;
    unsigned count;
    size_t len;
    struct mcp_place place;
    struct file_write *write;

    data = read_whole(job, &len, &error);
    if (!data) {
        mcp_state_refuse(job->call, error);
        mcp_queue_end(job);
        return;
    }
    count = count_of(data, len, old);
    if (!check_count(job, count) || !check_size(job, len, count)) {
        mcp_queue_end(job);
        return;
    }
    text = replace(data, len, old, new);
    write = new_write(job, g_string_free_to_bytes(g_steal_pointer(&text)),
                      &place);
    write->command = g_strdup_printf("edit_file %s", write->path);
    /* Before the daemon writes, a session start may roll back the content just
     * read or find another folder under the path, and other processes may write
     * at any time. */
    write->replaced_size = (gint64)len;
    write->replaced_sha256 = g_compute_checksum_for_data(
        G_CHECKSUM_SHA256, (const guchar *)data, len);
    send_write(job, &place, write, count);
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
