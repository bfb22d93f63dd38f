/* SPDX-License-Identifier: Apache-2.0
 *
 * exec_keys - the key sequence that detaches from an execution, as Docker's
 * --detach-keys.
 *
 * Threads: all on the main thread.
 */
#ifndef AGENT_CLI_EXEC_KEYS_H
#define AGENT_CLI_EXEC_KEYS_H

#include <stdbool.h>
#include <stddef.h>

struct exec_keys;

/* Parse keys, separated by commas: a character, or "ctrl-" and one of a-z, [,
 * \, ], ^ and _. Returns the bytes as a new string, or NULL if the text is
 * malformed. */
char *exec_keys_parse(const char *text);

/* keys: what exec_keys_parse() returned, copied. */
struct exec_keys *exec_keys_new(const char *keys);
/* NULL is allowed. */
void exec_keys_free(struct exec_keys *keys);

/* Look through input. Return true if it completes the sequence. A prefix of the
 * sequence is held back until the next input: *len and data change, and data
 * must have room for EXEC_KEYS_MAX further bytes. */
bool exec_keys_filter(struct exec_keys *keys, char *data, size_t *len);

enum { EXEC_KEYS_MAX = 16 };

#endif
