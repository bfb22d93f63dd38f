/* SPDX-License-Identifier: Apache-2.0
 *
 * network-records-test - the records of a guest's connections.
 */
#include <glib.h>
#include <string.h>

#include "agent/machine/network_records.h"

/* Return the answer's connection: borrowed. */
static json_t *get(json_t *answer, size_t index)
{
    return json_array_get(json_object_get(answer, "connections"), index);
}

static const char *text(json_t *record, const char *key)
{
    return json_string_value(json_object_get(record, key));
}

static void test_bound(void)
{
    struct network_records *records = network_records_new();
    json_t *end = json_pack("{s:i, s:s, s:s}", "id", 7, "name", "a.example",
                            "verdict", "closed");
    json_t *answer;

    for (int i = 0; i < NETWORK_RECORDS_MAX + 20; i++)
        network_records_add(records, end);
    answer = network_records_to_json(records, NULL);
    g_assert_cmpuint(json_array_size(json_object_get(answer, "connections")),
                     ==, NETWORK_RECORDS_MAX);
    g_assert_cmpint(json_integer_value(json_object_get(answer, "forgotten")),
                    ==, 20);
    g_assert_cmpint(json_integer_value(json_object_get(get(answer, 0), "id")),
                    ==, 21);
    json_decref(answer);
    json_decref(end);
    network_records_free(records);
}

/* The proxy reads a guest's data: it may send anything. */
static void test_hostile(void)
{
    g_autofree char *name = g_strnfill(100000, 'x');
    struct network_records *records = network_records_new();
    json_t *end = json_pack("{s:s, s:I, s:I, s:I, s:i, s:[]}", "name", name,
                            "from_guest", (json_int_t)-5, "milliseconds",
                            (json_int_t)G_MAXINT64, "port",
                            (json_int_t)G_MAXINT64, "id", -1, "verdict");
    json_t *empty = json_object(), *answer, *record;

    network_records_add(records, end);
    network_records_add(records, empty);
    network_records_refuse(records, empty, "a reason", NULL);
    network_records_miss(records, empty);
    answer = network_records_to_json(records, json_object_get(end, "verdict"));
    record = get(answer, 0);
    g_assert_cmpuint(strlen(text(record, "name")), ==, 512);
    g_assert_cmpint(json_integer_value(json_object_get(record, "from_guest")),
                    ==, 0);
    g_assert_cmpint(json_integer_value(json_object_get(record, "port")), ==,
                    65535);
    g_assert_cmpstr(text(get(answer, 1), "verdict"), ==, "closed");
    g_assert_cmpstr(text(get(answer, 2), "verdict"), ==, "refused");
    g_assert_cmpstr(text(get(answer, 2), "reason"), ==, "a reason");
    json_decref(answer);
    json_decref(empty);
    json_decref(end);
    network_records_free(records);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/network-records/the newest are kept", test_bound);
    g_test_add_func("/network-records/hostile input is bounded", test_hostile);
    return g_test_run();
}
