/* SPDX-License-Identifier: Apache-2.0
 *
 * machine_guest - see machine_guest.h.
 */
#include "agent/machine/machine_guest.h"

#include "agent/machine/machine.h"
#include "agent/machine/machine_folders.h"
#include "common/log.h"
#include "shim/wire.h"

/* ---- the guest's environment --------------------------------------------- */

/* Report that the guest cannot be set up. No intercepted request would succeed,
 * so that a machine whose policy intercepts does not start. */
static void fail_setup(struct machine *machine, const char *text)
{
    if (machine->intercepted && machine->stage == MOUNTING)
        machine_fail_with(machine, ERROR_VM_LAUNCH_FAILED, text);
    else
        machine_warn(machine, NULL, text);
}

static void send_setup(struct machine *machine, bool always)
{
    const struct session_config *config = machine->config;
    g_autoptr(GError) error = NULL;
    g_autofree char *certificates = guest_trust_certificates(machine->trust,
                                                             &error);
    bool wanted = certificates || config->git.name || config->git.email;

    machine->intercepted = guest_trust_intercepts(config);
    if (error)
        fail_setup(machine, error->message);
    if (machine->stage == FAILED)
        return;
    if (!wanted && !always)
        return;
    if (guest_channel_setup(machine_guest(machine), certificates, &config->git))
        machine->setups++;
    else if (wanted)
        fail_setup(machine, "the guest image is too old to take the host's "
                            "certificates and git identity; rebuild it with: "
                            "stepback image build");
}

/* Before the folders are mounted: what the shim writes cannot reach them. A
 * machine that keeps its disk may have what an earlier start asked for. */
static void set_up(struct machine *machine)
{
    send_setup(machine, machine->config->persistent);
}

void machine_update_trust(struct machine *machine)
{
    if (machine->kind->is_system && machine->stage >= MOUNTING &&
        machine->stage <= RUNNING &&
        guest_trust_intercepts(machine->config) != machine->intercepted)
        send_setup(machine, true);
}

static void become_ready(struct machine *machine)
{
    /* A machine that does not trust the authority must not start. */
    machine->is_mounted = machine->intercepted && machine->setups > 0;
    if (machine->is_mounted)
        return;
    machine->stage = RUNNING;
    machine->times.ready = g_get_monotonic_time();
    machine_clear_timers(machine);
    if (machine->network)
        guest_channel_watch_ports(machine_guest(machine));
    if (machine->kind->note_ready)
        machine->kind->note_ready(machine);
    machine->callbacks->ready(machine->opaque);
}

static void on_set_up(const char *error, void *opaque)
{
    struct machine *machine = opaque;
    g_autofree char *text = NULL;

    if (machine->setups == 0) {
        guest_channel_complain(machine_guest(machine), "set_up out of place");
        return;
    }
    machine->setups--;
    if (error) {
        text = g_strdup_printf("the guest could not install the host's "
                               "certificates or git identity: %.300s",
                               error);
        fail_setup(machine, text);
    }
    if (machine->is_mounted && machine->stage == MOUNTING)
        become_ready(machine);
}

/* The guest is like no other machine. */
static void go_on(struct machine *machine)
{
    machine->times.renewed = g_get_monotonic_time();
    machine->stage = MOUNTING;
    g_clear_handle_id(&machine->watchdog, g_source_remove);
    if (machine->kind->is_system) {
        set_up(machine);
        if (machine->stage == MOUNTING)
            machine_folders_mount(machine, become_ready);
    } else {
        machine_folders_note_mounted(machine);
        become_ready(machine);
    }
}

/* Also a guest that has booted gets random numbers and a machine id, if its
 * shim can; one that continues from a saved state must get them. */
static void renew(struct machine *machine, bool can)
{
    const struct machine_kind *kind = machine->kind;
    const char *mac = NULL;
    bool restored = kind->is_restored && kind->is_restored(machine, &mac);

    if (can) {
        machine->renewal_asked = true;
        guest_channel_renew(machine_guest(machine), mac,
                            mac ? network_guest_dns(machine->network) : NULL);
    } else if (restored) {
        machine_fail_guest(machine, ERROR_VM_LAUNCH_FAILED,
                           "the guest cannot be renewed");
    } else {
        go_on(machine);
    }
}

static void on_renewed(const char *reason, void *opaque)
{
    struct machine *machine = opaque;
    g_autofree char *text = NULL;

    if (!machine->renewal_asked || machine->stage != BOOTING) {
        guest_channel_complain(machine_guest(machine), "renewed out of place");
        return;
    }
    machine->renewal_asked = false;
    if (!reason) {
        go_on(machine);
        return;
    }
    text = g_strdup_printf("the guest could not be renewed: %.300s", reason);
    machine_fail_guest(machine, ERROR_VM_LAUNCH_FAILED, text);
}

static void on_hello(const struct guest_hello *hello, void *opaque)
{
    struct machine *machine = opaque;

    if (machine->stage != BOOTING || machine->renewal_asked) {
        guest_channel_complain(machine_guest(machine), "hello out of place");
        return;
    }
    if (hello->version != WIRE_VERSION) {
        g_autofree char *text = g_strdup_printf(
            "the guest's shim speaks version %" G_GINT64_FORMAT
            " of the protocol, not %d; rebuild the image with: stepback image "
            "build",
            hello->version, WIRE_VERSION);

        machine_fail_with(machine, ERROR_VM_LAUNCH_FAILED, text);
        return;
    }
    if (machine->kind->is_system && !hello->plugs_folders) {
        machine_fail_with(machine, ERROR_VM_LAUNCH_FAILED,
                          "the guest image is too old to plug folders in; "
                          "rebuild it with: stepback image build");
        return;
    }
    log_info(LOG_SESSION, "the guest is up: shim %.40s, kernel %.80s",
             hello->shim_version, hello->kernel);
    machine->times.hello = g_get_monotonic_time();
    machine->times.init_ms = hello->init_ms;
    machine->times.shim_ms = hello->shim_ms;
    machine->times.uptime_ms = hello->uptime_ms;
    renew(machine, hello->renews);
}

/* ---- commands ------------------------------------------------------------ */

static void on_output(const struct command_output *output, void *opaque)
{
    struct machine *machine = opaque;

    machine->callbacks->output(output, machine->opaque);
}

static void on_completed(gint64 id, const struct command_end *end, void *opaque)
{
    struct machine *machine = opaque;

    machine->callbacks->completed(id, end, machine->opaque);
}

static void on_input_taken(gint64 id, size_t bytes, void *opaque)
{
    struct machine *machine = opaque;

    machine->callbacks->input_taken(id, bytes, machine->opaque);
}

static void on_refused(gint64 id, const char *message, void *opaque)
{
    struct machine *machine = opaque;

    machine->callbacks->refused(id, message, machine->opaque);
}

/* ---- ports --------------------------------------------------------------- */

static void on_port(const struct guest_port_news *news, void *opaque)
{
    struct machine *machine = opaque;

    switch (
        guest_ports_note(&machine->guest_ports, news, g_get_monotonic_time())) {
    case GUEST_PORTS_CHANGED:
        machine->callbacks->event(
            news->open ? "event.port_opened" : "event.port_closed",
            guest_ports_to_json(&news->port), machine->opaque);
        break;
    case GUEST_PORTS_TOO_MANY:
        guest_channel_complain(machine_guest(machine), "too many ports");
        break;
    case GUEST_PORTS_SAME:
        break;
    }
}

static void on_step_request(const struct guest_step_request *request,
                            void *opaque)
{
    struct machine *machine = opaque;

    machine->callbacks->step_request(request, machine->opaque);
}

static void on_processes(const struct guest_processes *processes, void *opaque)
{
    struct machine *machine = opaque;

    machine->callbacks->processes(processes, machine->opaque);
}

static void on_bulk_ended(void *opaque)
{
    struct machine *machine = opaque;

    bulk_port_interrupt(machine_bulk(machine));
}

/* A guest that is ending closes the channel, too, and machine_ended() follows
 * with the reason. QEMU reports that the guest itself has closed it. */
static void on_guest_closed(void *opaque)
{
    struct machine *machine = opaque;

    if (!machine->kind->is_system)
        machine_lost_guest(machine);
}

const struct guest_channel_callbacks machine_guest_callbacks = {
    .hello = on_hello,
    .mounted = machine_folders_on_mounted,
    .left = machine_folders_on_left,
    .unmounted = machine_folders_on_unmounted,
    .set_up = on_set_up,
    .renewed = on_renewed,
    .refreshed = machine_folders_on_refreshed,
    .output = on_output,
    .completed = on_completed,
    .input_taken = on_input_taken,
    .refused = on_refused,
    .port = on_port,
    .step_request = on_step_request,
    .processes = on_processes,
    .bulk_ended = on_bulk_ended,
    .closed = on_guest_closed,
};
