/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz-network-events - the supervisor's reading of what stepback-net and
 * stepback-proxy report, which the guest may have taken over.
 *
 * An input is lines: a letter and a JSON object, the payload of an event: c a
 * connection, r a refusal, l a limit, q a request, m and n numbers of what is
 * not reported; or o, an object of an open connection. Records must be bounded
 * in number and size. An entry that is offered must be one of the list's
 * notation that opens one address, or the name that the event is about, or the
 * name server.
 */
#include <glib.h>
#include <string.h>

#include "agent/machine/network_hint.h"
#include "agent/machine/network_records.h"
#include "agent/machine/network_texts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { RECORD_MAX = 16 << 10 };

struct world {
    struct network_policy policy;
    struct network_records *records;
    json_t *open;
};

static void check_size(json_t *record)
{
    g_autofree char *text = json_dumps(record, JSON_COMPACT);

    g_assert_nonnull(text);
    g_assert_cmpuint(strlen(text), <=, RECORD_MAX);
}

static void on_missed(guint64 count, void *opaque)
{
    g_assert_cmpuint(count, >, 0);
}

static void on_kept(const char *type, json_t *record, void *opaque)
{
    g_assert_true(g_str_has_prefix(type, "event.network_"));
    check_size(record);
}

/* Return the entry of a hint, after checks. name: of the event, or NULL. */
static char *check_hint(const struct world *world, const char *name, char *hint)
{
    struct network_name parsed;
    g_autofree struct network_policy *more = g_memdup2(&world->policy,
                                                       sizeof(world->policy));

    /* Of a query to the name server. */
    if (!hint || strcmp(hint, "dns") == 0)
        return hint;
    g_assert_true(network_policy_add(more, hint, NULL));
    g_assert_cmpuint(more->count + more->names.count, <=,
                     world->policy.count + world->policy.names.count + 1);
    g_assert_false(network_policy_is_wide(more));
    g_assert_null(strchr(hint, '*'));
    if (network_name_is_meant(hint)) {
        g_assert_nonnull(name);
        g_assert_true(network_name_parse(hint, &parsed, NULL));
        g_assert_true(
            g_ascii_strncasecmp(parsed.text, name, strlen(parsed.text)) == 0);
    }
    return hint;
}

static void refuse(struct world *world, json_t *payload, bool refused)
{
    g_autofree char *text = NULL;
    const char *name = json_string_value(
        json_object_get(payload, "destination"));
    g_autofree char *allow = check_hint(
        world, name, network_hint_find(&world->policy, payload));
    json_t *warning = network_describe(&world->policy, payload, refused, &text);

    g_assert_true(g_utf8_validate(text, -1, NULL));
    check_size(warning);
    if (refused)
        network_records_refuse(world->records, payload, text, allow);
    json_decref(warning);
}

static void take(struct world *world, char kind, json_t *payload)
{
    const char *entry = json_string_value(json_object_get(payload, "allow"));
    const char *name = json_string_value(json_object_get(payload, "name"));
    g_autofree char *allow = check_hint(
        world, name, network_hint_check(&world->policy, name, entry));

    g_assert_cmpstr(allow, !=, "dns");
    if (kind == 'c')
        network_records_add(world->records, payload, allow);
    else if (kind == 'q')
        network_records_add_request(world->records, payload, allow);
    else if (kind == 'm')
        network_records_miss(world->records, payload);
    else if (kind == 'n')
        network_records_miss_requests(world->records, payload);
    else if (kind == 'o')
        json_array_append(world->open, payload);
    else if (kind == 'r' || kind == 'l')
        refuse(world, payload, kind == 'r');
}

static void check_answer(struct world *world)
{
    json_t *answer = network_records_to_json(world->records, world->open);
    json_t *counts = network_records_count(world->records), *record;
    size_t i;

    json_array_foreach(json_object_get(answer, "connections"), i, record)
        check_size(record);
    json_array_foreach(json_object_get(answer, "requests"), i, record)
        check_size(record);
    g_assert_cmpuint(json_array_size(json_object_get(answer, "requests")), <=,
                     NETWORK_RECORDS_MAX);
    json_decref(counts);
    json_decref(answer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct world *world = g_new0(struct world, 1);
    g_autofree char *text = g_strndup((const char *)data, size);
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

    world->policy.kind = NETWORK_ALLOW;
    g_assert_true(network_policy_add(&world->policy, "api.example.org", NULL));
    g_assert_true(
        network_policy_add(&world->policy, "deny:*.bad.example.org", NULL));
    g_assert_true(
        network_policy_add(&world->policy, "deny:api.example.org:25", NULL));
    world->records = network_records_new(on_kept, on_missed, world);
    world->open = json_array();
    for (char **line = lines; *line; line++) {
        json_t *payload = **line ? json_loads(*line + 1, 0, NULL) : NULL;

        if (json_is_object(payload))
            take(world, **line, payload);
        json_decref(payload);
    }
    check_answer(world);
    json_decref(world->open);
    network_records_free(world->records);
    g_free(world);
    return 0;
}
