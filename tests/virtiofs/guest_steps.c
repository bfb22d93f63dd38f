/* SPDX-License-Identifier: Apache-2.0
 *
 * guest_steps - see guest_steps.h.
 */
#include "tests/virtiofs/guest_steps.h"

static void request(struct guest *g, const char *type, json_t *payload)
{
    g_autoptr(GError) error = NULL;
    json_t *answer = control_client_request(g->control, type, payload, &error);

    g_assert_no_error(error);
    json_decref(answer);
}

void guest_step_open(struct guest *g, int64_t id)
{
    request(g, "step.open", json_pack("{s:I}", "step_id", (json_int_t)id));
}

void guest_step_close(struct guest *g, int64_t id)
{
    request(g, "step.close",
            json_pack("{s:I, s:i}", "step_id", (json_int_t)id, "quiet_ms", 0));
}

void guest_undo(struct guest *g)
{
    request(g, "rollback", json_pack("{s:i}", "steps", 1));
}

void guest_redo(struct guest *g)
{
    request(g, "redo", json_pack("{s:i}", "steps", 1));
}
