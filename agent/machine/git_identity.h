/* SPDX-License-Identifier: Apache-2.0
 *
 * git_identity - the name and the address of a user's commits.
 */
#ifndef AGENT_MACHINE_GIT_IDENTITY_H
#define AGENT_MACHINE_GIT_IDENTITY_H

#include <glib.h>
#include <stdbool.h>

enum { GIT_IDENTITY_MAX = 256 }; /* bytes of a name or an address */

struct git_identity {
    char *name, *email; /* either may be NULL */
};

void git_identity_clear(struct git_identity *identity);

/* Return whether git accepts a name or an address. */
bool git_identity_is_valid(const char *text);

/* Parse "NAME <ADDRESS>". Return false if the text has another form. */
bool git_identity_parse(const char *text, struct git_identity *ret_identity);

/* Format an identity likewise: a new string. */
char *git_identity_text(const struct git_identity *identity);

#endif
