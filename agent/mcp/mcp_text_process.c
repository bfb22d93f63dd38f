/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_text_process - see mcp_text.h: processes, ports and copies.
 */
#include "agent/mcp/mcp_text.h"

#include <string.h>

static void end_line(GString *text)
{
    if (text->len > 0 && text->str[text->len - 1] != '\n')
        g_string_append_c(text, '\n');
}

/* ---- processes ----------------------------------------------------------- */

static void append_state(GString *text, json_t *process)
{
    bool ended = strcmp(mcp_text_string(process, "state"), "ended") == 0;
    json_int_t code = mcp_text_number(process, "exit_code");

    if (!ended)
        g_string_append(text, mcp_text_string(process, "state"));
    else if (mcp_text_number(process, "signal") > 0)
        g_string_append_printf(text, "ended by signal %" JSON_INTEGER_FORMAT,
                               mcp_text_number(process, "signal"));
    else if (code >= 0)
        g_string_append_printf(
            text, "ended with exit code %" JSON_INTEGER_FORMAT, code);
    else
        g_string_append(text, "ended, exit code unknown");
}

char *mcp_text_process(json_t *result)
{
    json_int_t lost = mcp_text_number(result, "lost_bytes");
    GString *text = g_string_new(NULL);

    if (lost > 0)
        g_string_append_printf(text,
                               "[%" JSON_INTEGER_FORMAT
                               " bytes before this are not kept any more]\n",
                               lost);
    g_string_append(text, mcp_text_string(result, "output"));
    end_line(text);
    g_string_append(text, "[process ");
    mcp_text_append_number(text, result, "process_id");
    g_string_append(text, ": ");
    append_state(text, result);
    if (*mcp_text_string(result, "error"))
        g_string_append_printf(text, "; %s", mcp_text_string(result, "error"));
    g_string_append(text, "; read on with since ");
    mcp_text_append_number(text, result, "next");
    g_string_append_c(text, ']');
    return g_string_free(text, FALSE);
}

static void append_process(GString *text, json_t *process)
{
    mcp_text_append_number(text, process, "process_id");
    g_string_append(text, ": ");
    mcp_text_append_name(text, process, "command");
    if (*mcp_text_string(process, "label"))
        g_string_append_printf(text, " (%s)",
                               mcp_text_string(process, "label"));
    g_string_append(text, ": ");
    append_state(text, process);
    g_string_append_printf(text,
                           ", %" JSON_INTEGER_FORMAT " bytes of output%s\n",
                           mcp_text_number(process, "output_bytes"),
                           json_is_true(json_object_get(process, "attached"))
                               ? ", attached to another client"
                               : "");
}

static void append_published(GString *text, json_t *port)
{
    g_string_append_printf(
        text,
        "published: %s:%" JSON_INTEGER_FORMAT
        "/%s leads to port %" JSON_INTEGER_FORMAT " of the guest",
        mcp_text_string(port, "address"), mcp_text_number(port, "host_port"),
        mcp_text_string(port, "protocol"), mcp_text_number(port, "guest_port"));
}

char *mcp_text_processes(json_t *result)
{
    json_t *list = json_object_get(result, "processes"), *entry;
    GString *text = g_string_new(json_array_size(list) ? NULL
                                                       : "no processes\n");
    size_t i;

    json_array_foreach(list, i, entry) append_process(text, entry);
    json_array_foreach(json_object_get(result, "published"), i, entry)
    {
        append_published(text, entry);
        g_string_append_c(text, '\n');
    }
    json_array_foreach(json_object_get(result, "listening"), i, entry)
        g_string_append_printf(
            text, "the guest listens on %s port %" JSON_INTEGER_FORMAT "\n",
            mcp_text_string(entry, "address"), mcp_text_number(entry, "port"));
    g_string_truncate(text, text->len - 1);
    return g_string_free(text, FALSE);
}

char *mcp_text_access(json_t *result)
{
    GString *text = g_string_new("The user has granted ");

    mcp_text_append_name(text, result, "path");
    g_string_append(text, "; in the guest it is ");
    mcp_text_append_name(text, result, "guest_path");
    g_string_append(text,
                    strcmp(mcp_text_string(result, "access"), "read_only") == 0
                        ? ", and can only be read\n"
                        : ", and can be changed\n");
    return g_string_free(text, FALSE);
}

char *mcp_text_port(json_t *result, bool added)
{
    GString *text = g_string_new(NULL);

    if (!added)
        g_string_append(text, "not any more ");
    append_published(text, result);
    if (*mcp_text_string(result, "url"))
        g_string_append_printf(text, "; for HTTP: %s",
                               mcp_text_string(result, "url"));
    return g_string_free(text, FALSE);
}

/* ---- copies -------------------------------------------------------------- */

char *mcp_text_copy(json_t *result, bool in, bool many)
{
    GString *text = g_string_new("copied ");
    json_int_t skipped = mcp_text_number(result, "skipped");

    mcp_text_append_name(text, result, in ? "host_path" : "guest_path");
    g_string_append(text, " to ");
    mcp_text_append_name(text, result, in ? "guest_path" : "host_path");
    if (mcp_text_number(result, "step_id") > 0) {
        g_string_append(text, "; step ");
        mcp_text_append_number(text, result, "step_id");
        g_string_append_c(text, ' ');
        mcp_text_append_changes(text, result, false, many);
        return g_string_free(text, FALSE);
    }
    g_string_append_printf(text, ", %" JSON_INTEGER_FORMAT " entries",
                           mcp_text_number(result, "entries"));
    if (skipped > 0)
        g_string_append_printf(
            text, ", %" JSON_INTEGER_FORMAT " sockets or device nodes skipped",
            skipped);
    g_string_append(text, "; no step, so it cannot be undone");
    return g_string_free(text, FALSE);
}
