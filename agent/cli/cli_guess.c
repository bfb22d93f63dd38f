/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_guess - see cli_guess.h.
 */
#include "agent/cli/cli_guess.h"

#include <glib.h>
#include <stdbool.h>
#include <string.h>

enum {
    MAX_WORD = 24,    /* longer words are not guessed */
    MAX_MISTAKES = 2, /* letters */
};

/* Return how many letters must be inserted, removed or replaced to make b of
 * the len letters of a. Both are at most MAX_WORD long. */
static unsigned distance(const char *a, size_t len, const char *b)
{
    unsigned row[MAX_WORD + 1];
    size_t count = strlen(b);

    for (size_t j = 0; j <= count; j++)
        row[j] = (unsigned)j;
    for (size_t i = 1; i <= len; i++) {
        unsigned diagonal = row[0];

        row[0] = (unsigned)i;
        for (size_t j = 1; j <= count; j++) {
            unsigned replace = diagonal + (a[i - 1] != b[j - 1]);

            diagonal = row[j];
            row[j] = MIN(replace, MIN(row[j], row[j - 1]) + 1);
        }
    }
    return row[count];
}

void cli_guess_try(struct cli_guess *guess, const char *known)
{
    bool begun;
    unsigned mistakes;

    if (guess->len < 2 || guess->len > MAX_WORD || strlen(known) > MAX_WORD)
        return;
    begun = strncmp(known, guess->word, guess->len) == 0;
    mistakes = begun ? 0 : distance(guess->word, guess->len, known);
    if (mistakes > MAX_MISTAKES || mistakes >= strlen(known) / 2 + begun ||
        (guess->best && mistakes >= guess->mistakes))
        return;
    guess->best = known;
    guess->mistakes = mistakes;
}
