/* SPDX-License-Identifier: Apache-2.0
 *
 * answer_json - see answer_json.h.
 */
#include "agent/wire/answer_json.h"

#include "agent/client/report_json.h"
#include "agent/wire/exec_json.h"
#include "agent/wire/port_json.h"

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
    if (answer->port)
        return port_to_json(answer->port);
    if (answer->step_id)
        return json_pack("{s:I}", "step_id", (json_int_t)answer->step_id);
    return answer->relayed ? json_incref(answer->relayed) : NULL;
}
