/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_fit - see cli_fit.h.
 */
#include "agent/cli/cli_fit.h"

#include <glib.h>
#include <string.h>

#define DOTS "..."

enum { DOTS_COLUMNS = sizeof(DOTS) - 1 };

static unsigned columns_of(gunichar c)
{
    if (g_unichar_iszerowidth(c))
        return 0;
    return g_unichar_iswide(c) ? 2 : 1;
}

unsigned cli_fit_columns(const char *text)
{
    unsigned columns = 0;

    for (; *text; text = g_utf8_next_char(text))
        columns += columns_of(g_utf8_get_char(text));
    return columns;
}

/* Return the end of the longest prefix of at most width columns. */
static const char *prefix_end(const char *text, unsigned width)
{
    unsigned columns = 0;

    for (; *text; text = g_utf8_next_char(text)) {
        columns += columns_of(g_utf8_get_char(text));
        if (columns > width)
            break;
    }
    return text;
}

/* Return the start of the longest suffix of at most width columns. A combining
 * mark does not begin it. */
static const char *suffix_start(const char *text, unsigned width)
{
    unsigned columns = cli_fit_columns(text);

    while (*text &&
           (columns > width || g_unichar_iszerowidth(g_utf8_get_char(text)))) {
        columns -= columns_of(g_utf8_get_char(text));
        text = g_utf8_next_char(text);
    }
    return text;
}

static char *fit(const char *text, unsigned width, unsigned tail)
{
    const char *end;

    if (width == 0 || cli_fit_columns(text) <= width)
        return g_strdup(text);
    if (width <= DOTS_COLUMNS)
        return g_strndup(DOTS, width);
    end = prefix_end(text, width - DOTS_COLUMNS - tail);
    return g_strdup_printf("%.*s" DOTS "%s", (int)(end - text), text,
                           suffix_start(text, tail));
}

char *cli_fit_middle(const char *text, unsigned width)
{
    return fit(text, width,
               width > DOTS_COLUMNS ? (width - DOTS_COLUMNS) / 2 : 0);
}

char *cli_fit_end(const char *text, unsigned width)
{
    return fit(text, width, 0);
}

char *cli_fit_wrap(const char *text, unsigned width, const char *mark)
{
    GString *lines = g_string_new(NULL);
    unsigned left = width;

    for (;;) {
        const char *end = prefix_end(text, left);

        g_string_append_len(lines, text, end - text);
        if (!*end)
            return g_string_free(lines, FALSE);
        g_string_append_printf(lines, "\n%s", mark);
        left = width - cli_fit_columns(mark);
        text = end;
    }
}

char *cli_fit_pad(const char *text, unsigned width)
{
    unsigned columns = cli_fit_columns(text);

    return g_strdup_printf("%s%*s", text,
                           (int)(width > columns ? width - columns : 0), "");
}
