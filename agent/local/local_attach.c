/* SPDX-License-Identifier: Apache-2.0
 *
 * local_attach - see local_attach.h.
 */
#include "agent/local/local_attach.h"

#include <errno.h>
#include <fcntl.h>
#include <glib-unix.h>
#include <string.h>
#include <sys/socket.h>

#include "agent/base/child.h"
#include "agent/local/local_first.h"
#include "agent/local/local_handover.h"
#include "common/fd.h"
#include "common/log.h"

enum { LIMIT_S = 10 };

struct local_attach {
    char *helper;
    GPid sandbox;
    struct child *child;
    int wire;
    guint source, timer, late;
    int *ret_fuse;
    guint64 *ret_device;
    char *problem;        /* of a request that could not begin */
    machine_plugged done; /* NULL: no request */
    void *opaque;
};

struct local_attach *local_attach_new(const char *helper, GPid sandbox)
{
    struct local_attach *attach = g_new0(struct local_attach, 1);

    attach->helper = g_strdup(helper);
    attach->sandbox = sandbox;
    attach->wire = -1;
    return attach;
}

void local_attach_close(struct local_attach *attach)
{
    g_clear_handle_id(&attach->source, g_source_remove);
    g_clear_handle_id(&attach->timer, g_source_remove);
    g_clear_handle_id(&attach->late, g_source_remove);
    g_clear_pointer(&attach->child, child_free);
    g_clear_pointer(&attach->problem, g_free);
    fd_close(&attach->wire);
    attach->done = NULL;
}

void local_attach_free(struct local_attach *attach)
{
    if (!attach)
        return;
    local_attach_close(attach);
    g_free(attach->helper);
    g_free(attach);
}

/* ---- the sandbox's namespaces -------------------------------------------- */

static int open_namespace(long pid)
{
    g_autofree char *path = g_strdup_printf("/proc/%ld/ns/mnt", pid);

    return open(path, O_RDONLY | O_CLOEXEC);
}

/* The pid cannot be another process's: it is bubblewrap's child afterwards as
 * well, which was not reaped. */
static bool open_namespaces(GPid sandbox, int *ret_outer, int *ret_inner)
{
    long first = local_first_find(sandbox);

    if (first <= 0)
        return false;
    *ret_outer = open_namespace(sandbox);
    *ret_inner = open_namespace(first);
    return *ret_outer >= 0 && *ret_inner >= 0 &&
           local_first_find(sandbox) == first;
}

/* ---- requests ------------------------------------------------------------ */

static void answer(struct local_attach *attach, const char *error)
{
    machine_plugged done = attach->done;

    g_clear_handle_id(&attach->timer, g_source_remove);
    attach->done = NULL;
    if (done)
        done(error, attach->opaque);
}

static gboolean on_limit(gpointer data)
{
    struct local_attach *attach = data;

    attach->timer = 0;
    answer(attach, "stepback-local did not answer in time");
    return G_SOURCE_REMOVE;
}

static gboolean on_late(gpointer data)
{
    struct local_attach *attach = data;
    g_autofree char *problem = g_steal_pointer(&attach->problem);

    attach->late = 0;
    answer(attach, problem);
    return G_SOURCE_REMOVE;
}

static void expect(struct local_attach *attach, machine_plugged done,
                   void *opaque)
{
    attach->done = done;
    attach->opaque = opaque;
    attach->timer = g_timeout_add_seconds(LIMIT_S, on_limit, attach);
}

static void on_line(struct child *child, const char *line, void *opaque)
{
    log_warn(LOG_SESSION, "%.500s", line);
}

/* The end of the wire says the same. */
static void on_exited(struct child *child, void *opaque)
{
}

static const struct child_callbacks child_callbacks = {
    .line = on_line,
    .exited = on_exited,
};

static void take(struct local_attach *attach, struct local_handover *message)
{
    if (message->type == LOCAL_READY && message->n_fds == 1 &&
        message->n_devices == 1 && attach->ret_fuse) {
        *attach->ret_fuse = message->fds[0];
        *attach->ret_device = message->devices[0];
        attach->ret_fuse = NULL;
        answer(attach, NULL);
        return;
    }
    local_handover_close_fds(message);
    if (message->type == LOCAL_DONE)
        answer(attach, NULL);
    else if (message->type == 0)
        answer(attach, "stepback-local has ended");
    else
        answer(attach, message->text);
}

static gboolean on_wire(int fd, GIOCondition condition, gpointer data)
{
    struct local_attach *attach = data;
    struct local_handover message;

    if (!local_handover_receive(fd, &message))
        return G_SOURCE_CONTINUE;
    if (message.type != LOCAL_READY) {
        attach->source = 0;
        take(attach, &message);
        return G_SOURCE_REMOVE;
    }
    take(attach, &message);
    return G_SOURCE_CONTINUE;
}

/* Run stepback-local with these further options. Return what failed, a new
 * string, or NULL. */
static char *spawn(struct local_attach *attach, const char *const *options)
{
    g_autoptr(GPtrArray) argv = g_ptr_array_new_with_free_func(g_free);
    int fds[3] = { -1, -1, -1 }, wire[2] = { -1, -1 };
    g_autoptr(GError) error = NULL;
    char *problem = NULL;

    if (!open_namespaces(attach->sandbox, &fds[1], &fds[2]))
        problem = g_strdup("the sandbox's namespaces cannot be found");
    else if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, wire) < 0)
        problem = g_strdup_printf("cannot make a socket pair: %s",
                                  g_strerror(errno));
    fds[0] = wire[1];
    attach->wire = wire[0];
    g_ptr_array_add(argv, g_strdup(attach->helper));
    g_ptr_array_add(argv, g_strdup_printf("--control=%d", fds[0]));
    g_ptr_array_add(argv, g_strdup_printf("--outer=%d", fds[1]));
    g_ptr_array_add(argv, g_strdup_printf("--inner=%d", fds[2]));
    for (; *options; options++)
        g_ptr_array_add(argv, g_strdup(*options));
    g_ptr_array_add(argv, NULL);
    if (!problem) {
        attach->child = child_spawn((const char *const *)argv->pdata, fds,
                                    G_N_ELEMENTS(fds), &child_callbacks, attach,
                                    &error);
        problem = error ? g_strdup(error->message) : NULL;
    }
    for (size_t i = 0; i < G_N_ELEMENTS(fds); i++)
        fd_close(&fds[i]);
    return problem;
}

static void begin(struct local_attach *attach, const char *const *options,
                  machine_plugged done, void *opaque)
{
    local_attach_close(attach);
    expect(attach, done, opaque);
    attach->problem = spawn(attach, options);
    if (attach->problem)
        attach->late = g_idle_add(on_late, attach);
    else
        attach->source = g_unix_fd_add(attach->wire, G_IO_IN | G_IO_HUP,
                                       on_wire, attach);
}

void local_attach_open(struct local_attach *attach, const char *path,
                       bool read_only, int *ret_fuse, guint64 *ret_device,
                       machine_plugged done, void *opaque)
{
    g_autofree char *option = g_strconcat("--attach=", path, NULL);
    const char *const options[] = { read_only ? "--folders=r" : "--folders=w",
                                    option, NULL };

    attach->ret_fuse = ret_fuse;
    attach->ret_device = ret_device;
    begin(attach, options, done, opaque);
}

void local_attach_finish(struct local_attach *attach, machine_plugged done,
                         void *opaque)
{
    expect(attach, done, opaque);
    /* A stepback-local that has ended ends the wire. */
    if (send(attach->wire, "g", 1, MSG_NOSIGNAL) != 1)
        log_debug(LOG_SESSION, "stepback-local has ended");
}

void local_attach_remove(struct local_attach *attach, guint64 device,
                         unsigned number, bool force, machine_plugged done,
                         void *opaque)
{
    g_autofree char *option = g_strdup_printf("--detach=%" G_GUINT64_FORMAT,
                                              device);
    g_autofree char *slot = g_strdup_printf("--number=%u", number);
    const char *const options[] = { option, slot, force ? "--force" : NULL,
                                    NULL };

    begin(attach, options, done, opaque);
}
