/* SPDX-License-Identifier: Apache-2.0
 *
 * report_json - see report.h: reports as JSON, in the log and for clients.
 */
#include <string.h>

#include "common/change_json.h"
#include "common/json_bytes.h"
#include "interceptor/log/json_time.h"
#include "interceptor/report/report.h"

_Static_assert(CHANGE_NAMES == IC_CHANGE_TYPES, "a type has no name");

json_t *report_change_to_json(const struct ic_change *change)
{
    json_t *object = json_object();

    if (!json_bytes_is_text(change->path, strlen(change->path)) ||
        (change->from &&
         !json_bytes_is_text(change->from, strlen(change->from))))
        json_bytes_force_base64(object);
    json_bytes_set(object, "path", change->path, strlen(change->path));
    if (change->from)
        json_bytes_set(object, "from", change->from, strlen(change->from));
    json_object_set_new(object, "change",
                        json_string(change_names[change->type]));
    if (change->size_before >= 0)
        json_object_set_new(object, "size_before",
                            json_integer(change->size_before));
    if (change->size_after >= 0)
        json_object_set_new(object, "size_after",
                            json_integer(change->size_after));
    change_json_set_by(object, change->by, change->n_by);
    return object;
}

static json_t *changes_to_json(const struct ic_step_info *info)
{
    json_t *list = json_array();

    for (guint i = 0; i < info->changes->len; i++)
        json_array_append_new(
            list, report_change_to_json(g_ptr_array_index(info->changes, i)));
    return list;
}

static json_t *counts_to_json(const struct ic_step_info *info)
{
    json_t *counts = json_object();

    for (size_t i = 0; i < IC_CHANGE_TYPES; i++) {
        if (info->counts[i])
            json_object_set_new(counts, change_names[i],
                                json_integer((json_int_t)info->counts[i]));
    }
    return counts;
}

json_t *report_to_end_record(const struct ic_step_info *info)
{
    json_t *record = json_pack(
        "{s:s, s:i, s:I, s:I, s:o, s:o}", "t", "end", "exit", info->exit_code,
        "us", (json_int_t)info->ended_us, "affected",
        (json_int_t)info->affected, "counts", counts_to_json(info), "changes",
        changes_to_json(info));

    if (info->unprotected)
        json_object_set_new(record, "unprotected", json_true());
    if (info->unchanged)
        json_object_set_new(record, "unchanged", json_true());
    return record;
}

static int64_t get_size(json_t *change, const char *key)
{
    json_t *member = json_object_get(change, key);

    return json_is_integer(member) ? json_integer_value(member) : -1;
}

static void change_from_json(struct ic_step_info *info, json_t *object)
{
    const char *name = json_string_value(json_object_get(object, "change"));
    char *path = json_bytes_get(object, "path", NULL);

    for (size_t i = 0; path && i < G_N_ELEMENTS(change_names); i++) {
        struct ic_change *change;

        if (g_strcmp0(name, change_names[i]) != 0)
            continue;
        change = g_new0(struct ic_change, 1);
        change->type = (enum ic_change_type)i;
        change->path = g_steal_pointer(&path);
        change->from = json_bytes_get(object, "from", NULL);
        change->size_before = get_size(object, "size_before");
        change->size_after = get_size(object, "size_after");
        change->n_by = change_json_get_by(object, change->by, IC_MAX_BY);
        g_ptr_array_add(info->changes, change);
    }
    g_free(path);
}

struct ic_step_info *report_from_step(const struct step *step)
{
    struct ic_step_info *info = report_new(step);
    json_t *changes = json_object_get(step->end, "changes");
    json_t *exit_code = json_object_get(step->end, "exit");
    json_t *change;
    size_t i;

    info->undoable = !step->unprotected;
    if (!step->end)
        return info;
    if (json_is_integer(exit_code))
        info->exit_code = (int)json_integer_value(exit_code);
    info->ended_us = json_integer_value(json_object_get(step->end, "us"));
    info->unchanged = step_is_unchanged(step);
    info->affected = (size_t)json_integer_value(
        json_object_get(step->end, "affected"));
    for (i = 0; i < IC_CHANGE_TYPES; i++)
        info->counts[i] = (size_t)json_integer_value(json_object_get(
            json_object_get(step->end, "counts"), change_names[i]));
    json_array_foreach(changes, i, change) change_from_json(info, change);
    return info;
}

struct ic_step_info *report_of_damaged(int64_t id)
{
    enum ic_step_type type = id < 0 ? IC_STEP_AMBIENT : IC_STEP_COMMAND;
    g_autoptr(step_auto) step = step_new(id, 0, type, NULL, 1);
    struct ic_step_info *info = report_from_step(step);

    info->started_us = info->ended_us = 0;
    info->undoable = false;
    info->damaged = true;
    return info;
}

static void add_affected_path(json_t *list, GHashTable *seen, const char *path)
{
    if (json_array_size(list) < REPORT_MAX_CHANGES &&
        g_hash_table_add(seen, (char *)path))
        json_array_append_new(list, json_bytes_path(path));
}

static json_t *affected_paths(const struct ic_step_info *info)
{
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
    json_t *list = json_array();

    for (guint i = 0; i < info->changes->len; i++) {
        const struct ic_change *change = g_ptr_array_index(info->changes, i);

        if (change->from)
            add_affected_path(list, seen, change->from);
        add_affected_path(list, seen, change->path);
    }
    return list;
}

json_t *report_to_json(const struct ic_step_info *info)
{
    json_t *command = json_object();
    json_t *report;

    if (info->command)
        json_bytes_set(command, "command", info->command,
                       strlen(info->command));
    report = json_pack(
        "{s:I, s:s, s:i, s:o, s:o, s:I, s:b, s:o, s:I, s:o, s:o, s:b}",
        "step_id", (json_int_t)info->id, "type", step_type_name(info->type),
        "exit_code", info->exit_code, "started",
        json_time_from_us(info->started_us), "ended",
        json_time_from_us(info->ended_us), "duration_ms",
        (json_int_t)((info->ended_us - info->started_us) / 1000), "undoable",
        info->undoable, "affected_paths", affected_paths(info), "affected",
        (json_int_t)info->affected, "counts", counts_to_json(info), "changes",
        changes_to_json(info), "truncated",
        info->affected > info->changes->len);
    json_object_update_missing(report, command);
    if (info->unchanged)
        json_object_set_new(report, "unchanged", json_true());
    if (info->unprotected)
        json_object_set_new(report, "unprotected", json_true());
    if (info->below)
        json_object_set_new(report, "below_unprotected",
                            json_integer((json_int_t)info->below));
    if (info->damaged)
        json_object_set_new(report, "damaged", json_true());
    if (info->other_folder)
        json_object_set_new(report, "other_folder", json_true());
    json_decref(command);
    if (info->denied)
        json_object_update_new(
            report, json_pack("{s:b, s:s}", "aborted", 1, "reason", "denied"));
    return report;
}
