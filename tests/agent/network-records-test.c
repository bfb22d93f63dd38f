/* SPDX-License-Identifier: Apache-2.0
 *
 * network-records-test - the records of a guest's connections.
 */
#include <glib.h>
#include <string.h>

#include "agent/machine/network_hint.h"
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

static unsigned kept[2]; /* connections, requests */

static void on_kept(const char *type, json_t *record, void *opaque)
{
    g_assert_true(json_is_integer(json_object_get(record, "id")));
    kept[strcmp(type, "event.network_request") == 0]++;
}

static guint64 missed;

static void on_missed(guint64 count, void *opaque)
{
    missed += count;
}

static void test_bound(void)
{
    struct network_records *records = network_records_new(on_kept, on_missed,
                                                          NULL);
    json_t *end = json_pack("{s:i, s:s, s:s}", "id", 7, "name", "a.example",
                            "verdict", "closed");
    json_t *answer;

    kept[0] = 0;
    for (int i = 0; i < NETWORK_RECORDS_MAX + 20; i++)
        network_records_add(records, end, NULL);
    g_assert_cmpuint(kept[0], ==, NETWORK_RECORDS_MAX + 20);
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
    struct network_records *records = network_records_new(on_kept, on_missed,
                                                          NULL);
    json_t *end = json_pack("{s:s, s:I, s:I, s:I, s:i, s:[]}", "name", name,
                            "from_guest", (json_int_t)-5, "milliseconds",
                            (json_int_t)G_MAXINT64, "port",
                            (json_int_t)G_MAXINT64, "id", -1, "verdict");
    json_t *huge = json_pack("{s:I}", "count", (json_int_t)G_MAXINT64);
    json_t *empty = json_object(), *answer, *record;

    missed = 0;
    network_records_add(records, end, NULL);
    network_records_add(records, empty, NULL);
    network_records_refuse(records, empty, "a reason", NULL);
    network_records_miss(records, empty);
    network_records_miss(records, huge);
    g_assert_cmpuint(missed, ==, G_MAXUINT32);
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
    json_decref(huge);
    json_decref(end);
    network_records_free(records);
}

static void test_requests(void)
{
    struct network_records *records = network_records_new(on_kept, on_missed,
                                                          NULL);
    json_t *allowed = json_pack("{s:i, s:s, s:i, s:s, s:s, s:i, s:s, s:n, s:n}",
                                "id", 3, "name", "a.org", "port", 443, "method",
                                "GET", "path", "/v1", "status", 200, "verdict",
                                "allowed", "reason", "allow");
    json_t *odd = json_pack("{s:s, s:I, s:i}", "method", "\xc3\xbc", "status",
                            (json_int_t)G_MAXINT64, "path", 5);
    json_t *untold = json_pack("{s:i}", "count", 7), *answer, *list, *record;

    kept[1] = missed = 0;
    network_records_add_request(records, allowed, NULL);
    g_assert_cmpuint(kept[1], ==, 1);
    network_records_add_request(records, odd, "GET:a.org");
    network_records_miss_requests(records, untold);
    g_assert_cmpuint(missed, ==, 7);
    answer = network_records_to_json(records, NULL);
    list = json_object_get(answer, "requests");
    record = json_array_get(list, 0);
    g_assert_cmpstr(text(record, "method"), ==, "GET");
    g_assert_cmpstr(text(record, "name"), ==, "a.org");
    g_assert_cmpint(json_integer_value(json_object_get(record, "port")), ==,
                    443);
    g_assert_cmpstr(text(record, "verdict"), ==, "allowed");
    g_assert_cmpint(json_integer_value(json_object_get(record, "status")), ==,
                    200);
    record = json_array_get(list, 1);
    g_assert_cmpstr(text(record, "verdict"), ==, "refused");
    g_assert_cmpstr(text(record, "allow"), ==, "GET:a.org");
    g_assert_cmpint(json_integer_value(json_object_get(record, "status")), ==,
                    999);
    g_assert_null(text(record, "path"));
    g_assert_cmpint(
        json_integer_value(json_object_get(answer, "requests_missed")), ==, 7);
    json_decref(answer);
    for (int i = 0; i < NETWORK_RECORDS_MAX + 5; i++)
        network_records_add_request(records, allowed, NULL);
    answer = network_records_to_json(records, NULL);
    g_assert_cmpuint(json_array_size(json_object_get(answer, "requests")), ==,
                     NETWORK_RECORDS_MAX);
    g_assert_cmpint(
        json_integer_value(json_object_get(answer, "requests_forgotten")), ==,
        7);
    json_decref(answer);
    json_decref(allowed);
    json_decref(odd);
    json_decref(untold);
    network_records_free(records);
}

/* A list that a taken over process sends. */
static void test_many_open(void)
{
    struct network_records *records = network_records_new(on_kept, on_missed,
                                                          NULL);
    json_t *open = json_array(), *answer;

    for (int i = 0; i < 100000; i++)
        json_array_append_new(open, json_object());
    answer = network_records_to_json(records, open);
    g_assert_cmpuint(json_array_size(json_object_get(answer, "connections")),
                     <=, 4096);
    kept[0] = 0;
    network_records_add_open(records, open);
    network_records_add_open(records, NULL);
    g_assert_cmpuint(kept[0], ==, 4096);
    json_decref(answer);
    answer = network_records_to_json(records, NULL);
    g_assert_cmpstr(text(get(answer, 0), "verdict"), ==, "open");
    json_decref(answer);
    json_decref(open);
    network_records_free(records);
}

#define NAME "a.example.org"

static void test_hints(void)
{
    static const struct {
        const char *destination, *protocol;
        int port;
        const char *entry;
    } cases[] = {
        { "one.example.org", "dns", 0, "one.example.org" },
        { "one.example.org", "tcp", 443, "one.example.org" },
        { "one.example.org", "tcp", 22, "one.example.org:22" },
        { "192.0.2.7", "tcp", 443, "192.0.2.7:443" },
        { "2001:db8::7", "tcp", 443, "[2001:db8::7]:443" },
        { "10.0.2.3", "udp", 53, "dns" },
        /* A guest may ask for any of these. */
        { "dns", "dns", 0, NULL },
        { "open", "dns", 0, NULL },
        { "10.0.2.2", "dns", 0, NULL },
        { "preset:npm", "dns", 0, NULL },
        { "a.example.org,open", "dns", 0, NULL },
        { "denied.example.org", "tcp", 443, NULL },
        { "169.254.169.254", "tcp", 80, NULL },
        { "10.0.2.2", "tcp", 80, NULL },
        { "::ffff:169.254.169.254", "tcp", 80, NULL },
        { "127.0.0.1", "tcp", 80, NULL },
    };
    g_autofree struct network_policy *policy = g_new0(struct network_policy, 1);
    g_autofree char *entry = NULL;

    policy->kind = NETWORK_ALLOW;
    g_assert_true(network_policy_add(policy, "deny:denied.example.org", NULL));
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        json_t *payload = json_pack("{s:s, s:s, s:i}", "destination",
                                    cases[i].destination, "protocol",
                                    cases[i].protocol, "port", cases[i].port);
        g_autofree char *found = network_hint_find(policy, payload);

        g_assert_cmpstr(found, ==, cases[i].entry);
        json_decref(payload);
    }
    entry = network_hint_check(policy, NAME, "raw:A.example.org:22");
    g_assert_cmpstr(entry, ==, "raw:A.example.org:22");
    g_assert_null(network_hint_check(policy, NAME, "b.example.org"));
    g_assert_null(network_hint_check(policy, NULL, NAME));
    g_assert_null(network_hint_check(policy, NAME, "open"));
    g_assert_null(network_hint_check(policy, NAME, "dns"));
    g_assert_null(network_hint_check(policy, NAME, "secret:a.example.org"));
    g_assert_null(network_hint_check(policy, NAME, "169.254.169.254:80"));
    g_assert_null(network_hint_check(policy, NAME, "0.0.0.0/0"));
    g_assert_null(network_hint_check(policy, NAME, "::/0"));
    g_assert_null(network_hint_check(policy, NAME, "1.0.0.0/2:443"));
    g_assert_null(network_hint_check(policy, NAME, "*.com"));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/network-records/the newest are kept", test_bound);
    g_test_add_func("/network-records/hostile input is bounded", test_hostile);
    g_test_add_func("/network-records/requests are kept apart", test_requests);
    g_test_add_func("/network-records/open ones are bounded", test_many_open);
    g_test_add_func("/network-records/no entry is offered that a guest chose "
                    "to open more",
                    test_hints);
    return g_test_run();
}
