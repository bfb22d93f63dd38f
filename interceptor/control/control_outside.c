/* SPDX-License-Identifier: Apache-2.0
 *
 * control_outside - see control_outside.h.
 */
#include "interceptor/control/control_outside.h"

#include <string.h>

#include "common/errors.h"
#include "common/json_bytes.h"
#include "common/message.h"
#include "interceptor/engine/engine.h"
#include "interceptor/engine/redo.h"
#include "interceptor/engine/rollback.h"
#include "interceptor/log/barriers.h"
#include "interceptor/mutate/replace_file.h"
#include "interceptor/report/report.h"

enum {
    MAX_STEPS = 1000000,
    EVENT_MAX = 1 << 20,  /* bytes of reports in an event */
    ANSWER_MAX = 8 << 20, /* bytes of reports in an answer */
};

static json_t *texts_to_json(GPtrArray *texts)
{
    json_t *list = json_array();

    for (guint i = 0; i < texts->len; i++) {
        g_autofree char *valid = g_utf8_make_valid(g_ptr_array_index(texts, i),
                                                   -1);

        json_array_append_new(list, json_string(valid));
    }
    return list;
}

/* ---- many reports ------------------------------------------------------- */

static json_t *without_details(json_t *report)
{
    json_t *brief = json_copy(report);

    json_object_del(brief, "command");
    json_object_set_new(brief, "changes", json_array());
    json_object_set_new(brief, "affected_paths", json_array());
    json_object_set_new(brief, "truncated", json_true());
    return brief;
}

/* Append the report (ownership taken). False if there is no room for it. */
static bool add_report(json_t *list, json_t *report, size_t *room)
{
    size_t size = json_dumpb(report, NULL, 0, JSON_COMPACT) + 1;

    if (size > *room) {
        json_decref(report);
        return false;
    }
    *room -= size;
    json_array_append_new(list, report);
    return true;
}

json_t *control_outside_reports(const GPtrArray *infos)
{
    json_t *list = json_array();
    size_t room = ANSWER_MAX;

    for (guint i = 0; i < infos->len; i++) {
        json_t *report = report_to_json(g_ptr_array_index(infos, i));
        json_t *brief = without_details(report);

        if (add_report(list, report, &room))
            json_decref(brief);
        else
            json_array_append_new(list, brief);
    }
    return list;
}

/* ---- undo and redo ------------------------------------------------------- */

/* rollback_go(), rollback_preview() or redo_go(). */
typedef gboolean go_back(struct ic *ic, const struct rollback_extent *extent,
                         bool force, struct ic_rollback_result **ret_result,
                         GError **error);

static json_t *paths_to_json(GPtrArray *paths)
{
    json_t *list = json_array();

    for (guint i = 0; i < paths->len; i++)
        json_array_append_new(list,
                              json_bytes_path(g_ptr_array_index(paths, i)));
    return list;
}

json_t *control_outside_answer(struct ic_rollback_result *result, gboolean ok,
                               json_t **ret_data)
{
    json_t *answer = json_pack("{s:o, s:o}", "steps",
                               control_outside_reports(result->steps),
                               "barriers", barriers_to_json(result->barriers));
    if (ok) {
        json_object_set_new(answer, "warnings",
                            texts_to_json(result->warnings));
        json_object_set_new(answer, "not_restored",
                            paths_to_json(result->not_restored));
    } else {
        json_object_set_new(answer, "paths", barriers_paths(result->barriers));
        *ret_data = answer;
    }
    ic_rollback_result_free(result);
    return ok ? answer : NULL;
}

static gboolean get_counts(json_t *payload, enum rollback_counts *ret_counts,
                           GError **error)
{
    static const char *const names[] = {
        [ROLLBACK_COUNTS_ALL] = "all",
        [ROLLBACK_COUNTS_CHANGES] = "changes",
        [ROLLBACK_COUNTS_COMMANDS] = "commands",
    };
    const char *name = names[ROLLBACK_COUNTS_ALL];

    if (!message_get_optional_string(payload, "counts", &name, error))
        return FALSE;
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        if (strcmp(name, names[i]) == 0) {
            *ret_counts = (enum rollback_counts)i;
            return TRUE;
        }
    }
    g_set_error_literal(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                        "the field 'counts' must be all, changes or commands");
    return FALSE;
}

gboolean control_outside_get_extent(json_t *payload,
                                    struct rollback_extent *ret_extent,
                                    GError **error)
{
    gint64 steps = 1, id = 0;
    bool named = json_object_get(payload, "down_to") != NULL;

    if (named && json_object_get(payload, "steps")) {
        g_set_error_literal(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                            "use either 'steps' or 'down_to', not both");
        return FALSE;
    }
    if (named && !message_get_int(payload, "down_to", -STEP_MAX_NUMBER,
                                  STEP_MAX_NUMBER, &id, error))
        return FALSE;
    if (named && id == 0) {
        g_set_error_literal(error, STEPBACK_ERROR, ERROR_NOTHING_TO_UNDO,
                            "no step has the id 0");
        return FALSE;
    }
    if (!message_get_optional_int(payload, "steps", 1, MAX_STEPS, &steps,
                                  error) ||
        !get_counts(payload, &ret_extent->counts, error))
        return FALSE;
    ret_extent->steps = (unsigned)steps;
    ret_extent->down_to = id;
    return TRUE;
}

static json_t *carry_out(struct ic *ic, go_back *go, json_t *payload,
                         json_t **ret_data, GError **error)
{
    struct ic_rollback_result *result;
    struct rollback_extent extent = { 0 };
    gboolean force = FALSE, ok;

    if (!control_outside_get_extent(payload, &extent, error) ||
        !message_get_optional_bool(payload, "force", &force, error))
        return NULL;
    ok = go(ic, &extent, force, &result, error);
    return control_outside_answer(result, ok, ret_data);
}

json_t *control_outside_rollback(struct ic *ic, json_t *payload,
                                 json_t **ret_data, GError **error)
{
    return carry_out(ic, rollback_go, payload, ret_data, error);
}

json_t *control_outside_redo(struct ic *ic, json_t *payload, json_t **ret_data,
                             GError **error)
{
    return carry_out(ic, redo_go, payload, ret_data, error);
}

json_t *control_outside_preview(struct ic *ic, json_t *payload,
                                json_t **ret_data, GError **error)
{
    return carry_out(ic, rollback_preview, payload, ret_data, error);
}

/* ---- notifying other clients --------------------------------------------- */

/* Append as many reports as fit: every client's queue has to hold the event,
 * and there may be a million steps with a thousand changes each. False if some
 * were left out. */
static bool add_some(json_t *list, json_t *reports)
{
    size_t room = EVENT_MAX, i;
    json_t *report;

    json_array_foreach(reports, i, report)
    {
        if (!add_report(list, json_incref(report), &room) &&
            !add_report(list, without_details(report), &room))
            return false;
    }
    return true;
}

/* Return whether this is a "restore" that may have changed something. */
static bool is_restore(json_t *request)
{
    json_t *payload = json_object_get(request, "payload");

    return g_strcmp0(json_string_value(json_object_get(request, "type")),
                     "restore") == 0 &&
           !json_is_true(json_object_get(payload, "dry_run"));
}

json_t *control_outside_history_event(json_t *request, json_t *answer)
{
    const char *type = json_string_value(json_object_get(request, "type"));
    json_t *payload = json_object_get(answer, "payload"), *steps, *event;
    bool forgets = g_strcmp0(type, "discard") == 0;

    if (!forgets && g_strcmp0(type, "rollback") != 0 &&
        g_strcmp0(type, "redo") != 0 && !is_restore(request))
        return NULL;
    /* A failed request may have done a part. */
    steps = json_object_get(payload ? payload : message_error_data(answer),
                            "steps");
    if (json_array_size(steps) == 0 && !(forgets && payload))
        return NULL;
    event = json_pack("{s:s, s:[]}", "operation", type, "steps");
    if (!add_some(json_object_get(event, "steps"), steps))
        json_object_set_new(event, "truncated", json_true());
    return message_event("event.history_changed", event);
}

gboolean control_outside_replace(struct ic *ic,
                                 const struct ic_file_write *request,
                                 json_t *replaces,
                                 struct ic_step_info **ret_info, GError **error)
{
    struct replaced_content known;

    return message_get_int(replaces, "size", 0, G_MAXINT64, &known.size,
                           error) &&
           message_get_string(replaces, "sha256", &known.sha256, error) &&
           replace_file(ic, request, &known, ret_info, error);
}

/* ---- barriers and policy ------------------------------------------------- */

gboolean control_outside_configure(struct ic *ic, json_t *payload,
                                   GError **error)
{
    const char *name = NULL;
    enum ic_outside_policy policy;

    if (!message_get_optional_string(payload, "external_modification_policy",
                                     &name, error))
        return FALSE;
    return !name || (ic_outside_policy_parse(name, &policy, error) &&
                     ic_set_outside_policy(ic, policy, error));
}

json_t *control_outside_barriers(struct ic *ic)
{
    g_autoptr(GPtrArray) barriers = ic_barriers(ic);

    return barriers_to_json(barriers);
}
