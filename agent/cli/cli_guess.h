/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_guess - the word that a mistyped one most likely means.
 */
#ifndef AGENT_CLI_CLI_GUESS_H
#define AGENT_CLI_CLI_GUESS_H

#include <stddef.h>

struct cli_guess {
    const char *word; /* the mistyped one; need not end after len bytes */
    size_t len;
    const char *best;  /* or NULL: none comes close */
    unsigned mistakes; /* of best */
};

/* Take a known word (borrowed) as the best guess if it is closer than those
 * before. */
void cli_guess_try(struct cli_guess *guess, const char *known);

#endif
