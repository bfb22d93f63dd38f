/* SPDX-License-Identifier: Apache-2.0
 *
 * guest_processes - see guest_processes.h.
 */
#include "agent/machine/guest_processes.h"

#include "common/errors.h"
#include "common/message.h"

json_t *guest_processes_question(gint64 request, const GArray *pids)
{
    json_t *list = json_array();

    for (guint i = 0; i < pids->len; i++)
        json_array_append_new(list,
                              json_integer(g_array_index(pids, guint32, i)));
    return json_pack("{s:s, s:I, s:o}", "type", WIRE_FIND_PROCESSES, "request",
                     (json_int_t)request, "pids", list);
}

gboolean guest_processes_parse(json_t *message,
                               struct guest_processes *ret_processes,
                               GError **error)
{
    const char *text;

    ret_processes->n = 0;
    if (!message_get_int(message, "request", 1, G_MAXINT64,
                         &ret_processes->request, error) ||
        !message_get_string(message, "executions", &text, error))
        return FALSE;
    while (*text && ret_processes->n < WIRE_FIND_MAX) {
        char *end;
        gint64 id = g_ascii_strtoll(text, &end, 10);

        if (end == text) {
            g_set_error_literal(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                                "the executions of processes are no numbers");
            return FALSE;
        }
        ret_processes->executions[ret_processes->n++] = id;
        text = end;
    }
    return TRUE;
}
