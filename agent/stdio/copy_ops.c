/* SPDX-License-Identifier: Apache-2.0
 *
 * copy_ops - the operations "file.*" of the API; see stdio_call.h.
 */
#include "agent/session/session_copy.h"
#include "agent/stdio/stdio_call.h"
#include "agent/wire/payload.h"
#include "common/message.h"

static gboolean get_flag(json_t *payload, const char *key, bool *ret_flag,
                         GError **error)
{
    gboolean flag = FALSE;

    if (!message_get_optional_bool(payload, key, &flag, error))
        return FALSE;
    *ret_flag = flag;
    return TRUE;
}

static gboolean start(const struct stdio_call *call, bool in, json_t *payload,
                      GError **error)
{
    struct bulk_request request = { .in = in };
    g_autofree char *path = NULL;

    if (!payload_check_has(payload, "path", error) ||
        !payload_get_bytes(payload, "path", "path", &path, error) ||
        !get_flag(payload, "follow", &request.follow, error) ||
        !get_flag(payload, "archive", &request.archive, error) ||
        !get_flag(payload, "keep_owner", &request.keep_owner, error))
        return FALSE;
    request.path = path;
    session_copy(call->session, &request, -1, call->party, stdio_call_on_answer,
                 stdio_call_keep(call));
    return TRUE;
}

static gboolean copy_in(const struct stdio_call *call, json_t *payload,
                        GError **error)
{
    return start(call, true, payload, error);
}

static gboolean copy_out(const struct stdio_call *call, json_t *payload,
                         GError **error)
{
    return start(call, false, payload, error);
}

const struct stdio_operation stdio_copy_operations[] = {
    { "file.copy_in", copy_in, { "path", "archive", "keep_owner" } },
    { "file.copy_out", copy_out, { "path", "follow" } },
    { NULL },
};
