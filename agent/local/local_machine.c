/* SPDX-License-Identifier: Apache-2.0
 *
 * local_machine - see local_machine.h.
 *
 * Start: stepback-local makes namespaces and mounts the folders in them, and
 * hands over each /dev/fuse (local/wire.h) -> the file servers serve them,
 * outside -> stepback-local becomes bubblewrap, which runs the shim.
 *
 * All of the sandbox ends with that child: its processes with the pid
 * namespace, whose first process gets a signal when the child ends, and is
 * killed by itself (local_first.h); its mounts with the mount namespace. The
 * file servers end when their mount does.
 */
#include "agent/local/local_machine.h"

#include <string.h>
#include <sys/socket.h>

#include <glib-unix.h>

#include "agent/base/install_paths.h"
#include "agent/local/local_check.h"
#include "agent/local/local_command.h"
#include "agent/local/local_handover.h"
#include "agent/local/local_machine_state.h"
#include "agent/local/local_plugs.h"
#include "agent/machine/machine_core.h"
#include "agent/machine/machine_guest.h"
#include "agent/machine/session_bus.h"
#include "common/fd.h"
#include "common/log.h"
#include "common/unix_socket.h"

enum {
    GUEST_STOP_MS = 2000,
    TERM_GRACE_MS = 500,
    LINES_MAX = 100, /* the guest can write there, too */
};

/* ---- the hand-over ------------------------------------------------------- */

static void fail_start(struct machine *machine, char type, const char *text)
{
    static const struct {
        char type;
        enum error_code code;
    } codes[] = {
        { LOCAL_NO_NAMESPACES, ERROR_NO_USER_NAMESPACES },
        { LOCAL_NO_IDS, ERROR_NO_USER_NAMESPACES },
        { LOCAL_NO_FUSE, ERROR_NO_FUSE },
        { LOCAL_NO_NETWORK, ERROR_NO_NETWORK },
    };
    enum error_code code = ERROR_VM_LAUNCH_FAILED;
    const char *remedy = local_check_namespace_remedy();
    g_autofree char *message = NULL;

    for (size_t i = 0; i < G_N_ELEMENTS(codes); i++) {
        if (codes[i].type == type)
            code = codes[i].code;
    }
    if (type == LOCAL_NO_IDS)
        remedy = local_ids_failure_remedy();
    if (type == LOCAL_NO_NETWORK)
        remedy = "run as root: modprobe tun; chmod a+rw /dev/net/tun; or start "
                 "without a network (--no-network)";
    message = g_strdup_printf("the sandbox could not be made: %s; %s", text,
                              remedy);
    machine_fail_with(machine, code, message);
}

static bool has_network(const struct machine *machine)
{
    return machine->config->network.kind != NETWORK_DISABLED;
}

/* The file servers inherit the devices: no other copy may stay open, or a mount
 * would outlive its server. */
static void serve_folders(struct machine *machine,
                          struct local_handover *message)
{
    struct local_machine *own = machine->state;
    unsigned folders = machine->config->n_directories;
    const int *fds = message->fds;
    g_autoptr(GError) error = NULL;

    if (message->n_fds != folders + has_network(machine) ||
        message->n_devices != folders) {
        local_handover_close_fds(message);
        machine_fail_with(machine, ERROR_VM_LAUNCH_FAILED,
                          "stepback-local did not hand over the mounts");
        return;
    }
    machine->times.mounted = g_get_monotonic_time();
    for (unsigned i = 0; i < folders; i++) {
        machine->launch->fuse_fds[i] = fds[i];
        own->devices[i] = message->devices[i];
    }
    if (has_network(machine))
        machine->tap = fds[folders];
    if (!machine_start_backends(machine, &error))
        machine_fail(machine, error);
    for (unsigned i = 0; i < folders; i++)
        fd_close(&machine->launch->fuse_fds[i]);
}

/* Take the message of stepback-local, if it has come. Return whether another
 * may come. */
static bool read_wire(struct machine *machine)
{
    const struct local_machine *own = machine->state;
    struct local_handover message;

    if (!local_handover_receive(own->wire, &message))
        return true;
    if (message.type == LOCAL_READY && machine->stage == BACKEND)
        serve_folders(machine, &message);
    else
        local_handover_close_fds(&message);
    /* After its end on_exited() follows. */
    if (message.type != LOCAL_READY && message.type != 0)
        fail_start(machine, message.type, message.text);
    return false;
}

static gboolean on_wire(int fd, GIOCondition condition, gpointer data)
{
    struct machine *machine = data;
    struct local_machine *own = machine->state;

    if (read_wire(machine))
        return G_SOURCE_CONTINUE;
    own->wire_source = 0;
    return G_SOURCE_REMOVE;
}

/* ---- the child ----------------------------------------------------------- */

static void on_line(struct child *child, const char *line, void *opaque)
{
    struct machine *machine = opaque;
    struct local_machine *own = machine->state;

    if (own->lines++ >= LINES_MAX)
        return;
    log_warn(LOG_SESSION, "the sandbox: %.500s", line);
    if (machine->stage != BACKEND && machine->stage != BOOTING)
        return;
    local_rootfs_clear(&own->rootfs);
    g_free(own->last_line);
    own->last_line = g_strndup(line, 500);
}

static char *describe_end(const struct machine *machine,
                          const struct child *child)
{
    const struct local_machine *own = machine->state;
    g_autofree char *end = child_describe_exit(child);

    if (machine->stage != RUNNING)
        return g_strdup_printf("the sandbox could not be made: %s; %s",
                               own->last_line ? own->last_line : end,
                               local_check_namespace_remedy());
    if (local_cgroup_oom_kills(own->cgroup) > 0)
        return g_strdup_printf("the sandbox has ended: its memory (%u MiB) was "
                               "used up; start it with more: --memory",
                               session_config_memory(machine->config));
    return g_strdup_printf("the sandbox has ended: bubblewrap %s", end);
}

/* No process of the sandbox is left. */
static void on_all_ended(void *opaque)
{
    struct machine *machine = opaque;
    struct local_machine *own = machine->state;
    g_autofree char *end = g_steal_pointer(&own->end);

    machine->times.ended = g_get_monotonic_time();
    machine_ended(machine, end);
}

static void on_exited(struct child *child, void *opaque)
{
    struct machine *machine = opaque;
    struct local_machine *own = machine->state;

    own->end = describe_end(machine, child);
    if (own->wire_source) { /* the reason may be there */
        g_clear_handle_id(&own->wire_source, g_source_remove);
        read_wire(machine);
    }
    /* The reason is known; a channel or a mount that is closed has no other. */
    g_clear_handle_id(&machine->blame_timer, g_source_remove);
    local_first_end(&own->first, on_all_ended, machine);
}

static const struct child_callbacks child_callbacks = {
    .line = on_line,
    .exited = on_exited,
};

/* ---- start --------------------------------------------------------------- */

/* Half of the memory, as is usual: one full folder leaves room for processes.
 */
static guint64 tmpfs_bytes(const struct machine *machine)
{
    const struct local_machine *own = machine->state;
    guint64 bytes = (guint64)session_config_memory(machine->config) << 20;

    return local_cgroup_limits_memory(own->cgroup) ? bytes / 2 : bytes;
}

static gboolean start_bus(struct machine *machine, GError **error)
{
    const struct local_machine *own = machine->state;
    g_autofree char *path = runtime_dir_path(machine->launch->dir, "bus.sock");
    g_autoptr(GPtrArray)
        warnings = session_bus_warnings(machine->config->session_bus);

    if (!own->bus)
        return TRUE;
    if (!local_bus_start(own->bus, path, error) ||
        !local_cgroup_add(own->cgroup, local_bus_pid(own->bus), error))
        return FALSE;
    for (guint i = 0; i < warnings->len; i++)
        machine_warn(machine, SESSION_BUS_WARNING, warnings->pdata[i]);
    return TRUE;
}

static gboolean begin(struct machine *machine, GError **error)
{
    struct local_machine *own = machine->state;
    int wire[2] = { -1, -1 }, control[2] = { -1, -1 }, bulk[2] = { -1, -1 };
    struct local_argv argv = { 0 };
    g_autofree char *trusted = NULL;

    if (!guest_trust_added(machine->trust, has_network(machine), &trusted,
                           error))
        return FALSE;
    if (start_bus(machine, error) &&
        unix_socket_pair(SOCK_SEQPACKET, ERROR_VM_LAUNCH_FAILED, wire, error) &&
        unix_socket_pair(SOCK_STREAM, ERROR_VM_LAUNCH_FAILED, control, error) &&
        unix_socket_pair(SOCK_STREAM, ERROR_VM_LAUNCH_FAILED, bulk, error)) {
        const struct local_command command = {
            .helper = own->helper,
            .bwrap = own->bwrap,
            .shim = own->shim,
            .root = own->rootfs.path,
            .ids = &own->ids,
            .bus = local_bus_path(own->bus),
            .bus_ready = local_bus_ready_fd(own->bus),
            .tmpfs_bytes = tmpfs_bytes(machine),
            .config = machine->config,
            .helper_fd = wire[1],
            .control_fd = control[1],
            .bulk_fd = bulk[1],
            .network = has_network(machine),
            .trusted = trusted,
        };

        if (local_command_build(&command, &argv, error))
            own->child = child_spawn((const char *const *)argv.argv,
                                     (const int *)(void *)argv.fds->data,
                                     argv.fds->len, &child_callbacks, machine,
                                     error);
    }
    local_command_clear(&argv);
    fd_close(&wire[1]);
    fd_close(&control[1]);
    fd_close(&bulk[1]);
    own->wire = wire[0];
    own->control = control[0];
    own->bulk_fd = bulk[0];
    /* At once, since the kernel takes some 15 ms for it, in which
     * stepback-local works. That keeps its pid, and has no child of the sandbox
     * until it gets the message to continue. */
    machine->runs = own->child &&
                    local_cgroup_add(own->cgroup, child_pid(own->child), error);
    if (machine->runs)
        own->wire_source = g_unix_fd_add(own->wire, G_IO_IN | G_IO_HUP, on_wire,
                                         machine);
    return machine->runs;
}

/* Implements bulk_port_restart. */
static void start_bulk(const char *mark, void *opaque)
{
    const struct local_machine *own = opaque;

    guest_channel_start_bulk(own->guest, mark);
}

/* The servers have the mounts: stepback-local may go on. */
static gboolean start(struct machine *machine, int network_fd, GError **error)
{
    struct local_machine *own = machine->state;

    own->guest = guest_channel_new(fd_steal(&own->control),
                                   &machine_guest_callbacks, machine);
    own->bulk = bulk_port_new(fd_steal(&own->bulk_fd), start_bulk, own);
    if (send(own->wire, "g", 1, MSG_NOSIGNAL) != 1)
        log_debug(LOG_SESSION, "stepback-local has ended");
    fd_close(&machine->tap);
    fd_close(&own->wire);
    return TRUE;
}

/* ---- set-up -------------------------------------------------------------- */

static gboolean find_helper(const char *name, char **ret_path, GError **error)
{
    g_autofree char *missing = NULL;

    *ret_path = install_paths_find_helper(name);
    if (*ret_path)
        return TRUE;
    missing = install_paths_describe_missing(name);
    g_set_error_literal(error, STEPBACK_ERROR, ERROR_VM_LAUNCH_FAILED, missing);
    return FALSE;
}

static gboolean find_rootfs(struct local_machine *own,
                            const struct session_config *config, GError **error)
{
    return !config->rootfs ||
           local_rootfs_open(config->rootfs, &own->rootfs, error);
}

static gboolean prepare(struct machine *machine, GError **error)
{
    const struct session_config *config = machine->config;
    struct local_machine *own = g_new0(struct local_machine, 1);

    own->wire = own->control = own->bulk_fd = own->rootfs.lock = -1;
    own->first = LOCAL_FIRST_NONE;
    machine->state = own;
    if (!local_check_config(config, error))
        return FALSE;
    own->cgroup = local_cgroup_new(config, error);
    if (!own->cgroup)
        return FALSE;
    local_ids_find(&own->ids);
    machine->launch->holds_signals = local_cgroup_can_freeze(own->cgroup);
    own->bwrap = local_check_find_bwrap(error);
    return own->bwrap && find_helper(LOCAL_HELPER, &own->helper, error) &&
           find_helper("stepback-shim", &own->shim, error) &&
           local_check_fuse(error) && find_rootfs(own, config, error) &&
           local_bus_find(config, &own->bus, error) &&
           local_plugs_check_shares(own, config, error);
}

static void free_state(struct machine *machine)
{
    struct local_machine *own = machine->state;

    if (!own)
        return;
    g_clear_handle_id(&own->wire_source, g_source_remove);
    local_attach_free(own->attach);
    child_free(own->child);
    local_bus_free(own->bus);
    local_first_clear(&own->first);
    local_cgroup_free(own->cgroup);
    guest_channel_free(own->guest);
    bulk_port_free(own->bulk);
    fd_close(&own->wire);
    fd_close(&own->control);
    fd_close(&own->bulk_fd);
    local_ids_clear(&own->ids);
    g_free(own->last_line);
    g_free(own->end);
    g_free(own->helper);
    g_free(own->bwrap);
    g_free(own->shim);
    g_free(own);
}

/* ---- the running sandbox ------------------------------------------------- */

static void note_ready(struct machine *machine)
{
    struct local_machine *own = machine->state;

    if (!local_first_open(&own->first, child_pid(own->child)))
        log_warn(LOG_SESSION, "cannot find the first process of the sandbox");
}

static void kill_now(struct machine *machine)
{
    const struct local_machine *own = machine->state;

    child_kill(own->child);
}

static void stop(struct machine *machine, bool by_guest)
{
    const struct local_machine *own = machine->state;

    if (!by_guest) {
        child_kill(own->child);
        return;
    }
    guest_channel_shutdown(own->guest);
    child_expect_exit(own->child, GUEST_STOP_MS, TERM_GRACE_MS);
}

/* Without a cgroup the processes of the sandbox go on; the file servers hold
 * the change that a safeguard asks about, and all that follow. */
static void hold(struct machine *machine, bool hold)
{
    struct local_machine *own = machine->state;

    own->held = local_cgroup_freeze(own->cgroup, hold);
}

static bool is_held(const struct machine *machine)
{
    const struct local_machine *own = machine->state;

    return own->held;
}

static guint64 oom_kills(const struct machine *machine)
{
    const struct local_machine *own = machine->state;

    return local_cgroup_oom_kills(own->cgroup);
}

static guint64 count_ids(const struct machine *machine)
{
    const struct local_machine *own = machine->state;

    return own->ids.count;
}

static struct guest_channel *guest(const struct machine *machine)
{
    const struct local_machine *own = machine->state;

    return own->guest;
}

static struct bulk_port *bulk(const struct machine *machine)
{
    const struct local_machine *own = machine->state;

    return own->bulk;
}

static const char *waits_for(const struct machine *machine)
{
    return "starting the sandbox";
}

static char *console_tail(const struct machine *machine)
{
    const struct local_machine *own = machine->state;

    return g_strdup(own->last_line ? own->last_line : "");
}

const struct machine_kind local_machine_kind = {
    .what = "the sandbox",
    .prepare = prepare,
    .free = free_state,
    .begin = begin,
    .start = start,
    .note_ready = note_ready,
    .stop = stop,
    .kill = kill_now,
    .hold = hold,
    .is_held = is_held,
    .oom_kills = oom_kills,
    .count_ids = count_ids,
    .guest = guest,
    .bulk = bulk,
    .plugs = &local_plugs,
    .waits_for = waits_for,
    .console_tail = console_tail,
};
