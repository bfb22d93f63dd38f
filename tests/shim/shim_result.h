/* SPDX-License-Identifier: Apache-2.0
 *
 * shim_result - one of several executions of a shim, for tests.
 */
#ifndef TESTS_SHIM_RESULT_H
#define TESTS_SHIM_RESULT_H

#include "tests/shim/shim_client.h"

/* What came of an execution so far. Free out. */
struct shim_result {
    GString *out;
    json_int_t exit_code, taken; /* bytes of input that the command took */
    gboolean ended;
};

#define SHIM_RESULT                                                            \
    {                                                                          \
        g_string_new(NULL)                                                     \
    }

/* Send exec with these members (taken), and expect step_started. */
void shim_start(struct shim_client *shim, int id, json_t *members);

void shim_send_input(struct shim_client *shim, int id, const char *text,
                     gboolean end);
void shim_send_credit(struct shim_client *shim, int id, int bytes);

/* Add a message (taken) to the result. */
void shim_take(struct shim_result *result, json_t *message);

/* Read until the output so far ends with the text (required, unless NULL), or
 * the execution ends. */
void shim_read_until(struct shim_client *shim, struct shim_result *result,
                     const char *text);

/* Read to the end, compare, and empty the result. */
void shim_check_end(struct shim_client *shim, struct shim_result *result,
                    const char *out, int exit_code);

#endif
