/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_text - write file content to a terminal safely.
 */
#ifndef AGENT_BASE_CLI_TEXT_H
#define AGENT_BASE_CLI_TEXT_H

#include <glib.h>
#include <stdbool.h>

enum cli_color { CLI_COLOR_AUTO, CLI_COLOR_ALWAYS, CLI_COLOR_NEVER };

/* Parse "auto", "always" or "never"; return false for anything else. */
bool cli_color_parse(const char *name, enum cli_color *ret_color);

/* Print a patch on stdout. Off a terminal it is printed byte for byte. On a
 * terminal, unprintable characters are escaped as less(1) does, so that no file
 * content can control the terminal, and lines are coloured unless NO_COLOR is
 * set (no-color.org). */
void cli_text_print_patch(const char *text, gsize len, enum cli_color color);

#endif
