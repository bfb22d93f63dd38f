/* SPDX-License-Identifier: Apache-2.0
 *
 * control_outside - see control_outside.h.
 */
#include "interceptor/control_outside.h"

#include "common/errors.h"
#include "common/message.h"
#include "interceptor/barriers.h"
#include "interceptor/report.h"

enum { MAX_STEPS = 1000000 };

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

/* ic_rollback_steps(), ic_redo() or ic_preview(). */
typedef gboolean go_back(struct ic *ic, unsigned steps, bool force,
                         struct ic_rollback_result **ret_result,
                         GError **error);

static json_t *carry_out(struct ic *ic, go_back *go, json_t *payload,
                         json_t **ret_data, GError **error)
{
    struct ic_rollback_result *result;
    json_t *answer;
    gboolean force = FALSE, ok;
    gint64 steps = 1;

    if (!message_get_optional_int(payload, "steps", 1, MAX_STEPS, &steps,
                                  error) ||
        !message_get_optional_bool(payload, "force", &force, error))
        return NULL;
    ok = go(ic, (unsigned)steps, force, &result, error);
    answer = json_pack("{s:o, s:o}", "steps",
                       report_list_to_json(result->steps), "barriers",
                       barriers_to_json(result->barriers));
    if (ok) {
        json_object_set_new(answer, "warnings",
                            texts_to_json(result->warnings));
    } else {
        json_object_set_new(answer, "paths", barriers_paths(result->barriers));
        *ret_data = answer;
    }
    ic_rollback_result_free(result);
    return ok ? answer : NULL;
}

json_t *control_outside_rollback(struct ic *ic, json_t *payload,
                                 json_t **ret_data, GError **error)
{
    return carry_out(ic, ic_rollback_steps, payload, ret_data, error);
}

json_t *control_outside_redo(struct ic *ic, json_t *payload, json_t **ret_data,
                             GError **error)
{
    return carry_out(ic, ic_redo, payload, ret_data, error);
}

json_t *control_outside_preview(struct ic *ic, json_t *payload,
                                json_t **ret_data, GError **error)
{
    return carry_out(ic, ic_preview, payload, ret_data, error);
}

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
