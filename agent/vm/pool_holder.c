/* SPDX-License-Identifier: Apache-2.0
 *
 * pool_holder - see pool_holder.h.
 */
#include "agent/vm/pool_holder.h"

#include <errno.h>
#include <fcntl.h>
#include <glib-unix.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/vm/pool_link.h"
#include "agent/vm/pool_priority.h"
#include "agent/vm/quiet_guest.h"
#include "agent/vm/template_key.h"
#include "agent/vm/template_maker.h"
#include "agent/vm/template_store.h"
#include "agent/vm/vm.h"
#include "common/errors.h"
#include "common/fd.h"
#include "common/unix_socket.h"

enum {
    LIMIT_S = 120, /* for a restore at low priority on a busy host */
    /* A busy host would starve what has the lowest priority: raise it then. */
    LOW_MS = 2000,
    RAISE_MS = 20, /* between attempts */
};

struct holder {
    GMainLoop *loop;
    int link;
    int network; /* the host's end of the frames, or -1 */
    struct guest_channel_callbacks guest;
    struct vm *vm;
    guint link_source, limit, low, raise;
    bool greeted; /* the shim has said hello */
    bool ready;
};

/* ---- the end ------------------------------------------------------------- */

/* Send the last message; its reader may have gone. */
static void leave(struct holder *holder, enum pool_message_type type,
                  int32_t clean, const char *text)
{
    pool_link_send(holder->link, type, clean, 0, text, NULL, 0);
    g_main_loop_quit(holder->loop);
}

static void fail(struct holder *holder, const char *text)
{
    leave(holder, POOL_FAILED, 0, text);
}

static void on_exited(struct vm *vm, void *opaque)
{
    struct holder *holder = opaque;
    g_autofree char *end = holder->ready ? vm_describe_process(vm)
                                         : vm_describe_end(vm);

    if (holder->ready)
        leave(holder, POOL_EXITED, vm_ended_cleanly(vm), end);
    else
        fail(holder, end);
}

static void on_port_closed(struct vm *vm, void *opaque)
{
    fail(opaque, "the guest has closed the control channel");
}

static void on_line(const char *line, void *opaque)
{
    const struct holder *holder = opaque;

    if (holder->ready)
        pool_link_send(holder->link, POOL_LINE, 0, 0, line, NULL, 0);
}

static const struct vm_callbacks vm_callbacks = {
    .exited = on_exited,
    .port_closed = on_port_closed,
    .line = on_line,
};

/* The end of the link is the end of the machine: free_holder() kills QEMU. */
static gboolean on_link(int fd, GIOCondition condition, gpointer data)
{
    struct holder *holder = data;
    struct pool_message message;
    int rc = pool_link_receive(fd, &message);

    if (rc == -EAGAIN)
        return G_SOURCE_CONTINUE;
    if (rc <= 0) {
        holder->link_source = 0;
        g_main_loop_quit(holder->loop);
        return G_SOURCE_REMOVE;
    }
    pool_message_close(&message);
    if (message.type == POOL_TERMINATE)
        vm_terminate(holder->vm);
    else if (message.type == POOL_KILL)
        vm_kill(holder->vm);
    return G_SOURCE_CONTINUE;
}

/* ---- the start ----------------------------------------------------------- */

/* The guest stands still: give its connections away. */
static void become_ready(struct holder *holder)
{
    struct vm_parts parts;
    int fds[POOL_FDS];
    size_t n = POOL_FD_NETWORK;
    int rc;

    g_clear_handle_id(&holder->limit, g_source_remove);
    g_clear_handle_id(&holder->low, g_source_remove);
    if (!vm_disconnect(holder->vm, &parts)) {
        fail(holder, "no file descriptors are left");
        return;
    }
    fds[POOL_FD_CONTROL] = parts.control;
    fds[POOL_FD_BULK] = parts.bulk;
    fds[POOL_FD_MONITOR] = parts.monitor;
    if (holder->network >= 0)
        fds[n++] = holder->network;
    rc = pool_link_send(holder->link, POOL_READY, getpid(), parts.qemu, NULL,
                        fds, n);
    vm_parts_close(&parts);
    fd_close(&holder->network);
    holder->ready = true;
    if (rc < 0)
        fail(holder, g_strerror(-rc));
}

/* A paused machine needs no low priority, and its next owner cannot raise
 * it. */
static gboolean raise_ready(gpointer data)
{
    struct holder *holder = data;

    if (!pool_priority_raise(vm_pid(holder->vm)))
        return G_SOURCE_CONTINUE;
    holder->raise = 0;
    become_ready(holder);
    return G_SOURCE_REMOVE;
}

static void on_paused(const char *error, void *opaque)
{
    struct holder *holder = opaque;

    if (error)
        fail(holder, error);
    else
        holder->raise = g_timeout_add(RAISE_MS, raise_ready, holder);
}

static gboolean raise_early(gpointer data)
{
    struct holder *holder = data;

    holder->low = 0;
    pool_priority_raise(vm_pid(holder->vm));
    return G_SOURCE_REMOVE;
}

static void on_hello(const struct guest_hello *hello, void *opaque)
{
    struct holder *holder = opaque;

    if (holder->greeted)
        return;
    holder->greeted = true;
    vm_pause(holder->vm, on_paused);
}

static gboolean on_late(gpointer data)
{
    struct holder *holder = data;

    holder->limit = 0;
    fail(holder, "the guest does not answer");
    return G_SOURCE_REMOVE;
}

static gboolean start(struct holder *holder, const struct vm_config *config,
                      GError **error)
{
    struct vm_config shape = *config;
    g_autofree char *key = template_key_new(config);
    int network[2] = { -1, -1 };
    fd_auto int state = key ? template_store_open(key, error) : -1;

    if (state < 0)
        return FALSE;
    if (config->network_fd >= 0 &&
        !unix_socket_pair(SOCK_STREAM, ERROR_VM_LAUNCH_FAILED, network, error))
        return FALSE;
    holder->network = network[0];
    shape.is_template = true;
    shape.state_fd = state;
    shape.network_fd = network[1];
    shape.console_path = "/dev/null"; /* until it is taken */
    holder->guest = quiet_guest_callbacks(on_hello);
    holder->vm = vm_new(&shape, &holder->guest, &vm_callbacks, holder, error);
    fd_close(&network[1]);
    if (!holder->vm)
        return FALSE;
    pool_priority_lower(vm_pid(holder->vm));
    holder->low = g_timeout_add(LOW_MS, raise_early, holder);
    guest_channel_request_hello(vm_guest(holder->vm));
    return TRUE;
}

static void free_holder(struct holder *holder)
{
    g_clear_handle_id(&holder->link_source, g_source_remove);
    g_clear_handle_id(&holder->limit, g_source_remove);
    g_clear_handle_id(&holder->raise, g_source_remove);
    g_clear_handle_id(&holder->low, g_source_remove);
    vm_free(holder->vm);
    fd_close(&holder->network);
    fd_close(&holder->link);
    g_main_loop_unref(holder->loop);
}

void pool_holder_run(int link, const struct vm_config *config)
{
    struct holder holder = { .link = link, .network = -1 };
    g_autoptr(GError) error = NULL;

    fcntl(link, F_SETFD, FD_CLOEXEC);
    g_unix_set_fd_nonblocking(link, TRUE, NULL);
    holder.loop = g_main_loop_new(NULL, FALSE);
    if (start(&holder, config, &error)) {
        holder.link_source = g_unix_fd_add(link, G_IO_IN | G_IO_HUP | G_IO_ERR,
                                           on_link, &holder);
        holder.limit = g_timeout_add_seconds(LIMIT_S, on_late, &holder);
        g_main_loop_run(holder.loop);
    } else {
        pool_link_send(link, POOL_FAILED, 0, 0,
                       error ? error->message : "there is no template", NULL,
                       0);
    }
    free_holder(&holder);
}

/* ---- the process --------------------------------------------------------- */

/* In the child. Makes only system calls. */
static void prepare(gpointer data)
{
    setsid();
    fcntl(GPOINTER_TO_INT(data), F_SETFD, 0);
}

gboolean pool_holder_spawn(int link, const struct vm_config *config,
                           GError **error)
{
    g_autofree char *number = g_strdup_printf("%d", link);

    return template_maker_spawn_as(POOL_HOLDER_VERB, number, config, prepare,
                                   GINT_TO_POINTER(link), error);
}

bool pool_holder_parse(int argc, char **argv, struct guest_image *ret_image,
                       struct vm_config *ret_config, int *ret_link)
{
    gint64 link;

    if (argc < 2 ||
        !g_ascii_string_to_signed(argv[argc - 1], 10, 3, 1 << 20, &link, NULL))
        return false;
    *ret_link = (int)link;
    return template_maker_parse(argc - 1, argv, ret_image, ret_config);
}
