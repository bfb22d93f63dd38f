/* SPDX-License-Identifier: Apache-2.0
 *
 * barriers - see barriers.h.
 */
#include "interceptor/log/barriers.h"

#include <string.h>

#include "common/json_bytes.h"
#include "interceptor/log/json_time.h"
#include "interceptor/log/step.h"

enum { NAMED = 5 /* paths that a description names */ };

/* ---- life ---------------------------------------------------------------- */

struct ic_barrier *barrier_new(int64_t us, bool watched)
{
    struct ic_barrier *barrier = g_new0(struct ic_barrier, 1);

    barrier->noticed_us = us;
    barrier->watched = watched;
    barrier->paths = g_ptr_array_new_with_free_func(g_free);
    return barrier;
}

static gpointer copy_string(gconstpointer string, gpointer data)
{
    return g_strdup(string);
}

struct ic_barrier *barrier_copy(const struct ic_barrier *barrier)
{
    struct ic_barrier *copy = g_memdup2(barrier, sizeof(*barrier));

    copy->process = g_strdup(barrier->process);
    copy->paths = g_ptr_array_copy(barrier->paths, copy_string, NULL);
    g_ptr_array_set_free_func(copy->paths, g_free);
    return copy;
}

void ic_barrier_free(struct ic_barrier *barrier)
{
    if (!barrier)
        return;
    g_ptr_array_unref(barrier->paths);
    g_free(barrier->process);
    g_free(barrier);
}

static void free_barrier(gpointer barrier)
{
    ic_barrier_free(barrier);
}

GPtrArray *barriers_new(void)
{
    return g_ptr_array_new_with_free_func(free_barrier);
}

static size_t paths_bytes(const struct ic_barrier *barrier)
{
    size_t bytes = 0;

    for (guint i = 0; i < barrier->paths->len; i++)
        bytes += strlen(g_ptr_array_index(barrier->paths, i));
    return bytes;
}

static const char *path_or_root(const char *path)
{
    return *path == '\0' ? "." : path;
}

bool barrier_has_path(const struct ic_barrier *barrier, const char *path)
{
    path = path_or_root(path);
    for (guint i = 0; i < barrier->paths->len; i++) {
        if (strcmp(g_ptr_array_index(barrier->paths, i), path) == 0)
            return true;
    }
    return false;
}

void barrier_add_path(struct ic_barrier *barrier, const char *path)
{
    path = path_or_root(path);
    if (barrier_has_path(barrier, path))
        return;
    if (barrier->paths->len < BARRIER_MAX_PATHS &&
        paths_bytes(barrier) + strlen(path) <= BARRIER_MAX_BYTES)
        g_ptr_array_add(barrier->paths, g_strdup(path));
    else
        barrier->more++;
}

void barrier_add_all(struct ic_barrier *barrier, const struct ic_barrier *other)
{
    for (guint i = 0; i < other->paths->len; i++)
        barrier_add_path(barrier, g_ptr_array_index(other->paths, i));
    barrier->more += other->more;
}

static bool is_kept(json_t *kept, int64_t seq)
{
    json_t *value;
    size_t i;

    json_array_foreach(kept, i, value)
    {
        if (json_integer_value(value) == seq)
            return true;
    }
    return false;
}

void barriers_cross(GPtrArray *barriers, int64_t seq, json_t *kept)
{
    for (guint i = barriers->len; i > 0; i--) {
        const struct ic_barrier *barrier = g_ptr_array_index(barriers, i - 1);

        if (barrier->seq > seq && !is_kept(kept, barrier->seq))
            g_ptr_array_remove_index(barriers, i - 1);
    }
}

void barriers_add(GPtrArray *barriers, struct ic_barrier *barrier)
{
    const struct ic_barrier *oldest;
    struct ic_barrier *next;

    g_ptr_array_add(barriers, barrier);
    if (barriers->len <= BARRIERS_MAX)
        return;
    oldest = g_ptr_array_index(barriers, 0);
    next = g_ptr_array_index(barriers, 1);
    next->more += oldest->paths->len + oldest->more;
    g_ptr_array_remove_index(barriers, 0);
}

/* ---- records ------------------------------------------------------------- */

static json_t *paths_to_json(const struct ic_barrier *barrier)
{
    json_t *list = json_array();

    for (guint i = 0; i < barrier->paths->len; i++)
        json_array_append_new(
            list, json_bytes_path(g_ptr_array_index(barrier->paths, i)));
    return list;
}

static json_t *process_to_json(const struct ic_barrier *barrier)
{
    g_autofree char *name = g_utf8_make_valid(
        barrier->process ? barrier->process : "", -1);

    return barrier->process ? json_string(name) : json_null();
}

json_t *barrier_to_record(const struct ic_barrier *barrier)
{
    return json_pack(
        "{s:s, s:I, s:I, s:o, s:I, s:i, s:o}", "t", "barrier", "seq",
        (json_int_t)barrier->seq, "us", (json_int_t)barrier->noticed_us,
        "paths", paths_to_json(barrier), "more", (json_int_t)barrier->more,
        "pid", (int)barrier->pid, "process", process_to_json(barrier));
}

static void read_barrier(GPtrArray *barriers, json_t *record)
{
    const char *process = json_string_value(json_object_get(record, "process"));
    struct ic_barrier *barrier = barrier_new(
        json_integer_value(json_object_get(record, "us")), true);
    json_t *paths = json_object_get(record, "paths"), *path;
    size_t i;

    barrier->seq = json_integer_value(json_object_get(record, "seq"));
    barrier->pid = (pid_t)json_integer_value(json_object_get(record, "pid"));
    barrier->process = g_strdup(process);
    json_array_foreach(paths, i, path)
    {
        g_autofree char *text = json_bytes_get_path(path);

        if (text)
            barrier_add_path(barrier, text);
        else
            barrier->more++;
    }
    barrier->more += (size_t)MAX(
        json_integer_value(json_object_get(record, "more")), 0);
    barriers_add(barriers, barrier);
}

void barriers_read(GPtrArray *barriers, json_t *record)
{
    const char *type = json_string_value(json_object_get(record, "t"));

    if (g_strcmp0(type, "barrier") == 0)
        read_barrier(barriers, record);
    else if (g_strcmp0(type, "crossed") == 0)
        barriers_cross(barriers,
                       json_integer_value(json_object_get(record, "seq")),
                       json_object_get(record, "kept"));
}

/* ---- protocol and text --------------------------------------------------- */

json_t *barrier_to_json(const struct ic_barrier *barrier)
{
    return json_pack(
        "{s:s, s:o, s:o, s:I, s:o, s:o, s:b, s:o}", "type", "barrier",
        "timestamp", json_time_from_us(barrier->noticed_us), "paths",
        paths_to_json(barrier), "more", (json_int_t)barrier->more, "pid",
        barrier->pid ? json_integer(barrier->pid) : json_null(), "process",
        process_to_json(barrier), "watched", barrier->watched, "after_step",
        barrier->after_step ? json_integer(barrier->after_step) : json_null());
}

json_t *barriers_to_json(GPtrArray *barriers)
{
    json_t *list = json_array();

    for (guint i = 0; i < barriers->len; i++)
        json_array_append_new(list,
                              barrier_to_json(g_ptr_array_index(barriers, i)));
    return list;
}

json_t *barriers_paths(GPtrArray *barriers)
{
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
    json_t *list = json_array();

    for (guint i = 0; i < barriers->len; i++) {
        const struct ic_barrier *barrier = g_ptr_array_index(barriers, i);

        for (guint j = 0; j < barrier->paths->len; j++) {
            char *path = g_ptr_array_index(barrier->paths, j);

            if (g_hash_table_add(seen, path))
                json_array_append_new(list, json_bytes_path(path));
        }
    }
    return list;
}

static void describe_who(GString *text, const struct ic_barrier *barrier)
{
    if (barrier->pid && barrier->process)
        g_string_append_printf(text, ", by %s (process %d)", barrier->process,
                               (int)barrier->pid);
    else if (barrier->pid)
        g_string_append_printf(text, ", by process %d", (int)barrier->pid);
    else if (!barrier->watched)
        g_string_append(text, ", while no file server ran");
}

char *barrier_describe(const struct ic_barrier *barrier)
{
    g_autoptr(GString) text = g_string_new(NULL);
    guint named = MIN(barrier->paths->len, NAMED);
    size_t more = barrier->more + barrier->paths->len - named;

    for (guint i = 0; i < named; i++) {
        const char *path = g_ptr_array_index(barrier->paths, i);
        g_autofree char *valid = g_utf8_make_valid(path, -1);

        g_string_append_printf(text, "%s%s", i ? ", " : "",
                               *valid ? valid : ".");
    }
    if (barrier->paths->len == 0)
        g_string_append(text, "unknown paths");
    else if (more > 0)
        g_string_append_printf(text, " and %zu more", more);
    describe_who(text, barrier);
    return g_utf8_make_valid(text->str, -1);
}
