/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_words - see cli_words.h.
 */
#include "agent/cli/cli_words.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/cli/cli.h"
#include "agent/cli/cli_guess.h"
#include "common/option_words.h"

static const char *dashes(const struct option_use *use)
{
    return use->is_long ? "--" : "-";
}

/* Return whether GOption has this option built in. */
static bool is_help(const struct option_use *use)
{
    if (!use->is_long)
        return *use->name == 'h' || *use->name == '?';
    return strcmp(use->name, "help") == 0 || strcmp(use->name, "help-all") == 0;
}

/* Return the long option that the word most likely means, or NULL; also of
 * "-image", which begins with one dash. */
static const char *guess_long(const struct option_use *use,
                              const GOptionEntry *entries, const char *word)
{
    const char *name = word + (use->is_long ? 2 : 1);
    struct cli_guess guess = { .word = name, .len = strcspn(name, "=") };

    if (!use->is_long && guess.len < 3)
        return NULL;
    for (; entries->long_name; entries++) {
        if (!(entries->flags & G_OPTION_FLAG_HIDDEN))
            cli_guess_try(&guess, entries->long_name);
    }
    cli_guess_try(&guess, "help");
    return guess.best;
}

/* Options of similar programs, and what they are called here. */
static const struct {
    const char *command, *name, *remedy;
} foreign_options[] = {
    { "run", "i", "for input and a terminal, use 'stepback up' and 'shell'" },
    { "run", "t", "for a terminal, use 'stepback up' and 'stepback shell'" },
    { "run", "d", "use 'stepback up' and 'stepback exec -d'" },
    { "run", "detach", "use 'stepback up' and 'stepback exec -d'" },
    { "run", "rm", "leave it out: the machine ends with the command" },
    { "cp", "r", "leave it out: a directory is copied with all that is in it" },
    { "cp", "R", "leave it out: a directory is copied with all that is in it" },
    { "cp", "recursive",
      "leave it out: a directory is copied with all that is in it" },
    { "up", "name", "write 'stepback up NAME'" },
    { "up", "d", "leave it out: up starts in the background" },
    { "up", "detach", "leave it out: up starts in the background" },
};

static const char *find_foreign(const char *command,
                                const struct option_use *use)
{
    for (size_t i = 0; i < G_N_ELEMENTS(foreign_options); i++) {
        const char *name = foreign_options[i].name;

        if (strcmp(foreign_options[i].command, command) == 0 &&
            strlen(name) == use->len && strncmp(name, use->name, use->len) == 0)
            return foreign_options[i].remedy;
    }
    return NULL;
}

static void refuse_unknown(const struct option_use *use, const char *command,
                           const GOptionEntry *entries, const char *word,
                           GError **error)
{
    const char *best = guess_long(use, entries, word);
    g_autofree char *name = best && !use->is_long
                                ? g_strdup(word + 1)
                                : g_strndup(use->name, use->len);
    const char *foreign = find_foreign(command, use);
    g_autofree char *remedy = NULL;

    if (foreign)
        remedy = g_strdup_printf("; %s", foreign);
    else if (best)
        remedy = g_strdup_printf("; did you mean --%s?", best);
    else if (!g_ascii_isdigit(*name)) /* else cli_options.c knows it */
        remedy = g_strdup_printf("; '" CLI_PROGRAM " %s --help' lists all",
                                 command);
    g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_UNKNOWN_OPTION,
                "%s%s: unknown option%s", dashes(use), name,
                remedy ? remedy : "");
}

static gboolean refuse_missing(const struct option_use *use, GError **error)
{
    const char *what = use->entry->arg_description;

    g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                "%s%.*s: its value is missing; write %s%.*s%s%s", dashes(use),
                (int)use->len, use->name, dashes(use), (int)use->len, use->name,
                use->is_long ? "=" : " ", what ? what : "VALUE");
    return FALSE;
}

/* Return what is wrong with a number that GOption would not take, or NULL. */
static const char *number_problem(const struct option_use *use)
{
    char *end;
    gint64 number;

    if (use->entry->arg != G_OPTION_ARG_INT &&
        use->entry->arg != G_OPTION_ARG_INT64)
        return NULL;
    errno = 0;
    number = strtoll(use->value, &end, 0);
    if (end == use->value || *end)
        return "is not a number";
    return errno != 0 || (use->entry->arg == G_OPTION_ARG_INT &&
                          (number < G_MININT || number > G_MAXINT))
               ? "is out of range"
               : NULL;
}

static gboolean check_value(const struct option_use *use, char **argv,
                            GError **error)
{
    const char *problem = use->value ? number_problem(use) : NULL;
    g_autofree char *word = NULL;

    if (problem) {
        g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                    "--%s: '%s' %s", use->entry->long_name, use->value,
                    problem);
        return FALSE;
    }
    if (use->value)
        return TRUE;
    if (!use->attached || use->name != argv[use->index] + 1)
        return refuse_missing(use, error);
    word = g_strdup_printf("--%s=%s", use->entry->long_name, use->attached);
    argv[use->index] = (char *)g_intern_string(word);
    return TRUE;
}

/* Options of which a silent last one could change the wrong folder or steps.
 * Those that a shell's alias sets and a user overrides are not here. */
static const struct {
    const char *name, *remedy;
} single_options[] = {
    { "directory", "name one folder" },
    { "undo-dir", "name one folder" },
    { "step", "name one step" }, /* not of exec, which is a kind */
    { "to", "name one step" },
};

/* Refuse the second use of an option in single_options. *seen: a bit for each
 * of them. */
static gboolean check_single(const struct option_use *use, const char *command,
                             unsigned *seen, GError **error)
{
    bool is_run = strcmp(command, "run") == 0 || strcmp(command, "mcp") == 0;

    for (unsigned i = 0; i < G_N_ELEMENTS(single_options); i++) {
        const char *name = single_options[i].name;

        if ((use->entry->arg != G_OPTION_ARG_STRING &&
             use->entry->arg != G_OPTION_ARG_FILENAME) ||
            strcmp(use->entry->long_name, name) != 0 ||
            g_strcmp0(use->entry->arg_description, "KIND") == 0)
            continue;
        if (*seen & 1U << i) {
            g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                        "%s%.*s: given twice; %s%s", dashes(use), (int)use->len,
                        use->name, single_options[i].remedy,
                        is_run && i == 0 ? ", or start a sandbox over several "
                                           "with '" CLI_PROGRAM " up'"
                                         : "");
            return FALSE;
        }
        *seen |= 1U << i;
    }
    return TRUE;
}

gboolean cli_words_check(const char *command, const GOptionEntry *entries,
                         bool strict, int argc, char **argv, GError **error)
{
    struct option_words words = { entries, argc, argv, strict, 0, NULL };
    struct option_use use;
    unsigned seen = 0;

    while (option_words_next(&words, &use)) {
        if (!use.entry && is_help(&use))
            return TRUE; /* GOption prints it, and exits */
        if (!use.entry) {
            refuse_unknown(&use, command, entries, argv[use.index], error);
            return FALSE;
        }
        if (option_words_takes_value(use.entry) &&
            (!check_value(&use, argv, error) ||
             !check_single(&use, command, &seen, error)))
            return FALSE;
    }
    return option_words_check_flags(entries, argc, argv, strict, error);
}
