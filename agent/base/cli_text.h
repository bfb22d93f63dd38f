/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_text - text of a client's, for a terminal.
 */
#ifndef AGENT_BASE_CLI_TEXT_H
#define AGENT_BASE_CLI_TEXT_H

#include <glib.h>
#include <stdbool.h>

enum cli_color { CLI_COLOR_AUTO, CLI_COLOR_ALWAYS, CLI_COLOR_NEVER };

/* "auto", "always", "never"; false for anything else. */
bool cli_color_parse(const char *name, enum cli_color *ret_color);

/* Print a patch on stdout, byte for byte. On a terminal what is not printable
 * is shown as less(1) shows it, so that no file can do anything to the
 * terminal, and the lines have colours, unless NO_COLOR is set (no-color.org).
 */
void cli_text_print_patch(const char *text, gsize len, enum cli_color color);

#endif
