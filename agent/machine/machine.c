/* SPDX-License-Identifier: Apache-2.0
 *
 * machine - see machine.h.
 *
 * Stages: BACKEND (the daemons start) -> BOOTING (the guest's process runs) ->
 * MOUNTING (the shim said hello) -> RUNNING. A kind may go from BOOTING to
 * RESTARTING and back to BACKEND after a failed start. Any stage may go to
 * FAILED, and machine_stop() goes to STOPPING from every stage.
 *
 * machine_guest.c handles the guest's messages.
 *
 * Shutdown order: the guest first, then its network process, then the daemons,
 * which close their logs.
 */
#include "agent/machine/machine.h"

#include "agent/machine/machine_change.h"
#include "agent/machine/machine_core.h"
#include "agent/machine/machine_folders.h"
#include "agent/machine/machine_network.h"
#include "common/errors.h"
#include "common/fd.h"
#include "common/log.h"

/* The end of the guest also ends the daemon, and a rebooting guest closes the
 * port. So the daemon's clean end and the closed port count as failures only if
 * the guest still runs after this delay. On a busy host a process that frees a
 * guest's memory needs time between closing its files and its end. */
enum { BLAME_MS = 2000 };

/* ---- the guest ----------------------------------------------------------- */

void machine_ended(struct machine *machine, const char *reason)
{
    enum stage stage = machine->stage;

    machine->runs = false;
    if (stage == STOPPING)
        machine_stop_further(machine);
    else
        machine_fail_with(machine,
                          stage == RUNNING ? ERROR_CONTROL_DISCONNECTED
                                           : ERROR_VM_LAUNCH_FAILED,
                          reason);
}

static gboolean blame_port(gpointer data)
{
    struct machine *machine = data;

    machine->blame_timer = 0;
    machine_fail_guest(machine, ERROR_CONTROL_DISCONNECTED,
                       "the guest has closed the control channel");
    return G_SOURCE_REMOVE;
}

void machine_lost_guest(struct machine *machine)
{
    if ((machine->stage == RUNNING || machine->stage == MOUNTING) &&
        !machine->blame_timer)
        machine->blame_timer = g_timeout_add(BLAME_MS, blame_port, machine);
}

static gboolean on_boot_timeout(gpointer data)
{
    struct machine *machine = data;
    g_autofree char *console = machine->kind->console_tail(machine);
    g_autofree char *text = g_strdup_printf(
        "the guest was not up after %u s%s%s", machine->config->boot_timeout_s,
        *console ? "; its console ends with:\n" : "", console);

    machine->boot_timer = 0;
    machine_fail_guest(machine, ERROR_VM_BOOT_TIMEOUT, text);
    return G_SOURCE_REMOVE;
}

void machine_start_timeout(struct machine *machine)
{
    g_clear_handle_id(&machine->boot_timer, g_source_remove);
    machine->boot_timer = g_timeout_add_seconds(machine->config->boot_timeout_s,
                                                on_boot_timeout, machine);
}

/* ---- the guest starts -----------------------------------------------------
 */

static void start_guest(struct machine *machine)
{
    fd_auto int network = -1;
    g_autoptr(GError) error = NULL;

    machine->stage = BOOTING;
    machine->times.launched = g_get_monotonic_time();
    if (machine->kind->choose)
        machine->kind->choose(machine);
    machine->runs = machine_network_start(machine, &network, &error) &&
                    machine->kind->start(machine, network, &error);
    if (!machine->runs)
        machine_fail(machine, error);
    else if (machine->kind->watch)
        machine->kind->watch(machine);
}

/* ---- the daemons --------------------------------------------------------- */

static void on_backends_ready(void *opaque)
{
    struct machine *machine = opaque;

    if (machine->stage == BACKEND)
        start_guest(machine);
}

static void on_backend_event(unsigned index, const char *type, json_t *payload,
                             void *opaque)
{
    struct machine *machine = opaque;

    machine->callbacks->folder_event(index, type, payload, machine->opaque);
}

static void on_backend_refresh(unsigned index, gint64 id, json_t *message,
                               void *opaque)
{
    machine_folders_refresh(opaque, index, id, message);
}

static gboolean blame_backend(gpointer data)
{
    struct machine *machine = data;

    g_autofree char *text = g_strdup_printf(
        "the file system daemon has ended while %s runs", machine->kind->what);

    machine->blame_timer = 0;
    machine_fail_with(machine, ERROR_BACKEND_FAILED, text);
    return G_SOURCE_REMOVE;
}

static void on_backend_ended(const GError *error, bool clean, void *opaque)
{
    struct machine *machine = opaque;

    if (machine->stage == STOPPING)
        machine_stop_further(machine);
    else if (machine->stage == RESTARTING)
        machine->kind->restart(machine);
    else if (!clean || !machine->runs || machine->stage == FAILED)
        machine_fail(machine, error);
    else if (!machine->blame_timer)
        machine->blame_timer = g_timeout_add(BLAME_MS, blame_backend, machine);
}

static const struct backends_callbacks backends_callbacks = {
    .ready = on_backends_ready,
    .event = on_backend_event,
    .refresh = on_backend_refresh,
    .ended = on_backend_ended,
};

gboolean machine_start_backends(struct machine *machine, GError **error)
{
    machine->stage = BACKEND;
    machine->backends = backends_new(machine->config, machine->launch,
                                     machine->log_level, &backends_callbacks,
                                     machine, error);
    return machine->backends != NULL;
}

/* ---- set-up -------------------------------------------------------------- */

static gboolean bind_ports(struct machine *machine, GError **error)
{
    const GArray *specs = machine->config->ports;

    for (guint i = 0; i < specs->len; i++) {
        if (!published_ports_add(machine->ports,
                                 &g_array_index(specs, struct port_spec, i),
                                 error))
            return FALSE;
    }
    return TRUE;
}

struct machine *machine_new(const struct machine_kind *kind,
                            const struct session_config *config,
                            const char *log_level,
                            const struct machine_callbacks *callbacks,
                            void *opaque, GError **error)
{
    struct machine *machine = g_new0(struct machine, 1);

    machine->kind = kind;
    machine->config = config;
    machine->tap = -1;
    machine->log_level = g_strdup(log_level);
    machine->callbacks = callbacks;
    machine->opaque = opaque;
    machine->times.started = g_get_monotonic_time();
    machine->ports = published_ports_new();
    machine->trust = guest_trust_new(config);
    machine->upstream = upstream_proxy_new(config->upstream_proxy);
    if ((network_policy_has_names(&config->network) &&
         !upstream_proxy_check(machine->upstream, error)) ||
        !secret_list_read(config->secrets, error) ||
        !bind_ports(machine, error) ||
        !(machine->launch = launch_new(config, error)) ||
        !kind->prepare(machine, error) || !kind->begin(machine, error)) {
        machine_free(machine);
        return NULL;
    }
    if (runtime_dir_note(machine->launch->dir))
        machine_warn(machine, "runtime_dir",
                     runtime_dir_note(machine->launch->dir));
    machine_start_timeout(machine);
    return machine;
}

void machine_free(struct machine *machine)
{
    if (!machine)
        return;
    machine->stage = STOPPING; /* requests that fail now are no news */
    machine_clear_timers(machine);
    g_clear_handle_id(&machine->stopped_source, g_source_remove);
    machine_change_cancel(machine);
    machine_folders_clear(machine);
    machine->kind->free(machine);
    network_free(machine->network);
    fd_close(&machine->tap);
    published_ports_free(machine->ports);
    guest_trust_free(machine->trust);
    upstream_proxy_free(machine->upstream);
    backends_free(machine->backends);
    launch_free(machine->launch);
    g_free(machine->log_level);
    g_free(machine);
}

void machine_stop(struct machine *machine)
{
    bool by_guest = machine->stage == RUNNING && !machine_is_held(machine);

    if (machine->stage == STOPPING)
        return;
    machine_clear_timers(machine);
    machine->stage = STOPPING;
    machine_change_cancel(machine);
    if (machine->runs)
        machine->kind->stop(machine, by_guest);
    machine_stop_further(machine);
}

void machine_kill(struct machine *machine)
{
    machine_stop(machine);
    if (machine->runs)
        machine->kind->kill(machine);
    if (backends_run(machine->backends))
        backends_kill(machine->backends);
}

void machine_hold(struct machine *machine, bool hold)
{
    if (!machine->runs)
        return;
    machine->kind->hold(machine, hold);
    backends_pause_names(machine->backends, hold);
}

bool machine_is_held(const struct machine *machine)
{
    return machine->runs && machine->kind->is_held(machine);
}

bool machine_counts_oom_kills(const struct machine *machine)
{
    return machine->kind->oom_kills != NULL;
}

guint64 machine_ids(const struct machine *machine)
{
    return machine->kind->count_ids ? machine->kind->count_ids(machine) : 0;
}

guint64 machine_oom_kills(const struct machine *machine)
{
    return machine->kind->oom_kills ? machine->kind->oom_kills(machine) : 0;
}

const char *machine_waits_for(const struct machine *machine)
{
    static const char *const names[] = {
        [BACKEND] = "starting the file servers",
        [BOOTING] = "starting the guest",
        [MOUNTING] = "mounting the folders",
        [RESTARTING] = "restarting the guest",
        [STOPPING] = "stopping the machine",
    };

    const char *waits_for = machine->stage == BOOTING
                                ? machine->kind->waits_for(machine)
                                : NULL;

    if (waits_for)
        return waits_for;
    return machine->stage < G_N_ELEMENTS(names) ? names[machine->stage] : NULL;
}

struct backends *machine_backends(struct machine *machine)
{
    return machine->backends;
}

struct guest_channel *machine_guest(struct machine *machine)
{
    return machine->kind->guest(machine);
}

struct bulk_port *machine_bulk(struct machine *machine)
{
    return machine->kind->bulk(machine);
}

char *machine_runtime_path(const struct machine *machine, const char *name)
{
    return runtime_dir_path(machine->launch->dir, name);
}

guint64 machine_complaints(const struct machine *machine)
{
    struct guest_channel *guest = machine->kind->guest(machine);

    return guest ? guest_channel_complaints(guest) : 0;
}

struct published_ports *machine_ports(struct machine *machine)
{
    return machine->ports;
}

const struct guest_ports *machine_guest_ports(const struct machine *machine)
{
    return &machine->guest_ports;
}

struct network *machine_network(struct machine *machine)
{
    return machine->network;
}

const char *machine_disk(const struct machine *machine)
{
    return machine->kind->disk ? machine->kind->disk(machine) : NULL;
}

enum accel machine_accel(const struct machine *machine)
{
    return machine->kind->accel ? machine->kind->accel(machine) : ACCEL_AUTO;
}

bool machine_is_pooled(const struct machine *machine)
{
    return machine->kind->is_pooled && machine->kind->is_pooled(machine);
}

GPid machine_holder(const struct machine *machine)
{
    return machine->kind->holder ? machine->kind->holder(machine) : 0;
}

bool machine_is_restored(const struct machine *machine)
{
    const char *mac;

    return machine->kind->is_restored &&
           machine->kind->is_restored(machine, &mac);
}

gint64 machine_boot_ms(const struct machine *machine)
{
    return (machine->times.ready - machine->times.started) / 1000;
}

const struct machine_times *machine_times(const struct machine *machine)
{
    return &machine->times;
}
