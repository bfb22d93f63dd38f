/* SPDX-License-Identifier: Apache-2.0
 *
 * option_words - see option_words.h.
 */
#include "common/option_words.h"

#include <string.h>

bool option_words_takes_value(const GOptionEntry *entry)
{
    return entry->arg != G_OPTION_ARG_NONE &&
           !(entry->flags &
             (G_OPTION_FLAG_NO_ARG | G_OPTION_FLAG_OPTIONAL_ARG));
}

static const GOptionEntry *find_long(const GOptionEntry *entries,
                                     const char *name, size_t len)
{
    for (; entries->long_name; entries++) {
        if (strncmp(entries->long_name, name, len) == 0 &&
            entries->long_name[len] == '\0')
            return entries;
    }
    return NULL;
}

static const GOptionEntry *find_short(const GOptionEntry *entries, char name)
{
    for (; entries->long_name; entries++) {
        if (entries->short_name == name)
            return entries;
    }
    return NULL;
}

/* Take the word after this one as the value. */
static void take_next(struct option_words *words, struct option_use *use)
{
    if (words->next < words->argc)
        use->value = words->argv[words->next++];
}

/* "--name" or "--name=VALUE". */
static void take_long(struct option_words *words, const char *name,
                      struct option_use *use)
{
    use->is_long = true;
    use->name = name;
    use->len = strcspn(name, "=");
    use->entry = find_long(words->entries, name, use->len);
    if (name[use->len])
        use->value = name + use->len + 1;
    else if (use->entry && option_words_takes_value(use->entry))
        take_next(words, use);
}

static void take_letter(struct option_words *words, struct option_use *use)
{
    use->name = words->letters++;
    use->len = 1;
    use->index = words->next - 1;
    use->entry = find_short(words->entries, *use->name);
    if (!use->entry || !option_words_takes_value(use->entry))
        return;
    if (*words->letters)
        use->attached = words->letters;
    else
        take_next(words, use);
    words->letters = NULL;
}

bool option_words_next(struct option_words *words, struct option_use *ret_use)
{
    struct option_use use = { 0 };

    if (words->next == 0)
        words->next = 1;
    while (!(words->letters && *words->letters)) {
        const char *word;

        if (words->next >= words->argc)
            return false;
        word = words->argv[words->next];
        if (strcmp(word, "--") == 0 || (words->strict && word[0] != '-'))
            return false;
        use.index = words->next++;
        if (strncmp(word, "--", 2) == 0) {
            take_long(words, word + 2, &use);
            *ret_use = use;
            return true;
        }
        if (word[0] == '-')
            words->letters = word + 1;
    }
    take_letter(words, &use);
    *ret_use = use;
    return true;
}

gboolean option_words_check_flags(const GOptionEntry *entries, int argc,
                                  char *const *argv, bool strict,
                                  GError **error)
{
    struct option_words words = { entries, argc, argv, strict, 0, NULL };
    struct option_use use;

    while (option_words_next(&words, &use)) {
        if (!use.entry || !use.is_long || !use.value ||
            use.entry->arg != G_OPTION_ARG_NONE)
            continue;
        g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                    "--%s: takes no value; omit the option or \"=%s\"",
                    use.entry->long_name, use.value);
        return FALSE;
    }
    return TRUE;
}
