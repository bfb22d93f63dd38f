/* SPDX-License-Identifier: Apache-2.0
 *
 * session_status - see session.h: the session's status.
 */
#include "agent/session/exec.h"
#include "agent/session/session.h"
#include "agent/session/session_core.h"

struct session_counters *session_counters(struct session *session)
{
    return &session->counters;
}

void session_get_status(const struct session *session,
                        struct session_status *ret_status)
{
    const struct machine *machine = session->machine;

    *ret_status = (struct session_status){
        .state = session->state,
        .counters = session->counters,
        .running_step = session->exec ? exec_step_id(session->exec) : 0,
    };
    if (machine)
        ret_status->waits_for = machine_waits_for(machine);
    if (session->state != SESSION_RUNNING)
        return;
    ret_status->counters.guest_messages_ignored += guest_channel_complaints(
        machine_guest(session->machine));
    ret_status->config = session->config;
    ret_status->accel = machine_accel(machine);
    ret_status->boot_ms = machine_boot_ms(machine);
    ret_status->ids = machine_ids(machine);
    ret_status->restored = machine_is_restored(machine);
    ret_status->pooled = machine_is_pooled(machine);
    /* QEMU may not have reported the pause yet. */
    ret_status->held = session->questions->len > 0 || machine_is_held(machine);
    ret_status->disk = machine_disk(machine);
    ret_status->holder = machine_holder(machine);
}
