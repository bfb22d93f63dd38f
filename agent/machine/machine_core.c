/* SPDX-License-Identifier: Apache-2.0
 *
 * machine_core - see machine_core.h.
 */
#include "agent/machine/machine_core.h"

#include "common/log.h"

void machine_clear_timers(struct machine *machine)
{
    g_clear_handle_id(&machine->boot_timer, g_source_remove);
    g_clear_handle_id(&machine->watchdog, g_source_remove);
    g_clear_handle_id(&machine->blame_timer, g_source_remove);
    g_clear_handle_id(&machine->restart_source, g_source_remove);
}

void machine_fail(struct machine *machine, const GError *error)
{
    if (machine->stage == FAILED || machine->stage == STOPPING)
        return;
    machine->stage = FAILED;
    machine_clear_timers(machine);
    log_warn(LOG_SESSION, "%s", error->message);
    machine->callbacks->failed(error, machine->opaque);
}

void machine_fail_with(struct machine *machine, enum error_code code,
                       const char *text)
{
    g_autoptr(GError) error = g_error_new_literal(STEPBACK_ERROR, code, text);

    machine_fail(machine, error);
}

void machine_fail_guest(struct machine *machine, enum error_code code,
                        const char *text)
{
    bool starts = machine->stage == BOOTING || machine->stage == MOUNTING;

    if (!starts || !machine->kind->recover ||
        !machine->kind->recover(machine, text))
        machine_fail_with(machine, code, text);
}

void machine_warn(struct machine *machine, const char *code, const char *text)
{
    g_autofree char *valid = g_utf8_make_valid(text, -1); /* folder names */

    log_warn(LOG_SESSION, "%s", valid);
    machine->callbacks->event(
        "event.warning",
        json_pack("{s:s, s:s*}", "message", valid, "code", code),
        machine->opaque);
}

static gboolean notify_stopped(gpointer data)
{
    struct machine *machine = data;

    machine->stopped_source = 0;
    machine->callbacks->stopped(machine->opaque);
    return G_SOURCE_REMOVE;
}

/* From the main loop, where the callback may free everything. */
void machine_stop_further(struct machine *machine)
{
    if (machine->runs)
        return;
    if (machine->network && network_runs(machine->network))
        network_stop(machine->network);
    else if (backends_run(machine->backends))
        backends_stop(machine->backends);
    else if (!machine->stopped_source)
        machine->stopped_source = g_idle_add(notify_stopped, machine);
}
