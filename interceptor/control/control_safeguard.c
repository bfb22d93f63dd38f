/* SPDX-License-Identifier: Apache-2.0
 *
 * control_safeguard - see control_safeguard.h.
 */
#include "interceptor/control/control_safeguard.h"

#include "common/errors.h"
#include "common/message.h"

#define MAX_THRESHOLD (G_MAXINT64 / 2)
#define MAX_TIMEOUT_S 86400
#define MS_PER_SECOND 1000

static bool is_null(json_t *payload, const char *key)
{
    return json_is_null(json_object_get(payload, key));
}

/* Read a number, or null, which means off. */
static gboolean get_number(json_t *payload, const char *key, gint64 max,
                           gint64 off, gint64 *ret_value, GError **error)
{
    if (is_null(payload, key)) {
        *ret_value = off;
        return TRUE;
    }
    return message_get_optional_int(payload, key, 0, max, ret_value, error);
}

static gboolean get_rename(json_t *payload, bool *ret_value, GError **error)
{
    gboolean value = *ret_value;

    if (is_null(payload, "rename_over_existing"))
        value = FALSE;
    else if (!message_get_optional_bool(payload, "rename_over_existing", &value,
                                        error))
        return FALSE;
    *ret_value = value;
    return TRUE;
}

static json_t *rules_to_json(const struct ic_safeguard_rules *rules)
{
    int64_t size = rules->overwrite_file_size_threshold;

    return json_pack("{s:o, s:o, s:b, s:i}", "delete_threshold",
                     rules->delete_threshold
                         ? json_integer((json_int_t)rules->delete_threshold)
                         : json_null(),
                     "overwrite_file_size_threshold",
                     size >= 0 ? json_integer(size) : json_null(),
                     "rename_over_existing", rules->rename_over_existing,
                     "timeout_seconds",
                     (int)(rules->timeout_ms / MS_PER_SECOND));
}

json_t *control_safeguard_configure(struct ic *ic, json_t *payload,
                                    GError **error)
{
    struct ic_safeguard_rules rules;
    gint64 deletes, size, timeout;

    ic_safeguard_get_rules(ic, &rules);
    deletes = (gint64)rules.delete_threshold;
    size = rules.overwrite_file_size_threshold;
    timeout = rules.timeout_ms / MS_PER_SECOND;
    if (!get_number(payload, "delete_threshold", MAX_THRESHOLD, 0, &deletes,
                    error) ||
        !get_number(payload, "overwrite_file_size_threshold", MAX_THRESHOLD, -1,
                    &size, error) ||
        !get_number(payload, "timeout_seconds", MAX_TIMEOUT_S, 0, &timeout,
                    error) ||
        !get_rename(payload, &rules.rename_over_existing, error))
        return NULL;
    rules.delete_threshold = (uint64_t)deletes;
    rules.overwrite_file_size_threshold = size;
    rules.timeout_ms = (unsigned)timeout * MS_PER_SECOND;
    if (!ic_safeguard_configure(ic, &rules, error))
        return NULL;
    ic_safeguard_get_rules(ic, &rules);
    return rules_to_json(&rules);
}

json_t *control_safeguard_confirm(struct ic *ic, json_t *payload,
                                  GError **error)
{
    const char *id, *action;
    bool allow;

    if (!message_get_string(payload, "safeguard_id", &id, error) ||
        !message_get_string(payload, "action", &action, error))
        return NULL;
    allow = g_strcmp0(action, "allow") == 0;
    if (!allow && g_strcmp0(action, "deny") != 0) {
        g_set_error_literal(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                            "the field 'action' must be allow or deny");
        return NULL;
    }
    if (!ic_safeguard_confirm(ic, id, allow, error))
        return NULL;
    return json_object();
}
