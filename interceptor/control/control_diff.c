/* SPDX-License-Identifier: Apache-2.0
 *
 * control_diff - see control_diff.h.
 */
#include "interceptor/control/control_diff.h"

#include "common/json_bytes.h"
#include "common/message.h"
#include "interceptor/report/report.h"

static void add_version(json_t *object, const char *key,
                        const struct ic_version *version)
{
    json_t *value = json_object();

    if (!version->mode && !version->left_out) {
        json_decref(value);
        json_object_set_new(object, key, json_null());
        return;
    }
    if (version->mode)
        json_object_set_new(value, "mode", json_integer(version->mode));
    if (version->left_out)
        json_object_set_new(value, "left_out", json_true());
    if (version->data) {
        json_bytes_force_base64(value);
        json_bytes_set(value, "content", version->data, version->len);
    }
    json_object_set_new(object, key, value);
}

static json_t *file_to_json(const struct ic_file_diff *diff)
{
    const struct ic_change change = {
        .type = diff->type,
        .path = diff->path,
        .from = diff->from,
        .size_before = -1,
        .size_after = -1,
    };
    json_t *file = report_change_to_json(&change);

    add_version(file, "before", &diff->before);
    add_version(file, "after", &diff->after);
    return file;
}

json_t *control_diff(struct ic *ic, json_t *payload, GError **error)
{
    g_autoptr(GPtrArray) diffs = NULL;
    gint64 id, first = 0;
    unsigned next;
    size_t cut;
    json_t *files, *answer;
    bool partial;

    if (!message_get_int(payload, "step_id", G_MININT64, G_MAXINT64, &id,
                         error) ||
        !message_get_optional_int(payload, "first", 0, G_MAXINT32, &first,
                                  error) ||
        !ic_diff(ic, id, (unsigned)first, &diffs, &next, &cut, &partial, error))
        return NULL;
    files = json_array();
    for (guint i = 0; i < diffs->len; i++)
        json_array_append_new(files, file_to_json(g_ptr_array_index(diffs, i)));
    answer = json_pack("{s:o, s:o, s:I}", "files", files, "next",
                       next ? json_integer(next) : json_null(), "cut",
                       (json_int_t)cut);
    if (partial)
        json_object_set_new(answer, "unprotected", json_true());
    return answer;
}
