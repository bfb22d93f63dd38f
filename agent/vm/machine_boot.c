/* SPDX-License-Identifier: Apache-2.0
 *
 * machine_boot - see machine_boot.h: restart a guest that does not come up.
 *
 * KVM may be present and yet unable to run a guest: the next start uses TCG.
 * A machine of the pool that does not work leads to a start from the template,
 * and a template that does not work is put aside, and the guest boots. With TCG
 * about one kernel in a hundred crashes or hangs while it patches its own code
 * (text_poke_early): it is restarted once. QEMU and the daemons, which end with
 * their front-end, end first. Each start has the whole boot timeout.
 */
#include "agent/vm/machine_boot.h"

#include <string.h>
#include <unistd.h>

#include "agent/machine/machine_folders.h"
#include "agent/vm/pool_client.h"
#include "agent/vm/template_store.h"
#include "common/log.h"

enum {
    LOOK_MS = 500,
    RESTORE_S = 20, /* for a template, which takes 1 to 2 s */
    HANG_PART = 3,  /* fraction 1/N of the boot timeout after which a silent
                       guest counts as hung */
};

/* Linux prints this before it reboots, or, before it has parsed "panic=-1",
 * before it halts. */
#define PANIC_TEXT "Kernel panic - not syncing"

/* ---- restarts ------------------------------------------------------------ */

/* Note in the state what the next start does otherwise, and return it as a new
 * string. */
static char *choose_start(struct machine *machine, const char *reason)
{
    struct vm_machine *own = machine->state;

    if (own->pooled) {
        own->no_pool = true;
        pool_client_report(reason);
        return g_strdup_printf("the machine of the pool failed: %s; starting "
                               "without it",
                               reason);
    }
    if (own->restored) {
        own->no_template = true; /* a cache may be read-only */
        template_store_refuse(own->template_key, reason);
        return g_strdup_printf("the machine's template failed: %s; booting "
                               "without it",
                               reason);
    }
    if (own->accel == ACCEL_KVM) {
        own->accel = ACCEL_TCG;
        machine->launch->slow_requests = true;
        return g_strdup("the guest does not boot with KVM; restarting it with "
                        "TCG, which is slow");
    }
    own->started_again = true;
    return g_strdup_printf("the guest's kernel %s; restarting it once", reason);
}

static void start_again(struct machine *machine, const char *reason)
{
    struct vm_machine *own = machine->state;
    g_autofree char *console = own->vm
                                   ? vm_console_tail(own->vm, VM_CONSOLE_TRACE)
                                   : g_strdup("");
    const char *code = own->pooled     ? MACHINE_POOL
                       : own->restored ? MACHINE_TEMPLATE
                                       : NULL;
    g_autofree char *text = choose_start(machine, reason);

    machine_clear_timers(machine); /* with the timer that blames a daemon */
    machine->stage = RESTARTING;
    machine_warn(machine, code, text);
    if (*console)
        log_warn(LOG_SESSION, "the console of the failed start ends with:\n%s",
                 console);
    if (machine->runs)
        vm_kill(own->vm);
    machine_boot_continue(machine);
}

static gboolean restart(gpointer data)
{
    struct machine *machine = data;
    struct vm_machine *own = machine->state;
    g_autoptr(GError) error = NULL;

    machine->restart_source = 0;
    unlink(
        machine->launch
            ->console); /* a panic text in it belongs to the previous start */
    machine_folders_clear(machine);
    machine->renewal_asked = machine->is_mounted = false;
    machine->setups = 0;
    g_clear_pointer(&own->vm, vm_free);
    g_clear_pointer(&machine->network, network_free);
    g_clear_pointer(&machine->backends, backends_free);
    machine_start_timeout(machine);
    if (!machine_start_backends(machine, &error))
        machine_fail(machine, error);
    return G_SOURCE_REMOVE;
}

void machine_boot_continue(struct machine *machine)
{
    if (machine->runs)
        return;
    if (backends_run(machine->backends)) {
        backends_stop(machine->backends);
        return;
    }
    /* Defer: the caller may be a callback of an object that is freed here. */
    if (!machine->restart_source)
        machine->restart_source = g_idle_add(restart, machine);
}

bool machine_boot_ended(struct machine *machine)
{
    const struct vm_machine *own = machine->state;

    if (own->restored) {
        g_autofree char *end = vm_describe_end(own->vm);

        start_again(machine, end);
        return true;
    }
    if (machine->stage != BOOTING)
        return false;
    if (own->accel == ACCEL_KVM) {
        if (machine->config->accel != ACCEL_AUTO)
            return false;
    } else if (own->started_again || !vm_was_reset(own->vm)) {
        return false;
    }
    start_again(machine, "crashed as it started");
    return true;
}

bool machine_boot_recover(struct machine *machine, const char *reason)
{
    const struct vm_machine *own = machine->state;

    if (!own->restored)
        return false;
    start_again(machine, reason);
    return true;
}

/* ---- a start that hangs -------------------------------------------------- */

static gboolean on_look(gpointer data)
{
    struct machine *machine = data;
    const struct vm_machine *own = machine->state;
    gint64 limit = machine->config->boot_timeout_s * G_TIME_SPAN_SECOND /
                   HANG_PART;
    gint64 most = own->restored ? RESTORE_S * G_TIME_SPAN_SECOND : limit;
    bool late = g_get_monotonic_time() - machine->times.launched >=
                MIN(limit, most);
    g_autofree char *console = vm_console_tail(own->vm, VM_CONSOLE_TRACE);

    if (!late && !strstr(console, PANIC_TEXT))
        return G_SOURCE_CONTINUE;
    machine->watchdog = 0;
    start_again(machine, !late           ? "crashed as it started"
                         : own->restored ? "the guest does not answer"
                                         : "takes too long to start");
    return G_SOURCE_REMOVE;
}

void machine_boot_watch(struct machine *machine)
{
    const struct vm_machine *own = machine->state;

    if (own->restored || own->accel == ACCEL_KVM || !own->started_again)
        machine->watchdog = g_timeout_add(LOOK_MS, on_look, machine);
}
