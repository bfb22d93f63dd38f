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

/* Return whether to print colours. With "auto": on a terminal, unless NO_COLOR
 * is set (no-color.org) or the terminal is dumb. */
bool cli_color_is_used(enum cli_color color, bool terminal);

/* Return whether TERM names a terminal that only prints text. */
bool cli_text_is_dumb(void);

/* Print a patch on stdout. safe: escape unprintable characters as less(1) does,
 * so that no file content can control the terminal; otherwise it is printed
 * byte for byte. */
void cli_text_print_patch(const char *text, gsize len, bool colored, bool safe);

#endif
