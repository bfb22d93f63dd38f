/* SPDX-License-Identifier: Apache-2.0
 *
 * exec_end - see exec_end.h.
 */
#include "agent/cli/exec_end.h"

#include <glib.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "agent/cli/cli.h"
#include "agent/cli/cli_summary.h"
#include "agent/client/report_json.h"
#include "common/errors.h"

int exec_end_exit_code(json_t *payload, char **ret_complaint)
{
    json_t *error = json_object_get(payload, "error");
    const char *code = json_string_value(json_object_get(error, "code"));
    const char *text = json_string_value(json_object_get(error, "message"));

    if (!error)
        return (int)json_integer_value(json_object_get(payload, "exit_code"));
    if (g_strcmp0(code, error_code_name(ERROR_CANCELLED)) == 0)
        return 128 + SIGINT;
    *ret_complaint = g_strdup(text ? text : "the execution failed");
    return g_strcmp0(code, error_code_name(ERROR_TIMEOUT)) == 0
               ? CLI_TIMED_OUT
               : CLI_RUN_FAILED;
}

void exec_end_print_step(json_t *payload, bool quiet, const char *undo_hint)
{
    json_t *value = json_object_get(payload, "report");
    struct step_report *report;
    g_autofree char *line = NULL;

    if (!value)
        return;
    report = report_from_json(value, NULL);
    line = cli_summary_step(report,
                            undo_hint ? undo_hint : CLI_PROGRAM " undo");
    if (report->affected > 0 || !quiet)
        fprintf(stderr, CLI_PROGRAM ": %s\n", line);
    step_report_unref(report);
}
