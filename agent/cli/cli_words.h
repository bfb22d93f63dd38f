/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_words - check a command's options before GOption parses them, for errors
 * that name the remedy.
 */
#ifndef AGENT_CLI_CLI_WORDS_H
#define AGENT_CLI_CLI_WORDS_H

#include <glib.h>
#include <stdbool.h>

/* Refuse unknown options, missing values, numbers that are none, and values of
 * options that take none; and a second -C, --undo-dir, --step or --to, of which
 * GOption would keep the last. A short option with its value in one word, as in
 * "-p8080:80", is replaced by the long one, as GOption does not know this form.
 * command: for the remedy. */
gboolean cli_words_check(const char *command, const GOptionEntry *entries,
                         bool strict, int argc, char **argv, GError **error);

#endif
