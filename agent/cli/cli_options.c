/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_options - see cli_options.h.
 */
#include "agent/cli/cli_options.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/cli/cli.h"
#include "agent/cli/cli_progress.h"
#include "agent/cli/cli_words.h"

/* An empty name would mean the current folder. Return false after printing the
 * error. */
static bool check_names(const char *command, const GOptionEntry *entries)
{
    for (; entries->long_name; entries++) {
        char *const *name = entries->arg_data;

        if (entries->arg != G_OPTION_ARG_FILENAME || !*name || **name)
            continue;
        cli_options_wrong("%s: --%s: the name is empty; give a path", command,
                          entries->long_name);
        return false;
    }
    return true;
}

static bool has_negative_number(char **argv)
{
    for (char **arg = argv + 1; *arg && strcmp(*arg, "--") != 0; arg++) {
        if ((*arg)[0] == '-' && g_ascii_isdigit((*arg)[1]))
            return true;
    }
    return false;
}

/* Return a hint for naming an ambient step, whose number looks like an option,
 * or "" if the command line has no such number. A command that takes paths
 * after "--" does not take such a number. */
static const char *hint_number(const char *summary, char **argv)
{
    if (!has_negative_number(argv))
        return "";
    if (strstr(summary, "-- PATH"))
        return "; name a step below 0 with --step, as in --step=-1";
    return strstr(summary, "[STEP]") ? "; write -- before a number below 0"
                                     : "";
}

bool cli_options_parse_with(const char *summary, const char *details,
                            const GOptionEntry *entries, bool strict, int *argc,
                            char ***argv)
{
    const char *command = (*argv)[0];
    g_autofree char *program = g_strdup_printf(CLI_PROGRAM " %s", command);
    GOptionContext *context = g_option_context_new(summary);
    g_autoptr(GError) error = NULL;
    const char *hint = hint_number(summary, *argv);
    gboolean ok;

    /* GOption takes the program name of the usage line from prgname. */
    g_set_prgname(program);
    g_option_context_set_description(context, details);
    g_option_context_add_main_entries(context, entries, NULL);
    g_option_context_set_strict_posix(context, strict);
    ok = cli_words_check(command, entries, strict, *argc, *argv, &error) &&
         g_option_context_parse(context, argc, argv, &error);
    g_option_context_free(context);
    if (!ok) {
        cli_options_wrong("%s: %s%s", command, error->message, hint);
        return false;
    }
    if (!check_names(command, entries))
        return false;
    if (*argc > 1 && strcmp((*argv)[1], "--") == 0) {
        memmove(&(*argv)[1], &(*argv)[2], (size_t)(*argc - 1) * sizeof(char *));
        (*argc)--;
    }
    return true;
}

bool cli_options_parse(const char *summary, const GOptionEntry *entries,
                       bool strict, int *argc, char ***argv)
{
    return cli_options_parse_with(summary, NULL, entries, strict, argc, argv);
}

/* A line break becomes LINE_BREAK. */
static char *printable(const char *text, const char *line_break)
{
    g_autofree char *valid = g_utf8_make_valid(text, -1);
    GString *shown = g_string_new(NULL);

    for (const char *p = valid; *p; p = g_utf8_next_char(p)) {
        gunichar c = g_utf8_get_char(p);

        if (c == '\n')
            g_string_append(shown, line_break);
        else
            g_string_append_unichar(shown, c == '\t'              ? ' '
                                           : g_unichar_isprint(c) ? c
                                                                  : '?');
    }
    return g_string_free(shown, FALSE);
}

char *cli_options_printable(const char *text)
{
    return printable(text, " ");
}

G_GNUC_PRINTF(1, 0)
static void print(const char *format, va_list args)
{
    g_autofree char *text = g_strdup_vprintf(format, args);
    /* A name in the text, which a guest may have made, cannot begin a line as
     * this program does. */
    g_autofree char *shown = printable(text, "\n  ");

    cli_progress_hide();
    fflush(stdout); /* keep stdout and stderr in order */
    fprintf(stderr, CLI_PROGRAM ": %s\n", shown);
}

int cli_options_wrong(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    print(format, args);
    va_end(args);
    return CLI_USAGE;
}

int cli_options_surplus(const char *command, const char *argument)
{
    return cli_options_wrong("%s: '%s' is one argument too many", command,
                             argument);
}

void cli_options_note_terminal(const char *protocol)
{
    if (isatty(STDIN_FILENO) && isatty(STDERR_FILENO))
        fprintf(stderr,
                "waiting for %s from the program that starts this command; "
                "Ctrl-D ends it, 'man " CLI_PROGRAM "' explains it\n",
                protocol);
}

int cli_options_failed(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    print(format, args);
    va_end(args);
    return CLI_FAILED;
}
