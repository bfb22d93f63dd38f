/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_text_steps - see mcp_text.h: commands, undo, history and status.
 */
#include "agent/mcp/mcp_text.h"

#include <string.h>

#include "common/json_bytes.h"
#include "common/network_name.h"

enum { COMMAND_SHOWN = 120, PATHS_SHOWN = 20 /* or addresses */ };

static bool is_true(json_t *object, const char *key)
{
    return json_is_true(json_object_get(object, key));
}

static void end_line(GString *text)
{
    if (text->len > 0 && text->str[text->len - 1] != '\n')
        g_string_append_c(text, '\n');
}

/* The last line end is dropped. */
static char *take(GString *text)
{
    if (text->len > 0 && text->str[text->len - 1] == '\n')
        g_string_truncate(text, text->len - 1);
    return g_string_free(text, FALSE);
}

/* ---- commands ------------------------------------------------------------ */

static void append_end(GString *text, json_t *result)
{
    json_int_t signal = mcp_text_number(result, "signal");
    json_int_t code = mcp_text_number(result, "exit_code");

    if (signal > 0)
        g_string_append_printf(text, "ended by signal %" JSON_INTEGER_FORMAT,
                               signal);
    else if (code >= 0)
        g_string_append_printf(text, "exit code %" JSON_INTEGER_FORMAT, code);
    else
        g_string_append(text, "exit code unknown");
    if (mcp_text_number(result, "oom_kills") > 0)
        g_string_append(text, "; the sandbox's memory was used up, and the "
                              "kernel killed a process of it");
}

/* Append why the step cannot be undone, if it cannot. */
static void append_doubts(GString *text, json_t *report)
{
    if (is_true(report, "aborted"))
        g_string_append(text, "; denied and rolled back");
    else if (is_true(report, "unprotected"))
        g_string_append(text, "; it exceeded the limit of the undo log and "
                              "cannot be undone");
    else if (mcp_text_number(report, "affected") > 0 &&
             !is_true(report, "undoable"))
        g_string_append(text, "; it cannot be undone");
}

char *mcp_text_command(json_t *result, bool many)
{
    const char *errors = mcp_text_string(result, "stderr");
    GString *text = g_string_new(mcp_text_string(result, "stdout"));

    end_line(text);
    if (*errors) {
        g_string_append_printf(text, "[stderr]\n%s", errors);
        end_line(text);
    }
    g_string_append_c(text, '[');
    append_end(text, result);
    if (mcp_text_number(result, "step_id") == 0) {
        g_string_append(text, "; no step was created");
    } else {
        g_string_append(text, "; step ");
        mcp_text_append_number(text, result, "step_id");
        g_string_append_c(text, ' ');
        mcp_text_append_changes(text, result, false, many);
        append_doubts(text, result);
    }
    g_string_append_c(text, ']');
    return take(text);
}

char *mcp_text_diff(json_t *result)
{
    GString *text = g_string_new(mcp_text_string(result, "patch"));
    json_t *notes = json_object_get(result, "notes"), *note;
    size_t i;

    if (text->len == 0)
        g_string_append_printf(
            text, "[step %" JSON_INTEGER_FORMAT " changed no file there]\n",
            mcp_text_number(result, "step_id"));
    json_array_foreach(notes, i, note)
    {
        end_line(text);
        g_string_append_printf(text, "[%s]\n", json_string_value(note));
    }
    return take(text);
}

/* ---- steps --------------------------------------------------------------- */

/* Append the first line of a step's command, if it is known. */
static void append_command(GString *text, json_t *step)
{
    size_t len;
    g_autofree char *command = json_bytes_get(step, "command", &len);
    g_autofree char *valid = command ? g_utf8_make_valid(command, -1) : NULL;
    const char *start = valid ? valid : "", *end = start;
    const char *line_end = start + strcspn(start, "\r\n");

    for (size_t i = 0; i < COMMAND_SHOWN && end < line_end; i++)
        end = g_utf8_next_char(end);
    for (const char *at = start; at < end; at++)
        g_string_append_c(text,
                          (unsigned char)*at < 32 || *at == 127 ? ' ' : *at);
    if (*end)
        g_string_append(text, " ...");
}

static void append_paths(GString *text, json_t *paths, json_int_t more)
{
    json_t *path;
    size_t i;

    json_array_foreach(paths, i, path)
    {
        g_autofree char *name = json_bytes_get_path(path);
        json_t *object = json_object();

        if (i < PATHS_SHOWN && name) {
            json_bytes_set(object, "path", name, strlen(name));
            g_string_append(text, i ? ", " : "");
            mcp_text_append_name(text, object, "path");
        }
        json_decref(object);
    }
    more += (json_int_t)i - MIN((json_int_t)i, PATHS_SHOWN);
    if (more > 0)
        g_string_append_printf(text, " and %" JSON_INTEGER_FORMAT " more",
                               more);
}

static void append_barrier(GString *text, json_t *barrier)
{
    const char *process = mcp_text_string(barrier, "process");

    g_string_append(text, "edit by another program");
    if (*process)
        g_string_append_printf(text, " (%s)", process);
    g_string_append(text, ": ");
    append_paths(text, json_object_get(barrier, "paths"),
                 mcp_text_number(barrier, "more"));
    g_string_append_c(text, '\n');
}

static void append_step(GString *text, json_t *step, enum mcp_text_undo kind,
                        bool many)
{
    static const char *const verbs[] = { "undid step ", "redid step ",
                                         "step " };

    g_string_append(text, verbs[kind]);
    mcp_text_append_number(text, step, "step_id");
    if (kind != MCP_TEXT_RESTORE && json_object_get(step, "command")) {
        g_string_append(text, " (");
        append_command(text, step);
        g_string_append_c(text, ')');
    }
    g_string_append(text, ": ");
    mcp_text_append_changes(text, step, kind == MCP_TEXT_UNDO, many);
    g_string_append_c(text, '\n');
}

char *mcp_text_undo(json_t *result, enum mcp_text_undo kind, bool many)
{
    json_t *item, *lost = json_object_get(result, "not_restored");
    GString *text = g_string_new(NULL);
    size_t i;

    json_array_foreach(json_object_get(result, "steps"), i, item)
        append_step(text, item, kind, many);
    json_array_foreach(json_object_get(result, "barriers"), i, item)
    {
        g_string_append(text, "passed over an ");
        append_barrier(text, item);
    }
    json_array_foreach(json_object_get(result, "warnings"), i, item)
        g_string_append_printf(text, "warning: %s\n", json_string_value(item));
    if (json_array_size(lost) > 0) {
        g_string_append(text, "not restored: ");
        append_paths(text, lost, 0);
    }
    if (text->len == 0)
        g_string_append(text, "nothing had to change");
    return take(text);
}

/* ---- history ------------------------------------------------------------- */

static void append_row(GString *text, json_t *step)
{
    const char *started = mcp_text_string(step, "started");
    json_int_t code = mcp_text_number(step, "exit_code");

    g_string_append_printf(
        text, "%5" JSON_INTEGER_FORMAT "  %-8s%10.10s %-6.5s",
        mcp_text_number(step, "step_id"), mcp_text_string(step, "type"),
        started, strlen(started) > 11 ? started + 11 : "");
    if (code >= 0)
        g_string_append_printf(text, "%5" JSON_INTEGER_FORMAT, code);
    else
        g_string_append(text, "    -");
    g_string_append_printf(text, "%9" JSON_INTEGER_FORMAT "  ",
                           mcp_text_number(step, "affected"));
    append_command(text, step);
    append_doubts(text, step);
    g_string_append_c(text, '\n');
}

char *mcp_text_history(json_t *result)
{
    json_t *steps = json_object_get(result, "steps"), *item;
    json_int_t redoable = mcp_text_number(result, "redoable");
    GString *text = g_string_new(NULL);
    size_t i;

    if (json_array_size(steps) > 0)
        g_string_append(text, " STEP  TYPE    STARTED (UTC)     EXIT  CHANGES"
                              "  COMMAND\n");
    else
        g_string_append(text, "no step can be undone\n");
    json_array_foreach(steps, i, item) append_row(text, item);
    json_array_foreach(json_object_get(result, "barriers"), i, item)
    {
        g_string_append_printf(text, "after step %" JSON_INTEGER_FORMAT ": ",
                               mcp_text_number(item, "after_step"));
        append_barrier(text, item);
    }
    if (redoable > 0)
        g_string_append_printf(
            text, "redo can redo %" JSON_INTEGER_FORMAT " undone step%s\n",
            redoable, redoable == 1 ? "" : "s");
    return take(text);
}

/* ---- status -------------------------------------------------------------- */

static void append_folder(GString *text, json_t *folder)
{
    bool read_only = strcmp(mcp_text_string(folder, "access"), "read_only") ==
                     0;
    const char *path = mcp_text_string(folder, "path");

    g_string_append_printf(
        text, "working folder %s: %s in the guest%s%s%s\n",
        mcp_text_string(folder, "label"), mcp_text_string(folder, "guest_path"),
        *path ? ", on the host " : "", path, read_only ? ", read-only" : "");
}

void mcp_text_append_network(GString *text, json_t *policy)
{
    const char *name = json_string_value(policy);
    bool has_names = false;
    json_t *entry;
    size_t i;

    if (name) {
        g_string_append(text,
                        strcmp(name, "open") == 0
                            ? "Network: open, except for the host itself."
                            : "Network: none; nothing can be downloaded.");
        return;
    }
    g_string_append(text, "Network: only ");
    json_array_foreach(json_object_get(policy, "allow"), i, entry)
    {
        has_names |= network_name_is_meant(json_string_value(entry));
        if (i < PATHS_SHOWN)
            g_string_append_printf(text, "%s%s", i ? ", " : "",
                                   json_string_value(entry));
    }
    if (i > PATHS_SHOWN)
        g_string_append_printf(text, " and %zu more", i - PATHS_SHOWN);
    g_string_append_printf(text, "; %snames are%s resolved.",
                           has_names ? "other " : "",
                           is_true(policy, "dns") ? "" : " not");
    if (has_names)
        g_string_append(text, " A name without a port is reached by HTTPS and "
                              "HTTP on ports 443 and 80.");
}

char *mcp_text_status(json_t *result)
{
    json_t *policy = json_object_get(result, "network_policy"), *folder;
    GString *text = g_string_new("the sandbox is ");
    const char *state = mcp_text_string(result, "state");
    json_int_t step = mcp_text_number(result, "running_step");
    size_t i;

    g_string_append_printf(text, "%s\n",
                           strcmp(state, "error") == 0 ? "broken" : state);
    if (*mcp_text_string(result, "error"))
        g_string_append_printf(text, "error: %s\n",
                               mcp_text_string(result, "error"));
    if (step != 0)
        g_string_append_printf(text, "step %" JSON_INTEGER_FORMAT " runs\n",
                               step);
    json_array_foreach(json_object_get(result, "working_directories"), i,
                       folder) append_folder(text, folder);
    if (policy)
        mcp_text_append_network(text, policy);
    return take(text);
}
