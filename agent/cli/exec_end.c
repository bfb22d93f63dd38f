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
#include "agent/cli/cli_place.h"
#include "agent/cli/cli_sandbox.h"
#include "agent/cli/cli_summary.h"
#include "agent/client/report_json.h"
#include "common/errors.h"
#include "common/json_bytes.h"
#include "common/real_path.h"

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

static char *path_of(json_t *info, const char *label)
{
    json_t *session = json_object_get(info, "session"), *entry;
    size_t i;

    json_array_foreach(json_object_get(session, "working_directories"), i,
                       entry)
    {
        const char *own = json_string_value(json_object_get(entry, "label"));

        if (label && g_strcmp0(label, own) == 0)
            return json_bytes_get_path(json_object_get(entry, "path"));
    }
    return NULL;
}

/* Return how to undo the step in each folder that it changed, as each has a
 * history of its own: a new string, or NULL if that is not known. info: the
 * answer to sandbox.info. */
static char *undo_hint_of(json_t *payload, json_t *info)
{
    json_t *report = json_object_get(payload, "report"), *part;
    g_autofree char *here = real_path_of(".");
    g_autoptr(GString) line = g_string_new(NULL);
    size_t i;

    json_array_foreach(json_object_get(report, "directories"), i, part)
    {
        const char *label = json_string_value(
            json_object_get(part, "directory"));
        g_autofree char *path = path_of(info, label), *word = NULL;

        if (json_integer_value(json_object_get(part, "affected")) == 0)
            continue;
        if (!path)
            return NULL;
        word = cli_place_quote_to_print(path);
        g_string_append(line, line->len ? " && " CLI_PROGRAM " undo"
                                        : CLI_PROGRAM " undo");
        if (!here || !real_path_is_beneath(here, path))
            g_string_append_printf(line, " -C %s", word);
    }
    return line->len ? g_strdup(line->str) : NULL;
}

static char *ask_for_hint(const struct sandbox_record *record, json_t *payload)
{
    json_t *info = cli_sandbox_ask(record, "sandbox.info", NULL, NULL);
    char *hint = info ? undo_hint_of(payload, info) : NULL;

    json_decref(info);
    return hint;
}

void exec_end_print_step(const struct sandbox_record *record, json_t *payload,
                         bool quiet, const char *undo_hint)
{
    json_t *value = json_object_get(payload, "report");
    g_autofree char *line = NULL, *hint = NULL;
    struct step_report *report;

    if (!value)
        return;
    report = report_from_json(value, NULL);
    if (!undo_hint && report->affected > 0)
        undo_hint = hint = ask_for_hint(record, payload);
    line = cli_summary_step(report,
                            undo_hint ? undo_hint : CLI_PROGRAM " undo");
    if (report->affected > 0 || !quiet)
        fprintf(stderr, CLI_PROGRAM ": %s\n", line);
    step_report_unref(report);
}
