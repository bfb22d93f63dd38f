/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_text - see cli_text.h.
 */
#include "agent/base/cli_text.h"

#include <stdio.h>
#include <string.h>

bool cli_color_parse(const char *name, enum cli_color *ret_color)
{
    static const char *const names[] = {
        [CLI_COLOR_AUTO] = "auto",
        [CLI_COLOR_ALWAYS] = "always",
        [CLI_COLOR_NEVER] = "never",
    };

    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        if (strcmp(name, names[i]) == 0) {
            *ret_color = (enum cli_color)i;
            return true;
        }
    }
    return false;
}

bool cli_text_is_dumb(void)
{
    const char *term = g_getenv("TERM");

    return !term || !*term || strcmp(term, "dumb") == 0;
}

bool cli_color_is_used(enum cli_color color, bool terminal)
{
    const char *off = g_getenv("NO_COLOR");

    if (color != CLI_COLOR_AUTO)
        return color == CLI_COLOR_ALWAYS;
    return terminal && (!off || !*off) && !cli_text_is_dumb();
}

/* In headers and in hunks the first characters mean different things. Known
 * gap: a removed line that begins with "--" is coloured as a header. */
static const char *color_of(const char *line)
{
    if (g_str_has_prefix(line, "@@"))
        return "\033[36m";
    if (g_str_has_prefix(line, "---") || g_str_has_prefix(line, "+++") ||
        !strchr("+- \\", line[0]))
        return "\033[1m";
    return line[0] == '+' ? "\033[32m" : line[0] == '-' ? "\033[31m" : "";
}

/* Return whether a terminal shows this character as itself. Combining marks
 * belong to the preceding letter, and scripts and emoji need joiners.
 * Bidirectional controls could make one line look like another. */
static bool is_plain(gunichar c)
{
    enum { ZERO_WIDTH_NON_JOINER = 0x200c, ZERO_WIDTH_JOINER };

    return c == '\t' || g_unichar_isprint(c) || g_unichar_ismark(c) ||
           c == ZERO_WIDTH_NON_JOINER || c == ZERO_WIDTH_JOINER;
}

/* Escape a line the way less(1) does. Returns a new string. */
static char *printable(const char *line, gsize len)
{
    GString *text = g_string_new(NULL);

    for (const char *end = line + len; line < end;) {
        gunichar c = g_utf8_get_char_validated(line, end - line);
        bool valid = (gint32)c >= 0;

        if (!valid)
            g_string_append_printf(text, "<%02X>", (guchar)*line);
        else if (is_plain(c))
            g_string_append_unichar(text, c);
        else if (c < ' ' || c == 0x7f)
            g_string_append_printf(text, "^%c", (char)(c ^ '@'));
        else
            g_string_append_printf(text, "<U+%04X>", c);
        line = valid ? g_utf8_next_char(line) : line + 1;
    }
    return g_string_free(text, FALSE);
}

void cli_text_print_patch(const char *text, gsize len, bool colored, bool safe)
{
    const char *end = text + len;

    while (text < end) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        gsize line_len = (gsize)((newline ? newline : end) - text);
        g_autofree char *line = safe ? printable(text, line_len)
                                     : g_memdup2(text, line_len);
        gsize line_end = safe ? strlen(line) : line_len;
        const char *start = colored && line_len > 0 ? color_of(text) : "";

        fputs(start, stdout);
        fwrite(line, 1, line_end, stdout);
        fputs(*start ? "\033[m\n" : "\n", stdout);
        text += line_len + 1;
    }
}
