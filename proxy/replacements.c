/* SPDX-License-Identifier: Apache-2.0
 *
 * replacements - see replacements.h.
 */
#include "proxy/replacements.h"

#include <stdint.h>
#include <string.h>

#include "common/wiped.h"

/* A run with more occurrences is replaced as a whole. */
enum { PASSES_MAX = 16 };

void replacements_wipe_bytes(GByteArray *bytes)
{
    explicit_bzero(bytes->data, bytes->len);
    g_byte_array_free(bytes, TRUE);
}

/* ---- plain text ---------------------------------------------------------- */

/* Return the position of the first occurrence from start on; len: none. */
static size_t find(const struct replacement *item, const char *text, size_t len,
                   size_t start)
{
    const char *found = memmem(text + start, len - start, item->from,
                               item->from_len);

    return found ? (size_t)(found - text) : len;
}

/* Return the item whose position is the least, or NULL if there is none. */
static const struct replacement *
find_next(const struct replacements *replacements, const char *text, size_t len,
          size_t start, size_t next[], size_t *ret_at)
{
    const struct replacement *first = NULL;

    *ret_at = len;
    for (unsigned i = 0; i < replacements->count; i++) {
        const struct replacement *item = &replacements->list[i];

        if (next[i] < start)
            next[i] = find(item, text, len, start);
        if (next[i] < *ret_at) {
            *ret_at = next[i];
            first = item;
        }
    }
    return first;
}

bool replacements_apply(const struct replacements *replacements,
                        const char *text, size_t len, GString *out)
{
    const struct replacement *item;
    size_t next[REPLACEMENTS_MAX], start = 0, at;
    bool changed = false;

    for (unsigned i = 0; i < replacements->count; i++)
        next[i] = find(&replacements->list[i], text, len, 0);
    while ((item = find_next(replacements, text, len, start, next, &at))) {
        changed = true;
        wiped_append(out, text + start, at - start);
        wiped_append(out, item->to, item->to_len);
        start = at + item->from_len;
    }
    if (changed)
        wiped_append(out, text + start, len - start);
    return changed;
}

/* ---- Base64 -------------------------------------------------------------- */

/* Return the six bits of a character, or -1. */
static int bits_of(char byte)
{
    if (byte >= 'A' && byte <= 'Z')
        return byte - 'A';
    if (byte >= 'a' && byte <= 'z')
        return byte - 'a' + 26;
    if (byte >= '0' && byte <= '9')
        return byte - '0' + 52;
    if (byte == '+' || byte == '-')
        return 62;
    return byte == '/' || byte == '_' ? 63 : -1;
}

/* Decode len characters of Base64. A last one that has no whole byte is
 * dropped. */
static GByteArray *decode(const char *text, size_t len)
{
    GByteArray *bytes = g_byte_array_sized_new((guint)(len / 4 * 3 + 3));
    uint32_t bits = 0;

    for (size_t i = 0; i < len; i++) {
        bits = bits << 6 | (uint32_t)bits_of(text[i]);
        if (i % 4 > 0) {
            guint8 byte = (guint8)(bits >> (6 - i % 4 * 2));

            g_byte_array_append(bytes, &byte, 1);
        }
    }
    return bytes;
}

GByteArray *replacements_decode(const char *text, size_t len)
{
    while (len > 0 && text[len - 1] == '=')
        len--;
    for (size_t i = 0; i < len; i++) {
        if (bits_of(text[i]) < 0)
            return NULL;
    }
    return decode(text, len);
}

/* Append bytes as Base64, in the alphabet that like uses. */
static void encode(const GString *bytes, const char *like, size_t len,
                   bool padded, GString *out)
{
    g_autofree char *text = g_base64_encode((const guchar *)bytes->str,
                                            bytes->len);
    bool url = memchr(like, '-', len) || memchr(like, '_', len);
    size_t length = strlen(text);

    if (url)
        g_strdelimit(g_strdelimit(text, "+", '-'), "/", '_');
    if (url && !padded)
        length = strcspn(text, "=");
    wiped_append(out, text, length);
    explicit_bzero(text, strlen(text));
}

/* Replace in a run from one of its first four characters on. If there is
 * something, set out to the whole run. */
static bool replace_from(const struct replacements *replacements,
                         const char *run, size_t len, size_t offset,
                         bool padded, GString *out)
{
    GByteArray *bytes = decode(run + offset, len - offset);
    size_t next[REPLACEMENTS_MAX], at, quad;
    bool found;

    for (unsigned i = 0; i < replacements->count; i++)
        next[i] = find(&replacements->list[i], (char *)bytes->data, bytes->len,
                       0);
    found = find_next(replacements, (char *)bytes->data, bytes->len, 0, next,
                      &at);
    if (found) {
        GString *tail = g_string_new(NULL);

        quad = at / 3;
        replacements_apply(replacements, (char *)bytes->data + quad * 3,
                           bytes->len - quad * 3, tail);
        g_string_truncate(out, 0);
        wiped_append(out, run, offset + quad * 4);
        encode(tail, run + offset + quad * 4, len - offset - quad * 4, padded,
               out);
        wiped_free(tail);
    }
    replacements_wipe_bytes(bytes);
    return found;
}

/* Replace in a run at any position, once. */
static bool replace_once(const struct replacements *replacements,
                         const char *run, size_t len, bool padded, GString *out)
{
    for (size_t offset = 0; offset < 4 && offset < len; offset++) {
        if (replace_from(replacements, run, len, offset, padded, out))
            return true;
    }
    return false;
}

static size_t run_length(const char *text, size_t len)
{
    size_t length = 0;

    while (length < len && bits_of(text[length]) >= 0)
        length++;
    return length;
}

/* Return a run with all replacements, or NULL if there are none. The new run is
 * searched again: its rest may have another text at another position. */
static GString *replace_run(const struct replacements *replacements,
                            const char *run, size_t len, bool padded)
{
    GString *now = g_string_new_len(run, (gssize)len);
    GString *next = g_string_new(NULL);
    unsigned passes = 0;

    while (passes <= PASSES_MAX &&
           replace_once(replacements, now->str, run_length(now->str, now->len),
                        padded, next)) {
        GString *last = now;

        now = next;
        next = last;
        passes++;
    }
    if (passes > PASSES_MAX) {
        const struct replacement *item = &replacements->list[0];

        g_string_truncate(now, 0);
        wiped_append(now, item->to, item->to_len);
    }
    wiped_free(next);
    if (passes > 0)
        return now;
    wiped_free(now);
    return NULL;
}

/* Return the least length of a run that can have one of the texts. */
static size_t least_run(const struct replacements *replacements)
{
    size_t least = SIZE_MAX / 4;

    for (unsigned i = 0; i < replacements->count; i++)
        least = MIN(least, replacements->list[i].from_len);
    return least * 4 / 3;
}

bool replacements_apply_percent(const struct replacements *replacements,
                                const char *text, size_t len, GString *out)
{
    GString *plain;
    bool changed;

    if (!memchr(text, '%', len))
        return false;
    plain = g_string_sized_new(len);
    for (size_t i = 0; i < len; i++) {
        int high = i + 2 < len ? g_ascii_xdigit_value(text[i + 1]) : -1;
        int low = i + 2 < len ? g_ascii_xdigit_value(text[i + 2]) : -1;
        char byte = (char)(high * 16 + low);

        /* No control character: it would end the field. */
        if (text[i] == '%' && high >= 0 && low >= 0 && !g_ascii_iscntrl(byte)) {
            g_string_append_c(plain, byte);
            i += 2;
        } else {
            g_string_append_c(plain, text[i]);
        }
    }
    changed = replacements_apply(replacements, plain->str, plain->len, out);
    wiped_free(plain);
    return changed;
}

bool replacements_apply_base64(const struct replacements *replacements,
                               const char *text, size_t len, GString *out)
{
    size_t least = least_run(replacements), copied = 0, at = 0;

    while (at < len) {
        size_t run = run_length(text + at, len - at), end = at + run;
        GString *changed = NULL;

        while (run > 0 && end < len && text[end] == '=')
            end++;
        if (run >= least)
            changed = replace_run(replacements, text + at, run, end > at + run);
        if (changed) {
            wiped_append(out, text + copied, at - copied);
            wiped_append(out, changed->str, changed->len);
            wiped_free(changed);
            copied = end;
        }
        at = MAX(end, at + 1);
    }
    if (copied > 0)
        wiped_append(out, text + copied, len - copied);
    return copied > 0;
}
