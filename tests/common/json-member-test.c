/* SPDX-License-Identifier: Apache-2.0
 *
 * json-member-test - find one member of an object that arrives in pieces.
 */
#include <glib.h>
#include <string.h>

#include "common/json_member.h"

/* Return the member found in two pieces, as JSON; "" if none. */
static char *find(const char *text, size_t cut, bool *ret_over)
{
    struct json_member member;
    size_t length = strlen(text);
    char *found;

    json_member_init(&member, "id");
    if (!json_member_feed(&member, text, cut))
        json_member_feed(&member, text + cut, length - cut);
    *ret_over = member.over;
    found = member.found ? json_dumps(member.found, JSON_ENCODE_ANY) : NULL;
    json_member_clear(&member);
    return found ? found : g_strdup("");
}

static void check(const char *text, const char *wanted, bool over)
{
    for (size_t cut = 0; cut <= strlen(text); cut++) {
        bool is_over;
        g_autofree char *found = find(text, cut, &is_over);

        g_assert_cmpstr(found, ==, wanted);
        g_assert_cmpint(is_over, ==, over);
    }
}

static void test_found(void)
{
    check("{\"id\":1}", "1", true);
    check("{\"id\":-7,\"a\":", "-7", true);
    check(" { \"id\" : \"a b\" , ", "\"a b\"", true);
    check("{\"id\":\"\"}", "\"\"", true);
    check("{\"id\":\"a\\\"}\\\\\",", "\"a\\\"}\\\\\"", true);
    check("{\"\\u0069d\":\"\\u00e4\"}", "\"ä\"", true);
    check("{\"a\":{\"id\":1},\"b\":[{\"id\":2},\"id\"],\"id\":3}", "3", true);
    check("{\"a\":\"\\\"id\\\":1,\",\"id\":4}", "4", true);
    check("{\"a\":\"{[\",\"b\":null,\"c\":-1.5e3,\"id\":5}", "5", true);
    check("{\"id\":1,\"id\":2}", "1", true);
}

static void test_none(void)
{
    check("", "", false);
    check("{\"a\":\"xxxxx", "", false);
    check("{\"a\":{\"id\":1,", "", false);
    check("{\"id\":12", "", false); /* more digits may come */
    check("{}", "", true);
    check("{\"a\":1}", "", true);
    check("{\"ids\":1,\"i\":2,\"ID\":3}", "", true);
    check("{\"a\":\"id\"}", "", true);
    check("[{\"id\":1}]", "", true);
    check("[\"id\":1]", "", true);
    check("\"id\":1", "", true);
    check("}", "", true);
    check("{\"id\":null}", "", true);
    check("{\"id\":1.5}", "", true);
    check("{\"id\":true}", "", true);
    check("{\"id\":{\"id\":1}}", "", true);
    check("{\"id\":[1]}", "", true);
    check("{\"id\":99999999999999999999}", "", true);
    check("{\"id\":\"a\\u0000b\"}", "", true);
    check("{\"id\":\"\xff\"}", "", true);
    check("{\"id\":1 2}", "12", true); /* invalid JSON, and harmless */
    check("{:,:,\"id\":6}", "6", true);
}

/* Neither names nor values determine an allocation. */
static void test_bounded(void)
{
    g_autofree char *xs = g_strnfill(100000, 'x');
    g_autofree char *room = g_strnfill(JSON_MEMBER_ROOM - 2, 'x');
    g_autofree char *names = g_strdup_printf("{\"%s\":1,\"id\":2}", xs);
    g_autofree char *values = g_strdup_printf("{\"id\":\"%s\",\"id\":2}", xs);
    g_autofree char *fits = g_strdup_printf("{\"id\":\"%s\"}", room);
    g_autofree char *wanted = g_strdup_printf("\"%s\"", room);
    g_autofree char *more = g_strdup_printf("{\"id\":\"%sx\"}", room);
    const struct {
        const char *text, *wanted;
    } cases[] = {
        { names, "2" }, { values, "" }, { fits, wanted }, { more, "" }
    };

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        bool is_over;
        g_autofree char *found = find(cases[i].text, 7, &is_over);

        g_assert_cmpstr(found, ==, cases[i].wanted);
        g_assert_true(is_over);
    }
}

/* Of any input, only an integer or a string is returned. */
static void test_junk(void)
{
    static const char bytes[] = "{}[]\":,\\id0x \xff";
    g_autoptr(GRand) dice = g_rand_new_with_seed(1);

    for (int i = 0; i < 50000; i++) {
        struct json_member member;
        char text[40] = "{\"id\":";

        for (size_t at = i % 2 ? 0 : 6; at < sizeof(text); at++)
            text[at] = bytes[g_rand_int_range(dice, 0, sizeof(bytes))];
        json_member_init(&member, "id");
        json_member_feed(&member, text, sizeof(text));
        g_assert_true(!member.found || json_is_integer(member.found) ||
                      json_is_string(member.found));
        json_member_clear(&member);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/json-member/found", test_found);
    g_test_add_func("/json-member/none", test_none);
    g_test_add_func("/json-member/bounded", test_bounded);
    g_test_add_func("/json-member/junk", test_junk);
    return g_test_run();
}
