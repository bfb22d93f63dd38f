/* SPDX-License-Identifier: Apache-2.0
 *
 * option_words - the options of a command line, in their order, as GOption's
 * parser will find them.
 *
 * For checks before g_option_context_parse(), whose own messages and rules do
 * not fit: GLib (2.74) treats "--flag=no" as "--flag", the opposite of the
 * intention.
 */
#ifndef COMMON_OPTION_WORDS_H
#define COMMON_OPTION_WORDS_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>

/* Set the first four members; the rest is zero. */
struct option_words {
    const GOptionEntry *entries;
    int argc;
    char *const *argv; /* argv[0] is the program's name */
    bool strict;       /* as for g_option_context_set_strict_posix() */
    int next;
    const char *letters; /* of a cluster such as "-it", which remain */
};

/* One use of an option. */
struct option_use {
    const GOptionEntry *entry; /* NULL: unknown */
    const char *name;          /* without dashes; need not end after len */
    size_t len;
    bool is_long;
    int index;         /* of the word */
    const char *value; /* NULL: none */
    /* A short option that takes a value: the letters after it, which GOption
     * does not take for one, or NULL. */
    const char *attached;
};

/* Return whether the option takes a value. */
bool option_words_takes_value(const GOptionEntry *entry);

/* Get the next use; false: there is none. */
bool option_words_next(struct option_words *words, struct option_use *ret_use);

/* Refuse values of options that take none. */
gboolean option_words_check_flags(const GOptionEntry *entries, int argc,
                                  char *const *argv, bool strict,
                                  GError **error);

#endif
