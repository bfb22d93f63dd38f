/* SPDX-License-Identifier: Apache-2.0
 *
 * template_thin_tests - see template_thin_tests.h. A small stream is put
 * together as QEMU 7.2 writes it.
 */
#include "tests/agent/template_thin_tests.h"

#include <glib.h>
#include <stdbool.h>
#include <string.h>

#include "agent/vm/template_thin.h"

enum {
    START = 1,
    PART = 2,
    END = 3,
    ZERO = 0x02,
    SIZES = 0x04,
    DATA = 0x08,
    LAST = 0x10,
    SAME = 0x20,
    PAGE = 4096,
    RAM = 2,
};

static void add_number(GByteArray *stream, guint64 value, guint length)
{
    guint64 big = GUINT64_TO_BE(value);

    g_byte_array_append(stream, (guint8 *)&big + 8 - length, length);
}

static void add_name(GByteArray *stream, const char *name)
{
    add_number(stream, strlen(name), 1);
    g_byte_array_append(stream, (const guint8 *)name, (guint)strlen(name));
}

static void begin(GByteArray *stream, int type)
{
    add_number(stream, (guint64)type, 1);
    add_number(stream, RAM, 4);
    if (type != START)
        return;
    add_name(stream, "ram");
    add_number(stream, 0, 4);
    add_number(stream, 4, 4);
    add_number(stream, 8 * PAGE | SIZES, 8);
    add_name(stream, "mem");
    add_number(stream, (guint64)7 * PAGE, 8);
    add_name(stream, "pc.bios");
    add_number(stream, PAGE, 8);
}

static void end(GByteArray *stream)
{
    add_number(stream, LAST, 8);
    add_number(stream, 0x7e, 1);
    add_number(stream, RAM, 4);
}

/* name: of the block; NULL: the same as before. fill: -1: a record of zeros */
static void add_page(GByteArray *stream, const char *name, guint page, int fill)
{
    guint8 data[PAGE];

    add_number(stream,
               (guint64)page * PAGE | (guint64)(fill < 0 ? ZERO : DATA) |
                   (name ? 0 : SAME),
               8);
    if (name)
        add_name(stream, name);
    memset(data, MAX(fill, 0), sizeof(data));
    g_byte_array_append(stream, data, fill < 0 ? 1 : PAGE);
}

static void add_head(GByteArray *stream)
{
    add_number(stream, 0x5145564d, 4);
    add_number(stream, 3, 4);
    add_number(stream, 7, 1);
    add_number(stream, 6, 4);
    g_byte_array_append(stream, (const guint8 *)"pc-q35", 6);
}

/* thin: without the records that are left out, and with the names where they
 * then belong. */
static GByteArray *make(bool thin)
{
    GByteArray *stream = g_byte_array_new();

    add_head(stream);
    begin(stream, START);
    end(stream);
    begin(stream, PART);
    if (!thin)
        add_page(stream, "mem", 0, -1);
    add_page(stream, thin ? "mem" : NULL, 1, 7);
    if (!thin)
        add_page(stream, NULL, 2, -1);
    add_page(stream, NULL, 3, 0); /* QEMU did not see that it is empty */
    end(stream);
    begin(stream, PART);
    add_page(stream, "pc.bios", 0, -1); /* QEMU has loaded something there */
    if (!thin)
        add_page(stream, "mem", 4, -1);
    end(stream);
    begin(stream, END);
    add_page(stream, thin ? "mem" : NULL, 5, 9);
    end(stream);
    g_byte_array_append(stream, (const guint8 *)"\4 devices \2\0\0", 13);
    return stream;
}

static void test_thin(void)
{
    g_autoptr(GByteArray) stream = make(false), wanted = make(true);
    size_t size = template_thin(stream->data, stream->len);

    g_assert_cmpmem(stream->data, size, wanted->data, wanted->len);
    /* There is nothing left to do. */
    g_assert_cmpuint(template_thin(stream->data, size), ==, size);
    g_assert_cmpmem(stream->data, size, wanted->data, wanted->len);
}

static void assert_kept(const GByteArray *stream, size_t size)
{
    g_autofree guint8 *copy = g_memdup2(stream->data, size);

    g_assert_cmpuint(template_thin(copy, size), ==, size);
    g_assert_cmpmem(copy, size, stream->data, size);
}

static void test_cut(void)
{
    g_autoptr(GByteArray) stream = make(false);
    size_t devices = stream->len - 13;

    for (size_t size = 1; size < devices; size += size % PAGE < 128 ? 1 : 61)
        assert_kept(stream, size);
}

/* A change anywhere: at worst another record is left out, never one too many.
 */
static void test_strange(void)
{
    g_autoptr(GByteArray) stream = make(false);

    for (size_t at = 0; at < stream->len; at += at % PAGE < 512 ? 1 : 997) {
        g_autofree guint8 *copy = g_memdup2(stream->data, stream->len);

        copy[at] ^= 0x81;
        g_assert_cmpuint(template_thin(copy, stream->len), <=, stream->len);
    }
    stream->data[3] ^= 1;
    assert_kept(stream, stream->len);
}

static void test_other_sections(void)
{
    g_autoptr(GByteArray) stream = g_byte_array_new();

    add_head(stream);
    begin(stream, START);
    end(stream);
    add_number(stream, START, 1);
    add_number(stream, 3, 4);
    add_name(stream, "block");
    add_page(stream, "mem", 0, -1);
    assert_kept(stream, stream->len);
}

void add_template_thin_tests(void)
{
    g_test_add_func("/template-thin/empty pages of the guest's memory are left "
                    "out",
                    test_thin);
    g_test_add_func("/template-thin/a stream that was cut stays as it is",
                    test_cut);
    g_test_add_func("/template-thin/a changed byte leads nowhere else",
                    test_strange);
    g_test_add_func("/template-thin/a stream with other data before the end of "
                    "the memory stays as it is",
                    test_other_sections);
}
