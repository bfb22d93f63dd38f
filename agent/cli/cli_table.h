/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_table - a list in columns.
 *
 * On a terminal the table has a header, colour, and the width of the terminal:
 * columns that may shrink are shortened, the last one first. Elsewhere it has
 * lines for programs: all of the text, and no header. Cells are printed as by
 * cli_options_printable(): a row is one line, but see TABLE_WRAP.
 */
#ifndef AGENT_CLI_CLI_TABLE_H
#define AGENT_CLI_CLI_TABLE_H

#include "agent/cli/cli_output.h"

enum cli_table_column_kind {
    TABLE_LEFT,
    TABLE_RIGHT,  /* numbers */
    TABLE_END,    /* as TABLE_LEFT; may shrink: its end is cut */
    TABLE_MIDDLE, /* the same; its middle is cut, as of paths */
    TABLE_WRAP,   /* of one column: may shrink, and goes on in further lines
                     below its cell; nothing is cut */
};

struct cli_table_column {
    const char *title;
    enum cli_table_column_kind kind;
};

enum { CLI_TABLE_MAX = 12 }; /* columns */

struct cli_table;

/* output and columns are borrowed; a column without a title ends them. */
struct cli_table *cli_table_new(const struct cli_output *output,
                                const struct cli_table_column *columns);
void cli_table_free(struct cli_table *table);
typedef struct cli_table cli_table;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(cli_table, cli_table_free)

/* Add a row: a string (taken) for each column. */
void cli_table_add(struct cli_table *table, ...);

/* Give a cell of the row that was added last a colour. */
void cli_table_paint(struct cli_table *table, unsigned column,
                     enum cli_paint paint);

/* Print the table on stdout. Returns the number of lines. */
unsigned cli_table_print(const struct cli_table *table);

/* Return how long ago a time in ISO 8601 is: "40 s", "3 minutes", "2 hours";
 * "-" for NULL. A new string. */
char *cli_table_age(const char *time);

#endif
