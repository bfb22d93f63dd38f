/* SPDX-License-Identifier: Apache-2.0
 *
 * event_filter - see event_filter.h.
 */
#include "agent/stdio/event_filter.h"

#include <string.h>

#include "common/errors.h"

enum {
    MAX_TYPES = 64,
    MAX_TYPE = 64, /* bytes of a type's name */
    MAX_STEPS = 64 /* the newest own steps; older ones have no more events */
};

struct event_filter {
    const void *owner;
    bool all;
    GHashTable *types; /* of char * */
    gint64 steps[MAX_STEPS];
    unsigned next; /* index of the oldest step */
};

struct event_filter *event_filter_new(const void *owner, bool all)
{
    struct event_filter *filter = g_new0(struct event_filter, 1);

    filter->owner = owner;
    filter->all = all;
    filter->types = g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
                                          NULL);
    return filter;
}

void event_filter_free(struct event_filter *filter)
{
    if (!filter)
        return;
    g_hash_table_unref(filter->types);
    g_free(filter);
}

static bool is_own_step(const struct event_filter *filter, json_int_t id)
{
    for (unsigned i = 0; i < MAX_STEPS; i++) {
        if (id != 0 && filter->steps[i] == id)
            return true;
    }
    return false;
}

/* Return whether the event is about a step of the client. */
static bool is_own(struct event_filter *filter,
                   const struct session_event *event, json_t *payload)
{
    json_t *step = json_object_get(payload, "step_id");

    if (event->owner && event->owner == filter->owner)
        return true;
    if (event->type == SESSION_EVENT_APPROVAL) /* any client may decide */
        return true;
    if (event->command && event->command->owner == filter->owner) {
        if (event->type == SESSION_EVENT_STEP_STARTED)
            filter->steps[filter->next++ % MAX_STEPS] = event->step_id;
        return true;
    }
    return is_own_step(filter, json_integer_value(step));
}

bool event_filter_has(const struct event_filter *filter, const char *type)
{
    return filter->all || g_hash_table_contains(filter->types, "*") ||
           g_hash_table_contains(filter->types, type);
}

bool event_filter_wants(struct event_filter *filter,
                        const struct session_event *event, json_t *message)
{
    json_t *payload = json_object_get(message, "payload");
    const char *type = json_string_value(json_object_get(message, "type"));
    bool own = is_own(filter, event, payload);

    return own || event_filter_has(filter, type);
}

gboolean event_filter_subscribe(struct event_filter *filter, json_t *payload,
                                GError **error)
{
    json_t *types = json_object_get(payload, "types"), *entry;
    bool ok = json_is_array(types) && json_array_size(types) <= MAX_TYPES;
    size_t i;

    if (!types) {
        g_set_error_literal(error, STEPBACK_ERROR, ERROR_MISSING_FIELD,
                            "the field 'types' is missing");
        return FALSE;
    }
    json_array_foreach(types, i, entry)
    {
        const char *type = json_string_value(entry);

        ok = ok && type && strlen(type) <= MAX_TYPE &&
             (strcmp(type, "*") == 0 || g_str_has_prefix(type, "event."));
    }
    if (!ok) {
        g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                    "the field 'types' must be a list of at most %d event "
                    "types, such as [\"event.step_completed\"], or [\"*\"]",
                    MAX_TYPES);
        return FALSE;
    }
    g_hash_table_remove_all(filter->types);
    json_array_foreach(types, i, entry)
    {
        g_hash_table_add(filter->types, g_strdup(json_string_value(entry)));
    }
    return TRUE;
}
