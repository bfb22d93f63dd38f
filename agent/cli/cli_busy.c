/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_busy - see cli_busy.h.
 */
#include "agent/cli/cli_busy.h"

#include <glib.h>
#include <jansson.h>
#include <string.h>

#include "agent/cli/cli.h"
#include "agent/cli/cli_options.h"
#include "agent/cli/cli_sandbox.h"
#include "common/json_bytes.h"
#include "common/real_path.h"
#include "interceptor/interceptor.h"

enum { COMMAND_WIDTH = 40 };

/* Return whether the sandbox has the undo log of the folder at log (real
 * paths). */
static bool has_log(const struct sandbox_record *record, const char *dir,
                    const char *log)
{
    json_t *session = json_object_get(record->config, "session"), *entry;
    size_t i;

    json_array_foreach(json_object_get(session, "working_directories"), i,
                       entry)
    {
        g_autofree char *path = json_bytes_get_path(
            json_object_get(entry, "path"));
        g_autofree char *own = json_bytes_get_path(
            json_object_get(entry, "undo_dir"));

        if (g_strcmp0(path, dir) == 0)
            return g_strcmp0(own, log) == 0;
    }
    return false;
}

/* Return the sandbox that runs over the very folder with this undo log (NULL:
 * the default one), or NULL. */
static struct sandbox_record *find_sandbox(const char *dir,
                                           const char *undo_dir)
{
    g_autofree char *real = real_path_of(dir);
    g_autofree char *given = NULL, *log = NULL;
    g_autoptr(GPtrArray) found = NULL;

    if (!real)
        return NULL;
    given = undo_dir ? g_strdup(undo_dir) : ic_default_undo_dir(real, NULL);
    log = given ? real_path_of(given) : NULL;
    found = cli_sandbox_of_folder(real, true, true, NULL);
    for (guint i = 0; log && found && i < found->len; i++) {
        if (has_log(found->pdata[i], real, log))
            return g_ptr_array_steal_index(found, i);
    }
    return NULL;
}

static bool has_text(json_t *job, const char *key, const char *text)
{
    return g_strcmp0(json_string_value(json_object_get(job, key)), text) == 0;
}

/* Return the running job that has its step open, borrowed from the list, or
 * NULL. A shell at its prompt runs without a step. */
static json_t *find_job(json_t *list)
{
    json_t *job;
    size_t i;

    json_array_foreach(list, i, job)
    {
        if (has_text(job, "state", "running") &&
            json_integer_value(json_object_get(job, "step_id")) != 0)
            return job;
    }
    return NULL;
}

static char *describe_job(const char *name, json_t *job)
{
    g_autofree char *command = json_bytes_get_path(
        json_object_get(job, "command"));
    g_autofree char *shown = cli_options_printable(command ? command : "");
    bool is_shell = has_text(job, "step", "prompt");
    gint64 id = json_integer_value(json_object_get(job, "exec_id"));
    g_autofree char *wait = g_strdup_printf(
        "wait for it with '" CLI_PROGRAM " job wait %s %" G_GINT64_FORMAT "'",
        name, id);

    if (g_utf8_strlen(shown, -1) > COMMAND_WIDTH)
        strcpy(g_utf8_offset_to_pointer(shown, COMMAND_WIDTH - 3), "...");
    return g_strdup_printf(
        "sandbox %s: job %" G_GINT64_FORMAT " (%s) %s; %s, or end it with "
        "'" CLI_PROGRAM " job kill %s %" G_GINT64_FORMAT "'",
        name, id, shown,
        is_shell ? "runs a command in this folder" : "runs in this folder",
        is_shell ? "wait until its prompt is back" : wait, name, id);
}

char *cli_busy_describe(const char *dir, const char *undo_dir)
{
    g_autoptr(sandbox_record) record = find_sandbox(dir, undo_dir);
    json_t *answer, *job;
    char *text;

    if (!record)
        return NULL;
    answer = cli_sandbox_ask(record, "exec.list", NULL, NULL);
    job = find_job(json_object_get(answer, "executions"));
    text = job ? describe_job(record->name, job)
               : g_strdup_printf("sandbox %s: a command of an assistant or "
                                 "another client runs in this folder; wait for "
                                 "its end, or end the sandbox with "
                                 "'" CLI_PROGRAM " stop %s'",
                                 record->name, record->name);
    json_decref(answer);
    return text;
}

bool cli_busy_check_new(const char *command, const char *dir,
                        const char *undo_dir)
{
    g_autoptr(sandbox_record) record = find_sandbox(dir, undo_dir);

    if (!record)
        return true;
    cli_options_failed("%s: --new: sandbox %s runs over this folder and has "
                       "its undo log; leave --new out to use the sandbox, stop "
                       "it with '" CLI_PROGRAM " stop %s', or name another log "
                       "with --undo-dir",
                       command, record->name, record->name);
    return false;
}
