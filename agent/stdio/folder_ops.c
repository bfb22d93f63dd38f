/* SPDX-License-Identifier: Apache-2.0
 *
 * folder_ops - the operations "folder.*" of the API; see stdio_call.h.
 */
#include "agent/stdio/stdio_call.h"
#include "agent/wire/config_json.h"
#include "agent/wire/payload.h"
#include "common/message.h"

static gboolean add(const struct stdio_call *call, json_t *payload,
                    GError **error)
{
    struct session_share share = { 0 };
    gboolean ok = share_from_json(payload, &share, error);

    if (ok)
        session_folder_add(call->session, &share, stdio_call_on_answer,
                           stdio_call_keep(call));
    share_clear(&share);
    return ok;
}

static gboolean remove_one(const struct stdio_call *call, json_t *payload,
                           GError **error)
{
    gboolean force = FALSE;

    if (!payload_check_has(payload, "directory", error) ||
        !message_get_optional_bool(payload, "force", &force, error))
        return FALSE;
    session_folder_remove(call->session, folder_from_json(payload), force,
                          stdio_call_on_answer, stdio_call_keep(call));
    return TRUE;
}

const struct stdio_operation stdio_folder_operations[] = {
    { "folder.add", add, { "path", "label", "access", "undo_dir" } },
    { "folder.remove", remove_one, { "directory", "force" } },
    { NULL, NULL, { NULL } },
};
