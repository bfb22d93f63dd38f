/* SPDX-License-Identifier: Apache-2.0
 *
 * network_records - see network_records.h.
 */
#include "agent/machine/network_records.h"

#include <glib.h>
#include <stdbool.h>
#include <string.h>

enum {
    TEXT_MAX = 512,
    /* The most that stepback-net and stepback-proxy have, together. */
    OPEN_MAX = 4096
};

struct network_records {
    network_records_kept kept;
    network_records_missed tell_missed;
    void *opaque;
    GQueue list; /* of JSON objects, the oldest first */
    GQueue requests;
    gint64 last_id, last_request;
    guint64 forgotten, missed;
    guint64 requests_forgotten, requests_missed;
    guint64 closed, refused, failed;
};

struct network_records *network_records_new(network_records_kept kept,
                                            network_records_missed missed,
                                            void *opaque)
{
    struct network_records *records = g_new0(struct network_records, 1);

    records->kept = kept;
    records->tell_missed = missed;
    records->opaque = opaque;
    return records;
}

static void drop(gpointer object)
{
    json_decref(object);
}

void network_records_free(struct network_records *records)
{
    if (!records)
        return;
    g_queue_clear_full(&records->list, drop);
    g_queue_clear_full(&records->requests, drop);
    g_free(records);
}

/* ---- one record ---------------------------------------------------------- */

/* Return a new reference: a text, shortened, or null. */
static json_t *text_json(const char *text)
{
    g_autofree char *start = text ? g_strndup(text, TEXT_MAX) : NULL;
    g_autofree char *valid = start ? g_utf8_make_valid(start, -1) : NULL;

    return valid ? json_string(valid) : json_null();
}

static json_t *copy_text(json_t *payload, const char *key)
{
    return text_json(json_string_value(json_object_get(payload, key)));
}

static json_int_t number_of(json_t *payload, const char *key)
{
    return MAX(json_integer_value(json_object_get(payload, key)), 0);
}

/* Return when something began: a new string in ISO 8601. */
static char *format_start(json_int_t milliseconds)
{
    gint64 began = g_get_real_time() / 1000 - milliseconds;
    g_autoptr(GDateTime)
        time = g_date_time_new_from_unix_utc(MAX(began, 0) / 1000);
    g_autofree char *text = time ? g_date_time_format(time, "%Y-%m-%dT%H:%M:%S")
                                 : g_strdup("1970-01-01T00:00:00");

    return g_strdup_printf("%s.%03dZ", text, (int)(MAX(began, 0) % 1000));
}

/* Return the verdict of the API: static. */
static const char *verdict_of(json_t *payload)
{
    const char *verdict = json_string_value(
        json_object_get(payload, "verdict"));

    if (g_strcmp0(verdict, "open") == 0)
        return "open";
    if (g_strcmp0(verdict, "refused") == 0)
        return "refused";
    return json_is_string(json_object_get(payload, "reason")) ? "failed"
                                                              : "closed";
}

static json_t *describe(json_t *payload, const char *verdict)
{
    json_int_t milliseconds = MIN(number_of(payload, "milliseconds"),
                                  (json_int_t)G_MAXINT32 * 1000);
    g_autofree char *start = format_start(milliseconds);

    return json_pack(
        "{s:s, s:I, s:o, s:o, s:I, s:s, s:s, s:o, s:I, s:I, s:I}", "time",
        start, "connection", number_of(payload, "id"), "name",
        copy_text(payload, "name"), "address", copy_text(payload, "address"),
        "port", MIN(number_of(payload, "port"), 65535), "protocol", "tcp",
        "verdict", verdict, "reason", copy_text(payload, "reason"),
        "from_guest", number_of(payload, "from_guest"), "to_guest",
        number_of(payload, "to_guest"), "milliseconds", milliseconds);
}

/* Add a record (taken) to a list. Return how many were removed from it. */
static unsigned push(GQueue *list, json_t *record)
{
    g_queue_push_tail(list, record);
    if (list->length <= NETWORK_RECORDS_MAX)
        return 0;
    json_decref(g_queue_pop_head(list));
    return 1;
}

/* Keep a record (taken). */
static void keep(struct network_records *records, json_t *record)
{
    json_object_set_new(record, "id", json_integer(++records->last_id));
    records->kept("event.network_connection", record, records->opaque);
    records->forgotten += push(&records->list, record);
}

static void keep_request(struct network_records *records, json_t *record)
{
    json_object_set_new(record, "id", json_integer(++records->last_request));
    records->kept("event.network_request", record, records->opaque);
    records->requests_forgotten += push(&records->requests, record);
}

/* Return the number of a message: what a process says of itself. */
static guint64 miss(struct network_records *records, json_t *payload)
{
    guint64 count = (guint64)MIN(number_of(payload, "count"), G_MAXUINT32);

    if (count > 0)
        records->tell_missed(count, records->opaque);
    return count;
}

/* ---- interface ----------------------------------------------------------- */

void network_records_add(struct network_records *records, json_t *payload,
                         const char *allow)
{
    const char *verdict = verdict_of(payload);
    json_t *record;

    if (strcmp(verdict, "open") == 0) /* not an end */
        return;
    if (strcmp(verdict, "closed") == 0)
        records->closed++;
    else if (strcmp(verdict, "refused") == 0)
        records->refused++;
    else
        records->failed++;
    record = describe(payload, verdict);
    json_object_set_new(record, "allow", text_json(allow));
    keep(records, record);
}

/* The destination is a name, or an address. */
void network_records_refuse(struct network_records *records, json_t *payload,
                            const char *reason, const char *allow)
{
    const char *destination = json_string_value(
        json_object_get(payload, "destination"));
    bool is_address = destination && g_hostname_is_ip_address(destination) &&
                      g_strcmp0(json_string_value(
                                    json_object_get(payload, "protocol")),
                                "dns") != 0;
    json_t *record = describe(payload, "refused");

    records->refused++;
    json_object_set_new(record, "connection", json_null());
    json_object_set_new(record, is_address ? "address" : "name",
                        text_json(destination));
    json_object_set_new(record, "protocol", copy_text(payload, "protocol"));
    json_object_set_new(record, "reason", text_json(reason));
    json_object_set_new(record, "allow", text_json(allow));
    keep(records, record);
}

void network_records_miss(struct network_records *records, json_t *payload)
{
    records->missed += miss(records, payload);
}

void network_records_add_request(struct network_records *records,
                                 json_t *payload, const char *allow)
{
    g_autofree char *time = format_start(0);
    json_int_t status = MIN(number_of(payload, "status"), 999);
    bool refused = g_strcmp0(
                       json_string_value(json_object_get(payload, "verdict")),
                       "allowed") != 0;
    json_t *record = json_pack(
        "{s:s, s:I, s:o, s:I, s:o, s:o, s:o, s:s, s:o, s:o}", "time", time,
        "connection", number_of(payload, "id"), "name",
        copy_text(payload, "name"), "port",
        MIN(number_of(payload, "port"), 65535), "method",
        copy_text(payload, "method"), "path", copy_text(payload, "path"),
        "status", status > 0 ? json_integer(status) : json_null(), "verdict",
        refused ? "refused" : "allowed", "reason", copy_text(payload, "reason"),
        "allow", text_json(allow));

    keep_request(records, record);
}

void network_records_miss_requests(struct network_records *records,
                                   json_t *payload)
{
    records->requests_missed += miss(records, payload);
}

static json_t *describe_open(json_t *connection)
{
    json_t *record = describe(connection, "open");

    json_object_set_new(record, "allow", json_null());
    return record;
}

void network_records_add_open(struct network_records *records, json_t *open)
{
    json_t *connection;
    size_t i;

    json_array_foreach(open, i, connection)
    {
        if (i == OPEN_MAX)
            break;
        keep(records, describe_open(connection));
    }
}

json_t *network_records_count(const struct network_records *records)
{
    return json_pack("{s:I, s:I, s:I}", "closed", (json_int_t)records->closed,
                     "refused", (json_int_t)records->refused, "failed",
                     (json_int_t)records->failed);
}

json_t *network_records_to_json(const struct network_records *records,
                                json_t *open)
{
    json_t *list = json_array(), *requests = json_array(), *connection;
    size_t i;

    for (GList *at = records->list.head; at; at = at->next)
        json_array_append(list, at->data);
    json_array_foreach(open, i, connection)
    {
        json_t *record;

        if (i == OPEN_MAX)
            break;
        record = describe_open(connection);
        json_object_set_new(record, "id", json_null());
        json_array_append_new(list, record);
    }
    for (GList *at = records->requests.head; at; at = at->next)
        json_array_append(requests, at->data);
    return json_pack("{s:o, s:I, s:I, s:o, s:I, s:I}", "connections", list,
                     "forgotten", (json_int_t)records->forgotten, "missed",
                     (json_int_t)records->missed, "requests", requests,
                     "requests_forgotten",
                     (json_int_t)records->requests_forgotten, "requests_missed",
                     (json_int_t)records->requests_missed);
}
