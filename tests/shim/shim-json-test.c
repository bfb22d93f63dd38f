/* SPDX-License-Identifier: Apache-2.0
 *
 * shim-json-test - members and bytes in the shim's JSON, and its UTF-8 code,
 * without the shim.
 */
#include <glib.h>
#include <string.h>

#include "shim/utf8.h"
#include "shim/wire_json.h"

static json_t *parse(const char *text)
{
    json_error_t error;
    json_t *value = wire_parse(text, strlen(text), &error);

    g_assert_nonnull(value);
    return value;
}

static void test_members(void)
{
    json_t *object = parse("{\"s\":\"x\",\"n\":-9223372036854775808,\"f\":1.0,"
                           "\"on\":true,\"off\":false,\"z\":\"a\\u0000b\"}");
    const char *text = "kept";
    int64_t number = 7;
    bool flag = true;

    g_assert_false(wire_get_string(object, "n", &text));
    g_assert_false(wire_get_string(object, "z", &text));
    g_assert_false(wire_get_string(object, "missing", &text));
    g_assert_false(wire_get_string(NULL, "s", &text));
    g_assert_cmpstr(text, ==, "kept");
    g_assert_false(wire_get_integer(object, "s", &number));
    g_assert_false(wire_get_integer(object, "f", &number));
    g_assert_cmpint(number, ==, 7);
    g_assert_false(wire_get_bool(object, "n", &flag));
    g_assert_true(flag);
    g_assert_true(wire_get_string(object, "s", &text));
    g_assert_cmpstr(text, ==, "x");
    g_assert_true(wire_get_integer(object, "n", &number));
    g_assert_cmpint(number, ==, INT64_MIN);
    g_assert_true(wire_get_bool(object, "off", &flag));
    g_assert_false(flag);
    g_assert_true(wire_get_bool(object, "on", &flag));
    g_assert_true(flag);
    json_decref(object);
}

static void test_ambiguous(void)
{
    static const char *const refused[] = { "{\"a\":1,\"a\":2}", "{} {}", "{",
                                           "\"\xff\"", "" };
    json_error_t error;

    for (size_t i = 0; i < G_N_ELEMENTS(refused); i++)
        g_assert_null(wire_parse(refused[i], strlen(refused[i]), &error));
}

static void test_bytes(void)
{
    for (size_t len = 0; len < 100; len++) {
        guint8 data[100];
        g_autofree char *encoded = NULL;
        json_t *object = json_object(), *decoded;
        const char *text;

        for (size_t i = 0; i < len; i++)
            data[i] = (guint8)g_test_rand_int_range(0, 256);
        if (len > 0)
            data[0] = 0xff;
        wire_set_bytes(object, "d", data, len);
        g_assert_cmpint(wire_get_string(object, "encoding", &text), ==,
                        len > 0);
        g_assert_true(wire_get_string(object, "d", &text));
        encoded = g_base64_encode(data, len);
        g_assert_cmpstr(text, ==, encoded);
        decoded = wire_decode(json_object_get(object, "d"));
        g_assert_cmpmem(json_string_value(decoded), json_string_length(decoded),
                        data, len);
        json_decref(decoded);
        json_decref(object);
    }
}

static void test_not_base64(void)
{
    static const char *const refused[] = { "AAA", "AA=A", "A===", "AA-A",
                                           "AA A" };

    g_assert_null(wire_decode(NULL));
    for (size_t i = 0; i < G_N_ELEMENTS(refused); i++) {
        json_t *value = json_string(refused[i]);

        g_assert_null(wire_decode(value));
        json_decref(value);
    }
}

static void test_texts(void)
{
    json_t *object = json_object(), *text = wire_text("a\xc3\xa4\xff\xe2\x82");
    const char *value;

    g_assert_cmpstr(json_string_value(text), ==, "a\xc3\xa4???");
    json_decref(text);
    wire_set_bytes(object, "d", "\xc3\xa4", 2);
    g_assert_true(wire_get_string(object, "d", &value));
    g_assert_cmpstr(value, ==, "\xc3\xa4");
    g_assert_null(json_object_get(object, "encoding"));
    wire_set_bytes(object, "d", "a\0b", 3);
    g_assert_true(wire_get_string(object, "d", &value));
    g_assert_cmpstr(value, ==, "YQBi");
    json_decref(object);
}

/* ---- UTF-8 --------------------------------------------------------------- */

static bool is_valid(const char *text, size_t len)
{
    for (size_t i = 0; i < len;) {
        int length = utf8_measure(text + i, len - i);

        if (length <= 0)
            return false;
        i += (size_t)length;
    }
    return true;
}

/* Compared with GLib, on strings of the significant bytes. */
static void test_utf8(void)
{
    static const guint8 bytes[] = {
        'a',  0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf,
        0xe0, 0xe1, 0xec, 0xed, 0xee, 0xef, 0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xff,
    };

    for (int round = 0; round < 300000; round++) {
        char text[6];
        size_t len = (size_t)g_test_rand_int_range(1, sizeof(text) + 1);

        for (size_t i = 0; i < len; i++)
            text[i] = (char)
                bytes[g_test_rand_int_range(0, G_N_ELEMENTS(bytes))];
        g_assert_cmpint(is_valid(text, len), ==,
                        g_utf8_validate(text, (gssize)len, NULL));
    }
}

/* Cut a text anywhere: without the incomplete tail it is valid, and the tail
 * and the rest make the text again. */
static void test_cut_tail(void)
{
    static const char text[] = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z";

    for (size_t len = 0; len <= strlen(text); len++) {
        size_t tail = utf8_cut_tail(text, len);

        g_assert_cmpint(tail, <=, 3);
        g_assert_true(is_valid(text, len - tail));
        g_assert_true(is_valid(text + len - tail, strlen(text) - len + tail));
    }
    g_assert_cmpint(utf8_cut_tail("\x80\x80\x80", 3), ==, 0);
    g_assert_cmpint(utf8_cut_tail("\xff", 1), ==, 0);
    g_assert_cmpint(utf8_cut_tail("\xe0\x80", 2), ==, 0);
    g_assert_cmpint(utf8_cut_tail("\xe2\x82", 2), ==, 2);
    g_assert_cmpint(utf8_cut_tail("", 0), ==, 0);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/shim-json/members", test_members);
    g_test_add_func("/shim-json/ambiguous", test_ambiguous);
    g_test_add_func("/shim-json/bytes", test_bytes);
    g_test_add_func("/shim-json/not-base64", test_not_base64);
    g_test_add_func("/shim-json/texts", test_texts);
    g_test_add_func("/shim-json/utf8", test_utf8);
    g_test_add_func("/shim-json/cut-tail", test_cut_tail);
    return g_test_run();
}
