/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz-dns - a hostile guest's name queries (net/dns_answer.h), and the entries
 * of a policy that names hosts.
 *
 * An input is one byte and a query. The byte's lower bits choose the policy; a
 * separate implementation checks which names are answered, and the answer's
 * form. With bit 7 the rest is entries of a policy, one a line: an entry that
 * is accepted must be the same after another pass.
 */
#include <string.h>

#include "net/dns_udp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct {
    const char *json;
    bool dns;
} policies[] = {
    { "{\"allow\":[\"a.example.org\",\"*.x.org\",\"deny:no.x.org\"]}", false },
    { "{\"allow\":[\"*.x.org:53\",\"deny:no.x.org\",\"a.example.org\"],"
      "\"dns\":true}",
      true },
};

static void set_up(struct network_policy *policy, const char *text)
{
    json_t *json = json_loads(text, 0, NULL);

    g_assert_true(network_policy_parse(json, policy, NULL));
    json_decref(json);
}

/* ---- queries ------------------------------------------------------------- */

/* Return the query's name in lower case with a dot before each label, as a new
 * string; NULL if it has no name, or dots and zeros in it. */
static char *name_of(const uint8_t *data, size_t size)
{
    g_autoptr(GString) name = g_string_new(NULL);
    size_t at = 12;

    while (at < size && data[at] > 0) {
        g_string_append_c(name, '.');
        for (size_t end = at + data[at]; at < end; at++) {
            if (at + 1 >= size || data[at + 1] == '.' || data[at + 1] == 0)
                return NULL;
            g_string_append_c(name, g_ascii_tolower((char)data[at + 1]));
        }
        at++;
    }
    return at < size ? g_strdup(name->str) : NULL;
}

static bool is_listed(const char *name)
{
    bool odd = !name || name[strspn(name, "abcdefghijklmnopqrstuvwxyz"
                                          "0123456789.-_")];

    return !odd && (strcmp(name, ".a.example.org") == 0 ||
                    (g_str_has_suffix(name, ".x.org") && strlen(name) > 6 &&
                     strcmp(name, ".no.x.org") != 0));
}

/* Check the answer's form: header, the query's question, an address, OPT. */
static void check_bytes(const struct dns_answer *answer, const uint8_t *query,
                        size_t size)
{
    const uint8_t *bytes = answer->bytes;
    size_t question = answer->length - 12 - bytes[7] * 16U - bytes[11] * 11U;

    g_assert_cmpuint(answer->length, >=, 12);
    g_assert_cmpuint(answer->length, <=, DNS_ANSWER_MAX);
    g_assert_cmpuint(question, <, answer->length);
    g_assert_cmpuint(12 + question, <=, size);
    g_assert_true(question == 0 ? bytes[5] == 0 : bytes[5] == 1);
    g_assert_cmpmem(bytes, 2, query, 2);
    g_assert_cmpmem(bytes + 12, question, query + 12, question);
    g_assert_cmpuint(bytes[2] >> 7, ==, 1);
    g_assert_cmpuint(bytes[3] & 15, ==, answer->code & 15);
    g_assert_true(bytes[7] == 0 || bytes[3] == 0x80 || bytes[3] == 0x90);
    g_assert_cmpuint(bytes[4] | bytes[6] | bytes[8] | bytes[9] | bytes[10], ==,
                     0);
}

static void check(const struct dns_answer *answer, bool dns,
                  const struct name_table *table, const uint8_t *query,
                  size_t size)
{
    g_autofree char *name = size < 12 ? NULL : name_of(query, size);
    struct network_address address = { 0 };

    if (answer->outcome == DNS_NO_ANSWER) {
        g_assert_true(size < 12 || query[2] & 0x80);
        return;
    }
    if (answer->outcome == DNS_PASS_ON) {
        g_assert_true(dns && !is_listed(name) &&
                      g_strcmp0(name, ".no.x.org") != 0);
        return;
    }
    check_bytes(answer, query, size);
    if (answer->bytes[7] == 0)
        return;
    g_assert_true(is_listed(name));
    for (size_t i = 0; i < 4; i++) {
        size_t opt = answer->bytes[11] * 11U;

        address.bytes[i] = answer->bytes[answer->length - opt - 4 + i];
    }
    g_assert_cmpstr(name_table_find(table, &address), ==, name + 1);
}

/* The same query in a frame must have the same outcome. */
static void check_frame(const struct network_policy *policy,
                        struct name_table *table, const uint8_t *query,
                        size_t size, enum dns_outcome expected)
{
    static const uint8_t guest[4] = { 10, 0, 2, 15 },
                         server[4] = { 10, 0, 2, 3 };
    struct udp_frame head = { guest, server, 4000, 53, 1 };
    g_autofree uint8_t *data = g_malloc0(UDP_FRAME_HEADERS + size);
    g_autofree struct dns_answer *answer = g_new(struct dns_answer, 1);
    uint8_t reply[DNS_UDP_MAX];
    struct frame frame;
    size_t length;

    frame_put16(data + 12, FRAME_IPV4);
    if (size > 0)
        memcpy(data + UDP_FRAME_HEADERS, query, size);
    g_assert_true(frame_parse(data, udp_frame_put(&head, size, data), &frame));
    g_assert_cmpint(
        dns_udp_answer(policy, table, &frame, answer, reply, &length), ==,
        expected);
    if (expected == DNS_ANSWERED)
        g_assert_true(frame_parse(reply, length, &frame));
}

static void ask(unsigned chosen, const uint8_t *query, size_t size)
{
    g_autofree struct network_policy *policy = g_new(struct network_policy, 1);
    g_autofree struct dns_answer *answer = g_new(struct dns_answer, 1);
    struct name_table *table = name_table_new();
    enum dns_outcome outcome;

    set_up(policy, policies[chosen].json);
    outcome = dns_answer(policy, table, query, size, answer);
    check(answer, policies[chosen].dns, table, query, size);
    if (size < FRAME_MTU)
        check_frame(policy, table, query, size, outcome);
    name_table_free(table);
}

/* ---- policies ------------------------------------------------------------ */

static void add_entries(const char *text)
{
    g_autofree struct network_policy *policy = g_new0(struct network_policy, 1);
    g_autofree struct network_policy *again = g_new(struct network_policy, 1);
    g_auto(GStrv) entries = g_strsplit(text, "\n", -1);
    json_t *json, *repeated;

    policy->kind = NETWORK_ALLOW;
    for (char **entry = entries; *entry; entry++) {
        struct network_policy before = *policy;
        g_autoptr(GError) error = NULL;

        if (network_policy_add(policy, *entry, &error))
            continue;
        g_assert_nonnull(error);
        *policy = before; /* an error may leave an address */
    }
    json = network_policy_to_json(policy);
    g_assert_true(network_policy_parse(json, again, NULL));
    repeated = network_policy_to_json(again);
    g_assert_true(json_equal(json, repeated));
    json_decref(json);
    json_decref(repeated);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree char *text = NULL;

    if (size == 0)
        return 0;
    if (data[0] & 0x80) {
        text = g_strndup((const char *)data + 1, size - 1);
        add_entries(text);
    } else {
        ask((data[0] & 7) % G_N_ELEMENTS(policies), data + 1, size - 1);
    }
    return 0;
}
