/* SPDX-License-Identifier: Apache-2.0
 *
 * shim-json-test - the shim's JSON and UTF-8 code, without the shim.
 *
 * Every input is in an allocation of exactly its size, so sanitizers and
 * valgrind find an access beyond it.
 */
#include <glib.h>
#include <string.h>

#include "shim/json_reader.h"
#include "shim/json_writer.h"
#include "shim/utf8.h"

static struct json_reader reader;

/* The line of the last parse(); values point into it. */
static char *line;

static const struct json_value *parse_bytes(const char *text, size_t len)
{
    g_free(line);
    line = g_memdup2(text, len);
    return json_reader_parse(&reader, line, len);
}

static const struct json_value *parse(const char *text)
{
    return parse_bytes(text, strlen(text));
}

static void test_values(void)
{
    const struct json_value *root, *list;
    const char *text = NULL;
    int64_t number = 0;
    bool flag = false;

    root = parse(" {\"type\":\"exec\" , \"id\":42,\"on\":true,\"off\":false,"
                 "\"none\":null,\"list\":[1,[2],{\"x\":[]}],\"empty\":{}} ");
    g_assert_nonnull(root);
    g_assert_true(json_reader_get_string(root, "type", &text));
    g_assert_cmpstr(text, ==, "exec");
    g_assert_true(json_reader_get_integer(root, "id", &number));
    g_assert_cmpint(number, ==, 42);
    g_assert_true(json_reader_get_bool(root, "on", &flag));
    g_assert_true(flag);
    g_assert_true(json_reader_get_bool(root, "off", &flag));
    g_assert_false(flag);
    g_assert_cmpint(json_reader_member(root, "none")->type, ==,
                    JSON_READER_NULL);
    list = json_reader_member(root, "list");
    g_assert_cmpint(list->type, ==, JSON_READER_ARRAY);
    g_assert_cmpint(list->first->integer, ==, 1);
    g_assert_cmpint(list->first->next->type, ==, JSON_READER_ARRAY);
    g_assert_cmpint(list->first->next->next->type, ==, JSON_READER_OBJECT);
    g_assert_null(list->first->next->next->next);
    g_assert_null(json_reader_member(root, "empty")->first);
    g_assert_null(json_reader_member(root, "nothing"));
    g_assert_null(json_reader_member(list, "type"));
    g_assert_null(json_reader_member(NULL, "type"));
}

static void test_wrong_types(void)
{
    const struct json_value *root = parse(
        "{\"s\":\"x\",\"n\":1,\"f\":1.0,\"e\":1e3,\"z\":\"a\\u0000b\"}");
    const char *text = "kept";
    int64_t number = 7;
    bool flag = true;

    g_assert_false(json_reader_get_string(root, "n", &text));
    g_assert_false(json_reader_get_string(root, "z", &text));
    g_assert_false(json_reader_get_string(root, "missing", &text));
    g_assert_cmpstr(text, ==, "kept");
    g_assert_false(json_reader_get_integer(root, "s", &number));
    g_assert_false(json_reader_get_integer(root, "f", &number));
    g_assert_false(json_reader_get_integer(root, "e", &number));
    g_assert_cmpint(number, ==, 7);
    g_assert_false(json_reader_get_bool(root, "n", &flag));
    g_assert_true(flag);
    g_assert_cmpint(json_reader_member(root, "z")->len, ==, 3);
}

static void test_integers(void)
{
    static const struct {
        const char *text;
        bool whole;
        int64_t value;
    } cases[] = {
        { "0", true, 0 },
        { "-0", true, 0 },
        { "-1", true, -1 },
        { "9223372036854775807", true, INT64_MAX },
        { "-9223372036854775808", true, INT64_MIN },
        { "9223372036854775808", false, 0 },
        { "-9223372036854775809", false, 0 },
        { "123456789012345678901234567890", false, 0 },
        { "1.5", false, 0 },
        { "1E+2", false, 0 },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        const struct json_value *value = parse(cases[i].text);

        g_test_message("%s", cases[i].text);
        g_assert_nonnull(value);
        g_assert_cmpint(value->type, ==, JSON_READER_NUMBER);
        g_assert_cmpint(value->is_integer, ==, cases[i].whole);
        if (cases[i].whole)
            g_assert_cmpint(value->integer, ==, cases[i].value);
    }
}

static void test_escapes(void)
{
    const struct json_value *value;

    value = parse("\"\\\" \\\\ \\/ \\b\\f\\n\\r\\t \\u0041\\u00e9\\u20AC\"");
    g_assert_nonnull(value);
    g_assert_cmpstr(value->text, ==,
                    "\" \\ / \b\f\n\r\t A\xc3\xa9\xe2\x82\xac");
    value = parse("\"\\ud83d\\ude00 \\uDBFF\\uDFFF\"");
    g_assert_nonnull(value);
    g_assert_cmpstr(value->text, ==, "\xf0\x9f\x98\x80 \xf4\x8f\xbf\xbf");
    value = parse("\"plain \xe2\x82\xac\"");
    g_assert_cmpstr(value->text, ==, "plain \xe2\x82\xac");
    g_assert_cmpint(value->len, ==, 9);
}

static void test_malformed(void)
{
    static const char *const cases[] = {
        "",
        " ",
        "{",
        "}",
        "[",
        "]",
        "{]",
        "[}",
        "[1",
        "[1,",
        "[1,]",
        "[,1]",
        "{\"a\"",
        "{\"a\":",
        "{\"a\":1",
        "{\"a\":1,",
        "{\"a\":1,}",
        "{a:1}",
        "{1:1}",
        "{\"a\" 1}",
        "{\"a\":1 \"b\":2}",
        "{\"a\":1}x",
        "{}{}",
        "tru",
        "truex",
        "nul",
        "True",
        "+1",
        "01",
        "-",
        "-x",
        "1.",
        ".5",
        "1e",
        "1e+",
        "0x10",
        "NaN",
        "Infinity",
        "'a'",
        "\"",
        "\"abc",
        "\"\\",
        "\"\\\"",
        "\"\\x\"",
        "\"\\u\"",
        "\"\\u12\"",
        "\"\\u12G4\"",
        "\"\\ud800\"",
        "\"\\ud800x\"",
        "\"\\ud800\\n\"",
        "\"\\ud800\\u0041\"",
        "\"\\udc00\"",
        "\"a\nb\"",
        "\"a\tb\"",
        "\"\x01\"",
        "\"\xff\"",
        "\"\xc3\"",
        "\"\xc3(\"",
        "\"\xc0\xaf\"",
        "\"\xe0\x80\xaf\"",
        "\"\xed\xa0\x80\"",
        "\"\xf4\x90\x80\x80\"",
        "\"\xe2\x82",
        "[1 2]",
        "{\"a\":1,\"a\":2}",
        "{\"a\":1,\"\\u0061\":2}",
        "/**/{}",
        "\xef\xbb\xbf{}",
    };

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *shown = g_strescape(cases[i], NULL);

        g_test_message("%s", shown);
        g_assert_null(parse(cases[i]));
        g_assert_nonnull(reader.error);
    }
    g_assert_null(parse_bytes("{}\0", 3));
    g_assert_null(parse_bytes("\"a\0b\"", 5));
    g_assert_null(parse_bytes("1\0", 2));
}

/* Every line that is cut short, anywhere, is refused. */
static void test_truncated(void)
{
    static const char whole[] =
        "{\"type\":\"exec\",\"id\":42,\"env\":{\"K\":\"\\ud83d\\ude00\"},"
        "\"x\":[true,null,-1.5e3]}";

    g_assert_nonnull(parse(whole));
    for (size_t len = 0; len < strlen(whole); len++)
        g_assert_null(parse_bytes(whole, len));
}

static void test_limits(void)
{
    g_autoptr(GString) text = g_string_new(NULL);

    for (int depth = 0; depth < JSON_READER_MAX_DEPTH; depth++)
        g_string_append_c(text, '[');
    for (int depth = 0; depth < JSON_READER_MAX_DEPTH; depth++)
        g_string_append_c(text, ']');
    g_assert_nonnull(parse(text->str));
    g_string_prepend_c(text, '[');
    g_string_append_c(text, ']');
    g_assert_null(parse(text->str));
    g_assert_cmpstr(reader.error, ==, "nested too deeply");

    /* Far deeper than any stack. */
    g_string_set_size(text, 1024 * 1024);
    memset(text->str, '[', text->len);
    g_assert_null(parse_bytes(text->str, text->len));

    g_string_assign(text, "[0");
    for (int i = 1; i < JSON_READER_MAX_VALUES - 1; i++)
        g_string_append(text, ",0");
    g_string_append_c(text, ']');
    g_assert_nonnull(parse(text->str));
    g_string_insert(text, 1, "0,");
    g_assert_null(parse(text->str));
    g_assert_cmpstr(reader.error, ==, "too many values");
}

static void test_long_string(void)
{
    const size_t len = 1024 * 1024;
    g_autofree char *text = g_malloc(len);
    const struct json_value *value;

    memset(text, 'x', len);
    text[0] = text[len - 1] = '"';
    value = parse_bytes(text, len);
    g_assert_nonnull(value);
    g_assert_cmpint(value->len, ==, len - 2);
    for (size_t i = 1; i + 6 < len; i += 6)
        memcpy(text + i, "\\u20ac", 6);
    value = parse_bytes(text, len);
    g_assert_nonnull(value);
    g_assert_true(utf8_is_valid(value->text, value->len));
}

/* Random changes to a valid line: any result is accepted, but no crash. */
static void test_random_damage(void)
{
    static const char whole[] =
        "{\"type\":\"exec\",\"id\":42,\"env\":{\"K\":\"\\ud83d\\ude00\"},"
        "\"command\":\"a\\\\b \xe2\x82\xac\",\"x\":[true,null,-1.5e3]}";
    char text[sizeof(whole)];

    for (int round = 0; round < 200000; round++) {
        memcpy(text, whole, sizeof(whole));
        for (int i = g_test_rand_int_range(1, 5); i > 0; i--) {
            size_t at = (size_t)g_test_rand_int_range(0, sizeof(whole) - 1);

            text[at] = (char)g_test_rand_int_range(0, 256);
        }
        parse_bytes(text, sizeof(whole) - 1);
    }
}

static void test_writer(void)
{
    static const char want[] =
        "{\"t\":\"a\\\"b\\\\c\\n\\t\\u0001\x7f\xe2\x82\xac\",\"n\":-5,"
        "\"min\":-9223372036854775808,\"b\":\"AP+A\"}";
    char buf[sizeof(want)];
    struct json_writer writer;

    /* Every size that is too small is detected; the right one is not refused.
     */
    for (size_t size = 0; size < sizeof(buf); size++) {
        json_writer_begin(&writer, buf, size);
        json_writer_add_string(&writer, "t", "a\"b\\c\n\t\x01\x7f\xe2\x82\xac");
        json_writer_add_integer(&writer, "n", -5);
        json_writer_add_integer(&writer, "min", INT64_MIN);
        json_writer_add_base64(&writer, "b", "\x00\xff\x80", 3);
        g_assert_cmpint(json_writer_end(&writer), ==, size == strlen(want));
    }
    g_assert_cmpmem(writer.buf, writer.len, want, strlen(want));
}

static void test_base64(void)
{
    char buf[300];

    for (size_t len = 0; len < 100; len++) {
        guint8 data[100];
        g_autofree char *encoded = NULL, *want = NULL;
        const struct json_value *object, *value;
        struct json_writer writer;

        for (size_t i = 0; i < len; i++)
            data[i] = (guint8)g_test_rand_int_range(0, 256);
        json_writer_begin(&writer, buf, sizeof(buf));
        json_writer_add_base64(&writer, "d", data, len);
        g_assert_true(json_writer_end(&writer));
        encoded = g_base64_encode(data, len);
        want = g_strdup_printf("{\"d\":\"%s\"}", encoded);
        g_assert_cmpmem(buf, writer.len, want, strlen(want));
        object = json_reader_parse(&reader, buf, writer.len);
        value = json_reader_member(object, "d");
        g_assert_true(json_reader_decode_base64(&reader, value));
        g_assert_cmpmem(value->text, value->len, data, len);
        g_assert_cmpint(value->text[len], ==, '\0');
    }
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
        g_assert_cmpint(utf8_is_valid(text, len), ==,
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
        g_assert_true(utf8_is_valid(text, len - tail));
        g_assert_true(
            utf8_is_valid(text + len - tail, strlen(text) - len + tail));
    }
    g_assert_cmpint(utf8_cut_tail("\x80\x80\x80", 3), ==, 0);
    g_assert_cmpint(utf8_cut_tail("\xff", 1), ==, 0);
    g_assert_cmpint(utf8_cut_tail("\xe0\x80", 2), ==, 0);
    g_assert_cmpint(utf8_cut_tail("\xe2\x82", 2), ==, 2);
    g_assert_cmpint(utf8_cut_tail("", 0), ==, 0);
}

int main(int argc, char **argv)
{
    int result;

    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/shim-json/values", test_values);
    g_test_add_func("/shim-json/wrong-types", test_wrong_types);
    g_test_add_func("/shim-json/integers", test_integers);
    g_test_add_func("/shim-json/escapes", test_escapes);
    g_test_add_func("/shim-json/malformed", test_malformed);
    g_test_add_func("/shim-json/truncated", test_truncated);
    g_test_add_func("/shim-json/limits", test_limits);
    g_test_add_func("/shim-json/long-string", test_long_string);
    g_test_add_func("/shim-json/random-damage", test_random_damage);
    g_test_add_func("/shim-json/writer", test_writer);
    g_test_add_func("/shim-json/base64", test_base64);
    g_test_add_func("/shim-json/utf8", test_utf8);
    g_test_add_func("/shim-json/cut-tail", test_cut_tail);
    result = g_test_run();
    g_free(line);
    return result;
}
