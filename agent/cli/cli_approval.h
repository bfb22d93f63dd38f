/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_approval - requests that wait for a decision, as text.
 *
 * A guest may have asked: all texts are printable.
 */
#ifndef AGENT_CLI_CLI_APPROVAL_H
#define AGENT_CLI_CLI_APPROVAL_H

#include <jansson.h>
#include <stdbool.h>

/* Return a member, a text or bytes, as printable text: a new string, "" if
 * there is none. */
char *cli_approval_text(json_t *object, const char *key);

/* The same for a path, which can be an object. */
char *cli_approval_path(json_t *object, const char *key);

/* Return a member that is one word of the API, or "?". Borrowed. */
const char *cli_approval_word(json_t *object, const char *key);

/* Return whether it is a request for a folder; for a connection. Otherwise it
 * is a safeguard's. */
bool cli_approval_is_grant(json_t *approval);
bool cli_approval_is_network(json_t *approval);

/* Return the name and port of a connection, "xn--bcher-kva.example:443", in a
 * new string. */
char *cli_approval_host(json_t *approval);

/* Describe what is asked for, and why it cannot be granted, in a new string. */
char *cli_approval_describe(json_t *approval);

#endif
