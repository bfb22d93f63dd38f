/* SPDX-License-Identifier: Apache-2.0
 *
 * engine_request - see engine_request.h.
 */
#include "agent/client/engine_request.h"

#include <string.h>

#include "agent/client/report_json.h"
#include "common/json_bytes.h"

/* ---- steps --------------------------------------------------------------- */

json_t *engine_request_step_open(gint64 step_id, const char *command)
{
    json_t *payload = json_pack("{s:I, s:s}", "step_id", (json_int_t)step_id,
                                "type", "command");

    json_bytes_set(payload, "command", command, strlen(command));
    return payload;
}

json_t *engine_request_step_close(gint64 step_id, int exit_code,
                                  unsigned max_ms, bool settle)
{
    return json_pack("{s:I, s:i, s:I, s:b}", "step_id", (json_int_t)step_id,
                     "exit_code", exit_code, "max_ms", (json_int_t)max_ms,
                     "settle", settle);
}

json_t *engine_request_step_close_unused(gint64 step_id)
{
    return json_pack("{s:I, s:i}", "step_id", (json_int_t)step_id, "quiet_ms",
                     0);
}

json_t *engine_request_step_abort(gint64 step_id)
{
    return json_pack("{s:I}", "step_id", (json_int_t)step_id);
}

/* ---- undo ---------------------------------------------------------------- */

json_t *engine_request_history(unsigned limit)
{
    return json_pack("{s:I}", "limit", (json_int_t)limit);
}

json_t *engine_request_diff(gint64 step_id, unsigned first)
{
    return json_pack("{s:I, s:I}", "step_id", (json_int_t)step_id, "first",
                     (json_int_t)first);
}

json_t *engine_request_discard(void)
{
    return json_object();
}

json_t *engine_request_undo(unsigned steps, bool changed, bool force)
{
    return json_pack("{s:I, s:s, s:b}", "steps", (json_int_t)steps, "counts",
                     changed ? "changes" : "all", "force", force);
}

json_t *engine_request_undo_down_to(gint64 step_id, bool force)
{
    return json_pack("{s:I, s:b}", "down_to", (json_int_t)step_id, "force",
                     force);
}

json_t *engine_request_restore(const struct engine_restore *restore)
{
    json_t *payload = json_pack(
        "{s:o, s:b, s:b}", "paths", paths_to_json(restore->paths), "force",
        restore->force, "dry_run", restore->step_id == 0);

    if (restore->down_to)
        json_object_set_new(payload, "down_to", json_integer(restore->down_to));
    else
        json_object_set_new(payload, "steps", json_integer(restore->steps));
    if (restore->step_id)
        json_object_set_new(payload, "step_id", json_integer(restore->step_id));
    return payload;
}

/* ---- files and safeguards ------------------------------------------------ */

/* JSON escapes may take six bytes per byte, and the daemon limits the line
 * length; so content is base64. */
json_t *engine_request_write(const struct file_write *write, gint64 step_id)
{
    gsize len;
    const void *data = g_bytes_get_data(write->content, &len);
    json_t *payload = json_pack("{s:s, s:I, s:s*}", "path", write->path,
                                "step_id", (json_int_t)step_id, "command",
                                write->command);

    json_bytes_force_base64(payload);
    json_bytes_set(payload, "content", data, len);
    if (write->mode >= 0)
        json_object_set_new(payload, "mode", json_integer(write->mode));
    if (write->make_parents)
        json_object_set_new(payload, "make_parents", json_true());
    if (write->replaced_sha256)
        json_object_set_new(payload, "replaces",
                            json_pack("{s:I, s:s}", "size",
                                      (json_int_t)write->replaced_size,
                                      "sha256", write->replaced_sha256));
    return payload;
}

json_t *engine_request_writers(const GArray *pids, const gint64 *executions)
{
    json_t *writers = json_array();

    for (guint i = 0; i < pids->len; i++)
        json_array_append_new(
            writers,
            json_pack("[I, I]", (json_int_t)g_array_index(pids, guint32, i),
                      (json_int_t)executions[i]));
    return json_pack("{s:o}", "writers", writers);
}

json_t *engine_request_confirm(const char *safeguard_id, bool allow)
{
    return json_pack("{s:s, s:s}", "safeguard_id", safeguard_id, "action",
                     allow ? "allow" : "deny");
}
