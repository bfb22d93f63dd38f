/* SPDX-License-Identifier: Apache-2.0
 *
 * vm - see vm.h.
 *
 * The connections are socket pairs created before QEMU starts: no listener has
 * to be awaited, no address can be too long, and QEMU's end shows as end of
 * file.
 *
 * The guest can write to its serial console without limit. A timer truncates
 * the file when it is too long; QEMU opens it with O_APPEND, so its next write
 * goes to the new end.
 */
#include "agent/vm/vm.h"

#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/base/child_log.h"
#include "agent/vm/qmp.h"
#include "agent/vm/vm_process.h"
#include "common/errors.h"
#include "common/fd.h"
#include "common/log.h"
#include "common/unix_socket.h"

enum {
    GUEST_STOP_MS = 2000,
    QEMU_STOP_MS = 1000,
    TERM_GRACE_MS = 500,
    CONSOLE_CHECK_S = 5,
    CONSOLE_MAX = 4 << 20,
};

struct vm {
    struct vm_process *qemu;
    int control_fd, bulk_fd, monitor_fd; /* owned by the next members */
    struct qmp *qmp;
    struct guest_channel *guest;
    struct bulk_port *bulk;
    struct vm_folders *folders;
    char *console_path;
    guint console_timer;
    char *last_error; /* QEMU's last line of stderr, or NULL */
    bool hung_up;     /* the monitor's connection is closed */
    bool ended;       /* the process has ended */
    const struct vm_callbacks *callbacks;
    void *opaque;
};

static void on_line(const char *line, void *opaque)
{
    struct vm *vm = opaque;

    child_log_line("qemu", LOG_SESSION, line, &vm->last_error);
    if (vm->callbacks->line)
        vm->callbacks->line(line, vm->opaque);
}

/* The monitor's last message may hold the reason of the end. */
static void notify_end(struct vm *vm)
{
    if (vm->ended && vm->hung_up)
        vm->callbacks->exited(vm, vm->opaque);
}

static void on_exited(void *opaque)
{
    struct vm *vm = opaque;

    vm->ended = true;
    notify_end(vm);
}

static void on_hung_up(void *opaque)
{
    struct vm *vm = opaque;

    vm->hung_up = true;
    notify_end(vm);
}

static const struct vm_process_callbacks process_callbacks = {
    .line = on_line,
    .exited = on_exited,
};

static void on_port_closed(const char *device, void *opaque)
{
    struct vm *vm = opaque;

    if (strcmp(device, VM_CONTROL_PORT) == 0)
        vm->callbacks->port_closed(vm, vm->opaque);
}

static void on_device_deleted(const char *device, void *opaque)
{
    struct vm *vm = opaque;

    vm_folders_note_deleted(vm->folders, device);
}

static void on_migrated(const char *status, void *opaque)
{
    struct vm *vm = opaque;

    if (vm->callbacks->saved)
        vm->callbacks->saved(strcmp(status, "completed") == 0 ? NULL : status,
                             vm->opaque);
}

static const struct qmp_callbacks qmp_callbacks = {
    .port_closed = on_port_closed,
    .device_deleted = on_device_deleted,
    .migrated = on_migrated,
    .closed = on_hung_up,
};

static gboolean check_console(gpointer data)
{
    struct vm *vm = data;
    fd_auto int fd = open(vm->console_path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;

    if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size > CONSOLE_MAX &&
        ftruncate(fd, 0) == 0)
        log_warn(LOG_SESSION,
                 "the guest's console exceeded %d bytes; its output so far is "
                 "discarded",
                 CONSOLE_MAX);
    return G_SOURCE_CONTINUE;
}

/* Implements bulk_port_restart. */
static void start_bulk(const char *mark, void *opaque)
{
    struct vm *vm = opaque;

    guest_channel_start_bulk(vm->guest, mark);
}

static struct vm *make(const struct vm_config *config,
                       const struct vm_callbacks *callbacks, void *opaque)
{
    struct vm *vm = g_new0(struct vm, 1);

    vm->callbacks = callbacks;
    vm->opaque = opaque;
    vm->console_path = g_strdup(config->console_path);
    return vm;
}

/* The connections to QEMU; the fds are taken. */
static void connect_to(struct vm *vm, const struct vm_config *config,
                       const struct guest_channel_callbacks *guest_callbacks,
                       int control, int bulk, int monitor, bool negotiated)
{
    vm->control_fd = control;
    vm->bulk_fd = bulk;
    vm->monitor_fd = monitor;
    vm->guest = guest_channel_new(control, guest_callbacks, vm->opaque);
    vm->bulk = bulk_port_new(bulk, start_bulk, vm);
    vm->qmp = qmp_new(monitor, negotiated, &qmp_callbacks, vm);
    vm->folders = vm_folders_new(vm->qmp, config->backend);
    vm->console_timer = g_timeout_add_seconds(CONSOLE_CHECK_S, check_console,
                                              vm);
}

struct vm *vm_new(const struct vm_config *config,
                  const struct guest_channel_callbacks *guest_callbacks,
                  const struct vm_callbacks *callbacks, void *opaque,
                  GError **error)
{
    int control[2] = { -1, -1 }, monitor[2] = { -1, -1 };
    int bulk[2] = { -1, -1 };
    struct vm *vm = make(config, callbacks, opaque);

    if (unix_socket_pair(SOCK_STREAM, ERROR_VM_LAUNCH_FAILED, control, error) &&
        unix_socket_pair(SOCK_STREAM, ERROR_VM_LAUNCH_FAILED, monitor, error) &&
        unix_socket_pair(SOCK_STREAM, ERROR_VM_LAUNCH_FAILED, bulk, error)) {
        const struct vm_sockets sockets = { control[1], bulk[1], monitor[1] };
        g_auto(GStrv) argv = vm_command_build(config, &sockets);
        int fds[5] = { control[1], bulk[1], monitor[1] };
        size_t n_fds = 3;

        if (config->network_fd >= 0)
            fds[n_fds++] = config->network_fd;
        if (config->state_fd >= 0)
            fds[n_fds++] = config->state_fd;
        vm->qemu = vm_process_spawn((const char *const *)argv, fds, n_fds,
                                    &process_callbacks, vm, error);
    }
    fd_close(&control[1]);
    fd_close(&bulk[1]);
    fd_close(&monitor[1]);
    if (!vm->qemu) {
        fd_close(&control[0]);
        fd_close(&bulk[0]);
        fd_close(&monitor[0]);
        vm_free(vm);
        return NULL;
    }
    connect_to(vm, config, guest_callbacks, control[0], bulk[0], monitor[0],
               false);
    return vm;
}

/* ---- a machine that changes its owner ------------------------------------ */

struct vm *vm_adopt(const struct vm_config *config, struct vm_parts *parts,
                    const struct guest_channel_callbacks *guest_callbacks,
                    const struct vm_callbacks *callbacks, void *opaque)
{
    struct vm *vm = make(config, callbacks, opaque);

    vm->qemu = vm_process_adopt(fd_steal(&parts->link), parts->holder,
                                parts->qemu, &process_callbacks, vm);
    connect_to(vm, config, guest_callbacks, fd_steal(&parts->control),
               fd_steal(&parts->bulk), fd_steal(&parts->monitor), true);
    /* If that fails, the machine has no console, and a message says so. */
    qmp_move_file(vm->qmp, VM_CONSOLE, vm->console_path);
    vm_hold(vm, false);
    return vm;
}

void vm_parts_close(struct vm_parts *parts)
{
    fd_close(&parts->link);
    fd_close(&parts->control);
    fd_close(&parts->bulk);
    fd_close(&parts->monitor);
    fd_close(&parts->network);
}

static int duplicate(int fd)
{
    return fcntl(fd, F_DUPFD_CLOEXEC, 3);
}

bool vm_disconnect(struct vm *vm, struct vm_parts *ret_parts)
{
    *ret_parts = (struct vm_parts){
        .link = -1,
        .control = duplicate(vm->control_fd),
        .bulk = duplicate(vm->bulk_fd),
        .monitor = duplicate(vm->monitor_fd),
        .network = -1,
        .qemu = vm_process_pid(vm->qemu),
    };
    g_clear_handle_id(&vm->console_timer, g_source_remove);
    g_clear_pointer(&vm->folders, vm_folders_free);
    g_clear_pointer(&vm->qmp, qmp_free);
    g_clear_pointer(&vm->guest, guest_channel_free);
    g_clear_pointer(&vm->bulk, bulk_port_free);
    vm->hung_up = true;
    if (ret_parts->control >= 0 && ret_parts->bulk >= 0 &&
        ret_parts->monitor >= 0)
        return true;
    vm_parts_close(ret_parts);
    return false;
}

GPid vm_pid(const struct vm *vm)
{
    return vm_process_pid(vm->qemu);
}

GPid vm_holder(const struct vm *vm)
{
    return vm_process_holder(vm->qemu);
}

void vm_free(struct vm *vm)
{
    if (!vm)
        return;
    g_clear_handle_id(&vm->console_timer, g_source_remove);
    vm_process_free(vm->qemu);
    vm_folders_free(vm->folders);
    qmp_free(vm->qmp);
    guest_channel_free(vm->guest);
    bulk_port_free(vm->bulk);
    g_free(vm->console_path);
    g_free(vm->last_error);
    g_free(vm);
}

struct guest_channel *vm_guest(struct vm *vm)
{
    return vm->guest;
}

struct bulk_port *vm_bulk(struct vm *vm)
{
    return vm->bulk;
}

struct vm_folders *vm_folders(struct vm *vm)
{
    return vm->folders;
}

void vm_stop(struct vm *vm, bool by_guest)
{
    if (by_guest)
        guest_channel_shutdown(vm->guest);
    else
        qmp_quit(vm->qmp);
    vm_process_expect_exit(vm->qemu, by_guest ? GUEST_STOP_MS : QEMU_STOP_MS,
                           TERM_GRACE_MS);
}

void vm_terminate(struct vm *vm)
{
    vm_process_expect_exit(vm->qemu, 0, TERM_GRACE_MS);
}

void vm_kill(struct vm *vm)
{
    vm_process_kill(vm->qemu);
}

void vm_hold(struct vm *vm, bool hold)
{
    qmp_hold(vm->qmp, hold);
}

/* QEMU drains the block devices after it has reported the stop, and answers
 * then. */
void vm_pause(struct vm *vm, void (*done)(const char *error, void *opaque))
{
    qmp_request(vm->qmp, "stop", NULL, done, vm->opaque);
}

static void on_save_refused(const char *error, void *opaque)
{
    const struct vm *vm = opaque;

    if (error)
        vm->callbacks->saved(error, vm->opaque);
}

void vm_save(struct vm *vm, const char *socket)
{
    qmp_save(vm->qmp, socket, on_save_refused, vm);
}

bool vm_is_up(const struct vm *vm)
{
    return qmp_has_answered(vm->qmp);
}

bool vm_is_held(const struct vm *vm)
{
    return qmp_is_held(vm->qmp);
}

char *vm_describe_end(const struct vm *vm)
{
    static const char *const by_guest[] = {
        [QMP_GUEST_RESET] = "the guest rebooted, or its kernel crashed, which "
                            "ended the machine",
        [QMP_GUEST_STOPPED] = "the guest powered itself off",
    };
    const char *reason = by_guest[qmp_guest_end(vm->qmp)];
    g_autofree char *end = vm_process_describe_exit(vm->qemu);

    if (reason && vm_process_exited_cleanly(vm->qemu))
        return g_strdup(reason);
    return g_strdup_printf("QEMU %s%s%s", end, vm->last_error ? ": " : "",
                           vm->last_error ? vm->last_error : "");
}

char *vm_describe_process(const struct vm *vm)
{
    return vm_process_describe_exit(vm->qemu);
}

bool vm_ended_cleanly(const struct vm *vm)
{
    return vm_process_exited_cleanly(vm->qemu);
}

bool vm_was_reset(const struct vm *vm)
{
    return qmp_guest_end(vm->qmp) == QMP_GUEST_RESET &&
           vm_process_exited_cleanly(vm->qemu);
}

char *vm_console_tail(const struct vm *vm, enum vm_console bytes)
{
    fd_auto int fd = open(vm->console_path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    char buffer[VM_CONSOLE_TRACE];
    off_t size = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
    ssize_t n = 0;
    char *text;

    if (size > 0)
        n = pread(fd, buffer, bytes, MAX(size - (off_t)bytes, 0));
    text = g_utf8_make_valid(buffer, MAX(n, 0));
    /* Terminal control sequences do not belong in a message. */
    for (char *p = text; *p; p++) {
        if (g_ascii_iscntrl(*p) && *p != '\n')
            *p = ' ';
    }
    return g_strstrip(text);
}
