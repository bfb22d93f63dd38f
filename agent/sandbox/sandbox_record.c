/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox_record - see sandbox_record.h.
 */
#include "agent/sandbox/sandbox_record.h"

#include <string.h>
#include <unistd.h>

#include "agent/sandbox/sandbox_file.h"
#include "agent/sandbox/sandbox_process.h"
#include "agent/sandbox/sandbox_store.h"
#include "common/errors.h"
#include "common/fd.h"
#include "common/json_bytes.h"
#include "common/real_path.h"

static const char *const status_names[] = {
    [SANDBOX_STARTING] = "starting", [SANDBOX_RUNNING] = "running",
    [SANDBOX_STOPPING] = "stopping", [SANDBOX_STOPPED] = "stopped",
    [SANDBOX_CRASHED] = "crashed",   [SANDBOX_FAILED] = "error",
};

const char *sandbox_status_name(enum sandbox_status status)
{
    return status_names[status];
}

bool sandbox_record_is_live(const struct sandbox_record *record)
{
    return record->status == SANDBOX_STARTING ||
           record->status == SANDBOX_RUNNING ||
           record->status == SANDBOX_STOPPING;
}

/* ---- reading ------------------------------------------------------------- */

static const char *text_of(json_t *object, const char *member)
{
    return json_string_value(json_object_get(object, member));
}

static enum sandbox_status status_of(const struct sandbox_record *record,
                                     bool locked)
{
    const char *reason = text_of(record->end, "reason");

    if (locked && json_is_true(json_object_get(record->run, "ending")))
        return SANDBOX_STOPPING;
    if (locked)
        return json_is_true(json_object_get(record->run, "running"))
                   ? SANDBOX_RUNNING
                   : SANDBOX_STARTING;
    if (record->problem)
        return SANDBOX_FAILED;
    if (!reason)
        return SANDBOX_CRASHED;
    return strcmp(reason, "start_failed") == 0 ||
                   strcmp(reason, "machine_lost") == 0
               ? SANDBOX_FAILED
               : SANDBOX_STOPPED;
}

static struct sandbox_record *read_record(const char *name, int dir_fd)
{
    struct sandbox_record *record = g_new0(struct sandbox_record, 1);
    g_autoptr(GError) error = NULL;
    bool locked = sandbox_store_is_locked(dir_fd);

    record->name = g_strdup(name);
    record->dir_fd = dir_fd;
    record->config = sandbox_file_read(dir_fd, SANDBOX_CONFIG, &error);
    if (error)
        record->problem = g_strdup(error->message);
    record->run = sandbox_file_read(dir_fd, SANDBOX_RUN, NULL);
    record->end = sandbox_file_read(dir_fd, SANDBOX_END, NULL);
    /* A supervisor that ended in between has written end.json. */
    if (locked && !sandbox_store_is_locked(dir_fd)) {
        locked = false;
        json_decref(record->end);
        record->end = sandbox_file_read(dir_fd, SANDBOX_END, NULL);
    }
    record->status = status_of(record, locked);
    return record;
}

struct sandbox_record *sandbox_record_load(const char *name, GError **error)
{
    int fd = sandbox_store_open(name, error);

    return fd < 0 ? NULL : read_record(name, fd);
}

void sandbox_record_free(struct sandbox_record *record)
{
    if (!record)
        return;
    fd_close(&record->dir_fd);
    json_decref(record->config);
    json_decref(record->run);
    json_decref(record->end);
    g_free(record->problem);
    g_free(record->name);
    g_free(record);
}

GPtrArray *sandbox_record_load_all(GError **error)
{
    g_autoptr(GPtrArray) names = sandbox_store_list(error);
    GPtrArray *records;

    if (!names)
        return NULL;
    records = g_ptr_array_new_with_free_func(
        (GDestroyNotify)sandbox_record_free);
    for (guint i = 0; i < names->len; i++) {
        struct sandbox_record *record = sandbox_record_load(names->pdata[i],
                                                            NULL);

        /* NULL: removed in the meantime, or not a directory of this user. */
        if (record)
            g_ptr_array_add(records, record);
    }
    return records;
}

GPtrArray *sandbox_record_folders(const struct sandbox_record *record)
{
    GPtrArray *folders = g_ptr_array_new_with_free_func(g_free);
    json_t *session = json_object_get(record->config, "session"), *entry;
    size_t i;

    json_array_foreach(json_object_get(session, "working_directories"), i,
                       entry)
    {
        char *path = json_bytes_get_path(json_object_get(entry, "path"));

        if (path)
            g_ptr_array_add(folders, path);
    }
    return folders;
}

char *sandbox_record_folder_above(const struct sandbox_record *record,
                                  const char *path)
{
    g_autoptr(GPtrArray) folders = sandbox_record_folders(record);

    for (guint i = 0; i < folders->len; i++) {
        if (real_path_is_beneath(path, folders->pdata[i]))
            return g_strdup(folders->pdata[i]);
    }
    return NULL;
}

const char *sandbox_record_socket(const struct sandbox_record *record,
                                  const char *member)
{
    return sandbox_record_is_live(record) ? text_of(record->run, member) : NULL;
}

/* ---- writing ------------------------------------------------------------- */

/* Return the time now in RFC 3339, UTC: a new string. */
static char *time_now(void)
{
    g_autoptr(GDateTime) now = g_date_time_new_now_utc();

    return g_date_time_format(now, "%Y-%m-%dT%H:%M:%SZ");
}

json_t *sandbox_config_new(const char *name, json_t *session,
                           gint64 idle_timeout_s)
{
    g_autofree char *now = time_now();

    return json_pack("{s:s, s:s, s:I, s:o}", "name", name, "created", now,
                     "idle_timeout_seconds", (json_int_t)idle_timeout_s,
                     "session", session);
}

json_t *sandbox_run_new(const char *api_socket, const char *mcp_socket,
                        bool running)
{
    g_autofree char *now = time_now();

    return json_pack("{s:i, s:I, s:s, s:s?, s:s?, s:b}", "pid", (int)getpid(),
                     "pid_start", (json_int_t)sandbox_process_start(getpid()),
                     "started", now, "api_socket", api_socket, "mcp_socket",
                     mcp_socket, "running", running);
}

json_t *sandbox_run_holder(json_t *run, pid_t holder)
{
    json_t *entry = json_pack("{s:i, s:I}", "pid", (int)holder, "pid_start",
                              (json_int_t)sandbox_process_start(holder));

    json_object_set_new(run, "holder", entry);
    return run;
}

json_t *sandbox_run_ending(json_t *run)
{
    json_object_set_new(run, "ending", json_true());
    return run;
}

json_t *sandbox_end_new(const char *reason, const char *message)
{
    g_autofree char *now = time_now();
    g_autofree char *valid = message ? g_utf8_make_valid(message, -1) : NULL;

    return json_pack("{s:s, s:s, s:s?}", "reason", reason, "ended", now,
                     "message", valid);
}
