/* SPDX-License-Identifier: Apache-2.0
 *
 * odd-errors-test - messages of errors that are not UTF-8, because they name
 * files, as JSON.
 */
#include <glib.h>
#include <jansson.h>
#include <string.h>

#include "agent/sandbox/sandbox_record.h"
#include "agent/wire/exec_json.h"
#include "common/errors.h"

#define ODD   "caf\xe9: cannot open it"
#define VALID "caf\xef\xbf\xbd: cannot open it"

static const char *text_of(json_t *object, const char *member)
{
    return json_string_value(json_object_get(object, member));
}

static void test_execution(void)
{
    g_autoptr(GError)
        error = g_error_new_literal(STEPBACK_ERROR, ERROR_IO_ERROR, ODD);
    const struct exec_exit exit = { .exec_id = 1, .error = error };
    json_t *payload = exec_exit_to_json(&exit), *told;

    told = json_object_get(payload, "error");
    g_assert_cmpstr(text_of(told, "code"), ==, "io_error");
    g_assert_cmpstr(text_of(told, "message"), ==, VALID);
    json_decref(payload);
}

static void test_sandbox(void)
{
    json_t *end = sandbox_end_new("start_failed", ODD);

    g_assert_cmpstr(text_of(end, "reason"), ==, "start_failed");
    g_assert_cmpstr(text_of(end, "message"), ==, VALID);
    json_decref(end);
    end = sandbox_end_new("idle", NULL);
    g_assert_cmpstr(text_of(end, "reason"), ==, "idle");
    g_assert_null(text_of(end, "message"));
    json_decref(end);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/odd-errors/an execution's end names its error",
                    test_execution);
    g_test_add_func("/odd-errors/a sandbox's end names its reason",
                    test_sandbox);
    return g_test_run();
}
