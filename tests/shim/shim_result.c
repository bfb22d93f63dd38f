/* SPDX-License-Identifier: Apache-2.0
 *
 * shim_result - see shim_result.h.
 */
#include "tests/shim/shim_result.h"

#include <string.h>

#include "shim/wire.h"

void shim_start(struct shim_client *shim, int id, json_t *members)
{
    json_object_set_new(members, "type", json_string(WIRE_EXEC));
    json_object_set_new(members, "id", json_integer(id));
    if (!json_object_get(members, "cwd"))
        json_object_set_new(members, "cwd", json_string(shim->folder));
    shim_send(shim, members);
    shim_expect_started(shim, id);
}

void shim_send_input(struct shim_client *shim, int id, const char *text,
                     gboolean end)
{
    shim_send(shim, json_pack("{ss si ss sb}", "type", WIRE_INPUT, "id", id,
                              "data", text, "eof", end));
}

void shim_send_credit(struct shim_client *shim, int id, int bytes)
{
    shim_send(shim, json_pack("{ss si si}", "type", WIRE_CREDIT, "id", id,
                              "bytes", bytes));
}

void shim_take(struct shim_result *result, json_t *message)
{
    const char *type = shim_text(message, "type");

    if (g_str_equal(type, WIRE_INPUT_TAKEN)) {
        result->taken += shim_number(message, "bytes");
    } else if (g_str_equal(type, WIRE_OUTPUT)) {
        const char *data = shim_text(message, "data");

        g_assert_null(shim_text(message, "encoding"));
        g_string_append(result->out, data);
    } else {
        g_assert_cmpstr(type, ==, WIRE_STEP_COMPLETED);
        result->exit_code = shim_number(message, "exit_code");
        result->ended = TRUE;
    }
    json_decref(message);
}

void shim_read_until(struct shim_client *shim, struct shim_result *result,
                     const char *text)
{
    while (!result->ended &&
           !(text && g_str_has_suffix(result->out->str, text)))
        shim_take(result, shim_receive(shim));
    g_test_message("%s", result->out->str);
    if (text)
        g_assert_true(g_str_has_suffix(result->out->str, text));
}

void shim_check_end(struct shim_client *shim, struct shim_result *result,
                    const char *out, int exit_code)
{
    shim_read_until(shim, result, NULL);
    g_assert_cmpstr(result->out->str, ==, out);
    g_assert_cmpint(result->exit_code, ==, exit_code);
    g_string_free(result->out, TRUE);
    *result = (struct shim_result){ g_string_new(NULL) };
}
