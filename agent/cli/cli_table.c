/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_table - see cli_table.h.
 */
#include "agent/cli/cli_table.h"

#include <stdarg.h>
#include <stdio.h>

#include "agent/cli/cli_fit.h"
#include "agent/cli/cli_options.h"

enum { GAP = 2, MIN_SHRUNK = 8, WRAP_INDENT = 4, NO_PAINT = -1 };

struct row {
    char *cells[CLI_TABLE_MAX];
    int paints[CLI_TABLE_MAX]; /* enum cli_paint or NO_PAINT */
};

struct cli_table {
    const struct cli_output *output;
    const struct cli_table_column *columns;
    unsigned count;  /* of the columns */
    GPtrArray *rows; /* of struct row */
};

static void row_free(gpointer data)
{
    struct row *row = data;

    for (unsigned i = 0; i < CLI_TABLE_MAX; i++)
        g_free(row->cells[i]);
    g_free(row);
}

struct cli_table *cli_table_new(const struct cli_output *output,
                                const struct cli_table_column *columns)
{
    struct cli_table *table = g_new0(struct cli_table, 1);

    table->output = output;
    table->columns = columns;
    while (table->count < CLI_TABLE_MAX && columns[table->count].title)
        table->count++;
    table->rows = g_ptr_array_new_with_free_func(row_free);
    return table;
}

void cli_table_free(struct cli_table *table)
{
    g_ptr_array_unref(table->rows);
    g_free(table);
}

void cli_table_add(struct cli_table *table, ...)
{
    struct row *row = g_new0(struct row, 1);
    va_list cells;

    va_start(cells, table);
    for (unsigned i = 0; i < table->count; i++) {
        g_autofree char *text = va_arg(cells, char *);

        row->cells[i] = cli_options_printable(text);
        row->paints[i] = NO_PAINT;
    }
    va_end(cells);
    g_ptr_array_add(table->rows, row);
}

void cli_table_paint(struct cli_table *table, unsigned column,
                     enum cli_paint paint)
{
    struct row *row = g_ptr_array_index(table->rows, table->rows->len - 1);

    row->paints[column] = (int)paint;
}

/* ---- widths -------------------------------------------------------------- */

static void find_widths(const struct cli_table *table, unsigned *widths)
{
    for (unsigned i = 0; i < table->count; i++) {
        widths[i] = table->output->terminal
                        ? cli_fit_columns(table->columns[i].title)
                        : 0;
        for (guint j = 0; j < table->rows->len; j++) {
            const struct row *row = g_ptr_array_index(table->rows, j);

            widths[i] = MAX(widths[i], cli_fit_columns(row->cells[i]));
        }
    }
}

static bool may_shrink(const struct cli_table *table, unsigned column)
{
    return table->columns[column].kind != TABLE_LEFT &&
           table->columns[column].kind != TABLE_RIGHT;
}

static void fit_widths(const struct cli_table *table, unsigned *widths)
{
    unsigned total = 0;

    if (table->output->width == 0)
        return;
    for (unsigned i = 0; i < table->count; i++)
        total += widths[i] + (i ? GAP : 0);
    for (unsigned i = table->count; i-- > 0 && total > table->output->width;) {
        unsigned excess = total - table->output->width;

        if (!may_shrink(table, i) || widths[i] <= MIN_SHRUNK)
            continue;
        excess = MIN(excess, widths[i] - MIN_SHRUNK);
        widths[i] -= excess;
        total -= excess;
    }
}

/* ---- printing ------------------------------------------------------------ */

/* Return text in exactly this width; the last column of a line has no spaces
 * at its end: a new string. */
static char *fit_cell(const struct cli_table *table, unsigned column,
                      const char *text, unsigned width)
{
    enum cli_table_column_kind kind = table->columns[column].kind;
    g_autofree char *cut = kind == TABLE_MIDDLE ? cli_fit_middle(text, width)
                           : kind == TABLE_END  ? cli_fit_end(text, width)
                                                : g_strdup(text);
    unsigned columns = cli_fit_columns(cut);

    if (kind == TABLE_RIGHT)
        return g_strdup_printf("%*s%s", (int)(width - MIN(width, columns)), "",
                               cut);
    return column + 1 == table->count ? g_steal_pointer(&cut)
                                      : cli_fit_pad(cut, width);
}

static void print_cell(const struct cli_table *table, const char *text,
                       int paint)
{
    g_autofree char *painted = paint == NO_PAINT
                                   ? NULL
                                   : cli_output_paint(table->output,
                                                      (enum cli_paint)paint,
                                                      text);

    fputs(painted ? painted : text, stdout);
}

/* A line that is too long all the same is cut. */
static void print_line(const struct cli_table *table, const unsigned *widths,
                       const struct row *row)
{
    unsigned left = table->output->width ? table->output->width : G_MAXUINT;

    for (unsigned i = 0; i < table->count; i++) {
        g_autofree char *cell = fit_cell(table, i, row->cells[i], widths[i]);
        g_autofree char *cut = NULL;

        if (i > 0 && left <= GAP)
            break;
        left -= i > 0 ? GAP : 0;
        cut = cli_fit_end(cell, left);
        left -= cli_fit_columns(cut);
        fputs(i > 0 ? "  " : "", stdout);
        print_cell(table, cut, row->paints[i]);
    }
    putchar('\n');
}

/* Return the column of TABLE_WRAP, or the number of columns. */
static unsigned find_wrapped(const struct cli_table *table,
                             const unsigned *widths, unsigned *ret_start)
{
    unsigned i = 0;

    *ret_start = 0;
    while (i < table->count && table->columns[i].kind != TABLE_WRAP)
        *ret_start += widths[i++] + GAP;
    return i;
}

static void print_row(const struct cli_table *table, const unsigned *widths,
                      const struct row *row)
{
    unsigned width = table->output->width, start;
    unsigned column = find_wrapped(table, widths, &start);
    g_autofree char *text = NULL;
    g_auto(GStrv) lines = NULL;
    struct row first = *row;
    char **rest;
    bool fits = start + MIN_SHRUNK <= width;

    if (width == 0 || column == table->count) {
        print_line(table, widths, row);
        return;
    }
    start = fits ? start : WRAP_INDENT;
    text = cli_fit_wrap(row->cells[column],
                        fits ? widths[column]
                             : MAX(width, WRAP_INDENT + MIN_SHRUNK) -
                                   WRAP_INDENT,
                        "");
    lines = g_strsplit(text, "\n", -1);
    rest = fits && *lines ? lines + 1 : lines;
    first.cells[column] = fits && *lines ? *lines : (char *)"";
    print_line(table, widths, &first);
    for (; *rest; rest++)
        printf("%*s%s\n", (int)start, "", *rest);
}

static void print_header(const struct cli_table *table, const unsigned *widths)
{
    struct row row = { 0 };

    for (unsigned i = 0; i < table->count; i++) {
        row.cells[i] = (char *)table->columns[i].title; /* only read */
        row.paints[i] = PAINT_HEAD;
    }
    print_row(table, widths, &row);
}

unsigned cli_table_print(const struct cli_table *table)
{
    unsigned widths[CLI_TABLE_MAX];

    find_widths(table, widths);
    fit_widths(table, widths);
    if (table->output->terminal)
        print_header(table, widths);
    for (guint i = 0; i < table->rows->len; i++)
        print_row(table, widths, g_ptr_array_index(table->rows, i));
    return table->rows->len + table->output->terminal;
}

char *cli_table_age(const char *time)
{
    static const struct {
        gint64 seconds;
        const char *unit;
    } units[] = { { 2 * 86400, "days" },
                  { 2 * 3600, "hours" },
                  { 120, "minutes" } };
    static const gint64 lengths[] = { 86400, 3600, 60 };
    g_autoptr(GDateTime) then = time ? g_date_time_new_from_iso8601(time, NULL)
                                     : NULL;
    g_autoptr(GDateTime) now = g_date_time_new_now_utc();
    gint64 seconds;

    if (!then)
        return g_strdup("-");
    seconds = MAX(g_date_time_difference(now, then) / G_USEC_PER_SEC, 0);
    for (size_t i = 0; i < G_N_ELEMENTS(units); i++) {
        if (seconds >= units[i].seconds)
            return g_strdup_printf("%" G_GINT64_FORMAT " %s",
                                   seconds / lengths[i], units[i].unit);
    }
    return g_strdup_printf("%" G_GINT64_FORMAT " s", seconds);
}
