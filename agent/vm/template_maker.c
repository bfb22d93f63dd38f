/* SPDX-License-Identifier: Apache-2.0
 *
 * template_maker - see template_maker.h.
 *
 * QEMU writes the state to a socket of ours, so that the template's size has a
 * limit while it is written, and a QEMU that is killed leaves a draft only.
 */
#include "agent/vm/template_maker.h"

#include <glib-unix.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/base/listener.h"
#include "agent/base/runtime_dir.h"
#include "agent/vm/quiet_guest.h"
#include "agent/vm/template_key.h"
#include "agent/vm/template_store.h"
#include "agent/vm/vm.h"
#include "common/errors.h"
#include "common/fd.h"
#include "common/log.h"
#include "common/unix_socket.h"

enum {
    LIMIT_S = 300,   /* for a boot at low priority on a busy host */
    SETTLE_MS = 200, /* from the hello until the guest's kernel is idle */
    CHUNK = 256 << 10,
};

struct maker {
    GMainLoop *loop;
    struct runtime_dir *dir;
    char *socket;
    struct guest_channel_callbacks guest;
    struct vm *vm;
    struct template_draft *draft;
    struct listener *listener;
    int state;   /* the connection from QEMU, or -1 */
    int network; /* the other end of the guest's network, unused; or -1 */
    bool ended;  /* QEMU has written all of the state */
    bool saved;  /* and says so */
    guint settle, limit, source;
    GError *error;
};

static void finish(struct maker *maker, GError *error)
{
    if (error && !maker->error)
        maker->error = error;
    else
        g_clear_error(&error);
    g_main_loop_quit(maker->loop);
}

static void fail(struct maker *maker, const char *text)
{
    finish(maker,
           g_error_new_literal(STEPBACK_ERROR, ERROR_VM_LAUNCH_FAILED, text));
}

/* ---- the state ----------------------------------------------------------- */

static void finish_if_done(struct maker *maker)
{
    if (maker->ended && maker->saved)
        finish(maker, NULL);
}

static gboolean on_state(int fd, GIOCondition condition, gpointer data)
{
    struct maker *maker = data;
    g_autofree char *chunk = g_malloc(CHUNK);
    ssize_t n = read(fd, chunk, CHUNK);
    GError *error = NULL;

    if (n < 0)
        return G_SOURCE_CONTINUE;
    if (n > 0 && template_store_write(maker->draft, chunk, (size_t)n, &error))
        return G_SOURCE_CONTINUE;
    maker->source = 0;
    maker->ended = n == 0;
    if (error)
        finish(maker, error);
    else
        finish_if_done(maker);
    return G_SOURCE_REMOVE;
}

static void on_connected(int fd, void *opaque)
{
    struct maker *maker = opaque;

    if (maker->state >= 0) {
        fd_close(&fd);
        return;
    }
    maker->state = fd;
    g_unix_set_fd_nonblocking(fd, TRUE, NULL);
    maker->source = g_unix_fd_add(fd, G_IO_IN | G_IO_HUP | G_IO_ERR, on_state,
                                  maker);
}

/* ---- the machine --------------------------------------------------------- */

static gboolean on_settled(gpointer data)
{
    struct maker *maker = data;

    maker->settle = 0;
    vm_save(maker->vm, maker->socket);
    return G_SOURCE_REMOVE;
}

static void on_hello(const struct guest_hello *hello, void *opaque)
{
    struct maker *maker = opaque;

    if (!hello->renews)
        fail(maker, "the guest image is too old for templates; rebuild it "
                    "with: stepback image build");
    else if (!maker->settle && maker->state < 0)
        maker->settle = g_timeout_add(SETTLE_MS, on_settled, maker);
}

static void on_saved(const char *error, void *opaque)
{
    struct maker *maker = opaque;
    g_autofree char *text = NULL;

    if (error) {
        text = g_strdup_printf("QEMU could not save the machine: %s", error);
        fail(maker, text);
        return;
    }
    maker->saved = true;
    finish_if_done(maker);
}

static void on_exited(struct vm *vm, void *opaque)
{
    g_autofree char *text = vm_describe_end(vm);

    fail(opaque, text);
}

static void on_port_closed(struct vm *vm, void *opaque)
{
    fail(opaque, "the guest has closed the control channel");
}

static const struct vm_callbacks vm_callbacks = {
    .exited = on_exited,
    .port_closed = on_port_closed,
    .saved = on_saved,
};

static gboolean on_late(gpointer data)
{
    struct maker *maker = data;

    maker->limit = 0;
    fail(maker, "the machine was not saved in time");
    return G_SOURCE_REMOVE;
}

/* ---- making -------------------------------------------------------------- */

static gboolean start(struct maker *maker, const struct vm_config *config,
                      GError **error)
{
    struct vm_config shape = *config;
    g_autofree char *console = NULL;
    int network[2] = { -1, -1 };

    maker->dir = runtime_dir_new(NULL, error);
    if (!maker->dir)
        return FALSE;
    console = runtime_dir_path(maker->dir, "console.log");
    maker->socket = runtime_dir_path(maker->dir, "state.sock");
    maker->listener = listener_new(maker->socket, LOG_SESSION, on_connected,
                                   maker, error);
    if (!maker->listener)
        return FALSE;
    if (config->network_fd >= 0 &&
        !unix_socket_pair(SOCK_STREAM, ERROR_VM_LAUNCH_FAILED, network, error))
        return FALSE;
    maker->network = network[0];
    shape.is_template = true;
    shape.state_fd = -1;
    shape.network_fd = network[1];
    shape.console_path = console;
    maker->guest = quiet_guest_callbacks(on_hello);
    maker->vm = vm_new(&shape, &maker->guest, &vm_callbacks, maker, error);
    fd_close(&network[1]);
    return maker->vm != NULL;
}

static void clear(struct maker *maker)
{
    g_clear_handle_id(&maker->settle, g_source_remove);
    g_clear_handle_id(&maker->limit, g_source_remove);
    g_clear_handle_id(&maker->source, g_source_remove);
    vm_free(maker->vm);
    listener_free(maker->listener);
    fd_close(&maker->state);
    fd_close(&maker->network);
    template_store_end(maker->draft);
    runtime_dir_free(maker->dir);
    g_free(maker->socket);
    g_main_loop_unref(maker->loop);
}

gboolean template_maker_run(const struct vm_config *config, GError **error)
{
    struct maker maker = { .state = -1, .network = -1 };
    g_autofree char *key = template_key_new(config);
    g_autoptr(GError) problem = NULL;

    if (!key) {
        g_set_error_literal(error, STEPBACK_ERROR, ERROR_VM_LAUNCH_FAILED,
                            "a file of the machine is missing");
        return FALSE;
    }
    maker.loop = g_main_loop_new(NULL, FALSE);
    maker.draft = template_store_prepare(&problem)
                      ? template_store_begin(key, &problem)
                      : NULL;
    if (maker.draft && start(&maker, config, &problem)) {
        maker.limit = g_timeout_add_seconds(LIMIT_S, on_late, &maker);
        g_main_loop_run(maker.loop);
        problem = g_steal_pointer(&maker.error);
        if (!problem)
            template_store_commit(maker.draft, &problem);
    }
    if (problem && maker.draft)
        template_store_refuse(key, problem->message);
    clear(&maker);
    if (!problem)
        return TRUE;
    g_propagate_error(error, g_steal_pointer(&problem));
    return FALSE;
}
