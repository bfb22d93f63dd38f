/* SPDX-License-Identifier: Apache-2.0
 *
 * answer_json - see answer_json.h.
 */
#include "agent/wire/answer_json.h"

#include "agent/client/report_json.h"
#include "agent/wire/approval_json.h"
#include "agent/wire/directory_json.h"
#include "agent/wire/exec_json.h"
#include "agent/client/step_patch.h"
#include "agent/session/session_copy.h"
#include "agent/wire/port_json.h"
#include "agent/wire/status_json.h"
#include "common/json_bytes.h"

static json_t *patch_to_json(const struct step_patch *patch)
{
    const GString *text = patch->text;
    json_t *object = json_pack("{s:I, s:I}", "step_id",
                               (json_int_t)patch->step_id, "cut",
                               (json_int_t)patch->cut);

    if (json_bytes_has_many_escapes(text->str, text->len))
        json_bytes_force_base64(object);
    json_bytes_set(object, "patch", text->str, text->len);
    json_object_set_new(object, "next",
                        patch->next >= 0 ? json_integer(patch->next)
                                         : json_null());
    if (patch->unprotected)
        json_object_set_new(object, "unprotected", json_true());
    return object;
}

json_t *answer_to_json(const struct answer *answer)
{
    if (!answer)
        return NULL;
    if (answer->report)
        return report_to_json(answer->report);
    if (answer->exit)
        return exec_exit_to_json(answer->exit);
    if (answer->result)
        return result_to_json(answer->result);
    if (answer->approval)
        return approval_to_json(answer->approval);
    if (answer->directory)
        return directory_to_json(answer->directory);
    if (answer->port)
        return port_to_json(answer->port);
    if (answer->copy)
        return json_pack("{s:I, s:s*}", "transfer_id",
                         (json_int_t)answer->copy->id, "socket",
                         answer->copy->socket);
    if (answer->status)
        return folder_status_to_json(answer->status);
    if (answer->patch)
        return patch_to_json(answer->patch);
    if (answer->step_id)
        return json_pack("{s:I}", "step_id", (json_int_t)answer->step_id);
    return answer->relayed ? json_incref(answer->relayed) : NULL;
}
