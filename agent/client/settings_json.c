/* SPDX-License-Identifier: Apache-2.0
 *
 * settings_json - see settings_json.h.
 */
#include "agent/client/settings_json.h"

#include <string.h>

#include "common/errors.h"
#include "common/message.h"

enum { ANSWER_TIMEOUT_MAX_S = 86400 };

#define OUTSIDE_POLICY "external_modification_policy"

/* A numeric member. */
struct number {
    const char *key;
    size_t offset;
    gint64 min, max;
};

static const struct number limit_numbers[] = {
    { "max_log_size_bytes", G_STRUCT_OFFSET(struct undo_limits, max_log_size),
      -1, G_MAXINT64 },
    { "max_single_step_size_bytes",
      G_STRUCT_OFFSET(struct undo_limits, max_single_step_size), -1,
      G_MAXINT64 },
    { "max_step_count", G_STRUCT_OFFSET(struct undo_limits, max_step_count), -1,
      G_MAXINT64 },
    { "min_free_bytes", G_STRUCT_OFFSET(struct undo_limits, min_free), -1,
      G_MAXINT64 },
};

static const struct number rule_numbers[] = {
    { "delete_threshold",
      G_STRUCT_OFFSET(struct safeguard_rules, delete_threshold), 0,
      G_MAXINT64 / 2 },
    { "overwrite_file_size_threshold",
      G_STRUCT_OFFSET(struct safeguard_rules, overwrite_file_size_threshold), 0,
      G_MAXINT64 / 2 },
    { "timeout_seconds",
      G_STRUCT_OFFSET(struct safeguard_rules, timeout_seconds), 0,
      ANSWER_TIMEOUT_MAX_S },
};

static const char *const durabilities[] = {
    [IC_DURABILITY_PROCESS] = "process",
    [IC_DURABILITY_POWER] = "power",
};

static const char *const outside_policies[] = {
    [IC_OUTSIDE_BARRIER] = "barrier",
    [IC_OUTSIDE_WARN] = "warn",
};

static void set_numbers(json_t *object, const struct number *numbers, size_t n,
                        const void *settings)
{
    for (size_t i = 0; i < n; i++) {
        gint64 value = G_STRUCT_MEMBER(gint64, settings, numbers[i].offset);

        if (value != SETTING_KEEP)
            json_object_set_new(object, numbers[i].key,
                                value == SETTING_OFF ? json_null()
                                                     : json_integer(value));
    }
}

static gboolean get_number(json_t *payload, const struct number *number,
                           bool may_be_off, void *settings, GError **error)
{
    gint64 *value = G_STRUCT_MEMBER_P(settings, number->offset);

    if (!may_be_off || !json_is_null(json_object_get(payload, number->key)))
        return message_get_optional_int(payload, number->key, number->min,
                                        number->max, value, error);
    *value = SETTING_OFF;
    return TRUE;
}

/* ---- limits -------------------------------------------------------------- */

static gboolean get_durability(json_t *payload, struct undo_limits *limits,
                               GError **error)
{
    const char *name = NULL;

    if (!message_get_optional_string(payload, "durability", &name, error))
        return FALSE;
    for (int i = IC_DURABILITY_PROCESS; name && i <= IC_DURABILITY_POWER; i++) {
        if (strcmp(name, durabilities[i]) == 0)
            limits->durability = (enum ic_durability)i;
    }
    if (!name || limits->durability != IC_DURABILITY_DEFAULT)
        return TRUE;
    g_set_error_literal(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                        "the field 'durability' must be process or power");
    return FALSE;
}

gboolean outside_policy_from_json(json_t *payload, int *ret_policy,
                                  GError **error)
{
    enum ic_outside_policy policy;
    const char *name = NULL;

    if (!message_get_optional_string(payload, OUTSIDE_POLICY, &name, error))
        return FALSE;
    if (!name)
        return TRUE;
    if (!ic_outside_policy_parse(name, &policy, error) ||
        !ic_outside_policy_check(policy, error))
        return FALSE;
    *ret_policy = (int)policy;
    return TRUE;
}

gboolean limits_from_json(json_t *payload, struct undo_limits *ret_limits,
                          GError **error)
{
    static const char *const fields[] = {
        "max_log_size_bytes",
        "max_single_step_size_bytes",
        "max_step_count",
        "min_free_bytes",
        "durability",
        OUTSIDE_POLICY,
        NULL,
    };

    *ret_limits = UNDO_LIMITS_KEEP;
    if (!message_check_known(payload, fields, error))
        return FALSE;
    for (size_t i = 0; i < G_N_ELEMENTS(limit_numbers); i++) {
        if (!get_number(payload, &limit_numbers[i], false, ret_limits, error))
            return FALSE;
    }
    return get_durability(payload, ret_limits, error) &&
           outside_policy_from_json(payload, &ret_limits->outside_policy,
                                    error);
}

json_t *limits_to_json(const struct undo_limits *limits)
{
    json_t *object = json_object();

    set_numbers(object, limit_numbers, G_N_ELEMENTS(limit_numbers), limits);
    if (limits->durability != IC_DURABILITY_DEFAULT)
        json_object_set_new(object, "durability",
                            json_string(durabilities[limits->durability]));
    if (limits->outside_policy != SETTING_KEEP)
        json_object_set_new(
            object, OUTSIDE_POLICY,
            json_string(outside_policies[limits->outside_policy]));
    return object;
}

/* ---- rules --------------------------------------------------------------- */

gboolean rules_from_json(json_t *payload, struct safeguard_rules *ret_rules,
                         GError **error)
{
    static const char rename[] = "rename_over_existing";
    static const char *const fields[] = {
        "delete_threshold",
        "overwrite_file_size_threshold",
        rename,
        "timeout_seconds",
        NULL,
    };
    gboolean value = FALSE;

    *ret_rules = SAFEGUARD_RULES_KEEP;
    if (!message_check_known(payload, fields, error))
        return FALSE;
    for (size_t i = 0; i < G_N_ELEMENTS(rule_numbers); i++) {
        if (!get_number(payload, &rule_numbers[i], true, ret_rules, error))
            return FALSE;
    }
    if (!json_is_null(json_object_get(payload, rename)) &&
        !message_get_optional_bool(payload, rename, &value, error))
        return FALSE;
    if (json_object_get(payload, rename))
        ret_rules->rename_over_existing = value;
    return TRUE;
}

json_t *rules_to_json(const struct safeguard_rules *rules)
{
    json_t *object = json_object();

    set_numbers(object, rule_numbers, G_N_ELEMENTS(rule_numbers), rules);
    if (rules->rename_over_existing != SETTING_KEEP)
        json_object_set_new(object, "rename_over_existing",
                            json_boolean(rules->rename_over_existing));
    return object;
}
