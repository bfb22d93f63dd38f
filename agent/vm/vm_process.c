/* SPDX-License-Identifier: Apache-2.0
 *
 * vm_process - see vm_process.h.
 */
#include "agent/vm/vm_process.h"

#include <errno.h>
#include <glib-unix.h>
#include <signal.h>

#include "agent/base/child.h"
#include "agent/vm/pool_link.h"
#include "common/fd.h"

/* From POOL_KILL until the holder is killed as well: it may be stopped. */
enum { HOLDER_MS = 1000 };

struct vm_process {
    struct child *child; /* NULL: it is the holder's */
    const struct vm_process_callbacks *callbacks;
    void *opaque;

    /* Of the holder's. */
    int link; /* -1: it has ended */
    guint source, timer;
    unsigned grace_ms; /* from SIGTERM to SIGKILL */
    GPid holder, qemu;
    bool clean;
    char *end; /* how it ended, or NULL */
};

/* ---- a child ------------------------------------------------------------- */

static void on_child_line(struct child *child, const char *line, void *opaque)
{
    struct vm_process *process = opaque;

    process->callbacks->line(line, process->opaque);
}

static void on_child_exited(struct child *child, void *opaque)
{
    struct vm_process *process = opaque;

    process->callbacks->exited(process->opaque);
}

static const struct child_callbacks child_callbacks = {
    .line = on_child_line,
    .exited = on_child_exited,
};

struct vm_process *
vm_process_spawn(const char *const *argv, const int *fds, size_t n_fds,
                 const struct vm_process_callbacks *callbacks, void *opaque,
                 GError **error)
{
    struct vm_process *process = g_new0(struct vm_process, 1);

    process->callbacks = callbacks;
    process->opaque = opaque;
    process->link = -1;
    process->child = child_spawn(argv, fds, n_fds, &child_callbacks, process,
                                 error);
    if (process->child)
        return process;
    g_free(process);
    return NULL;
}

/* ---- a child of the holder ----------------------------------------------- */

/* The source removes itself. */
static void end(struct vm_process *process, bool clean, const char *text)
{
    process->source = 0;
    g_clear_handle_id(&process->timer, g_source_remove);
    fd_close(&process->link);
    process->clean = clean;
    process->end = g_utf8_make_valid(text, -1);
    process->callbacks->exited(process->opaque);
}

static gboolean on_message(int fd, GIOCondition condition, gpointer data)
{
    struct vm_process *process = data;
    struct pool_message message;
    int rc = pool_link_receive(fd, &message);

    if (rc == -EAGAIN)
        return G_SOURCE_CONTINUE;
    if (rc <= 0) {
        /* QEMU dies with its parent. */
        end(process, false, "was killed with the process that held it");
        return G_SOURCE_REMOVE;
    }
    pool_message_close(&message);
    if (message.type == POOL_EXITED) {
        end(process, message.a, message.text);
        return G_SOURCE_REMOVE;
    }
    if (message.type == POOL_LINE) {
        g_autofree char *line = g_utf8_make_valid(message.text, -1);

        process->callbacks->line(line, process->opaque);
    }
    return G_SOURCE_CONTINUE;
}

struct vm_process *
vm_process_adopt(int link, GPid holder, GPid qemu,
                 const struct vm_process_callbacks *callbacks, void *opaque)
{
    struct vm_process *process = g_new0(struct vm_process, 1);

    process->callbacks = callbacks;
    process->opaque = opaque;
    process->link = link;
    process->holder = holder;
    process->qemu = qemu;
    g_unix_set_fd_nonblocking(link, TRUE, NULL);
    process->source = g_unix_fd_add(link, G_IO_IN | G_IO_HUP | G_IO_ERR,
                                    on_message, process);
    return process;
}

static void tell(struct vm_process *process, enum pool_message_type type)
{
    if (process->link >= 0)
        pool_link_send(process->link, type, 0, 0, NULL, NULL, 0);
}

/* The link is open, so the holder lives and the pid is its. QEMU dies with
 * it. */
static gboolean on_holder_late(gpointer data)
{
    struct vm_process *process = data;

    process->timer = 0;
    kill(process->holder, SIGKILL);
    return G_SOURCE_REMOVE;
}

static void kill_by_holder(struct vm_process *process)
{
    g_clear_handle_id(&process->timer, g_source_remove);
    if (process->link < 0)
        return;
    tell(process, POOL_KILL);
    process->timer = g_timeout_add(HOLDER_MS, on_holder_late, process);
}

static gboolean on_grace_over(gpointer data)
{
    struct vm_process *process = data;

    process->timer = 0;
    kill_by_holder(process);
    return G_SOURCE_REMOVE;
}

static gboolean on_wait_over(gpointer data)
{
    struct vm_process *process = data;

    tell(process, POOL_TERMINATE);
    process->timer = g_timeout_add(process->grace_ms, on_grace_over, process);
    return G_SOURCE_REMOVE;
}

/* ---- either -------------------------------------------------------------- */

void vm_process_free(struct vm_process *process)
{
    if (!process)
        return;
    child_free(process->child);
    g_clear_handle_id(&process->source, g_source_remove);
    g_clear_handle_id(&process->timer, g_source_remove);
    fd_close(&process->link);
    g_free(process->end);
    g_free(process);
}

void vm_process_expect_exit(struct vm_process *process, unsigned wait_ms,
                            unsigned grace_ms)
{
    if (process->child) {
        child_expect_exit(process->child, wait_ms, grace_ms);
        return;
    }
    g_clear_handle_id(&process->timer, g_source_remove);
    if (process->link < 0)
        return;
    process->grace_ms = grace_ms;
    process->timer = g_timeout_add(wait_ms, on_wait_over, process);
}

void vm_process_kill(struct vm_process *process)
{
    if (process->child)
        child_kill(process->child);
    else
        kill_by_holder(process);
}

bool vm_process_exited_cleanly(const struct vm_process *process)
{
    return process->child ? child_exited_cleanly(process->child)
                          : process->clean;
}

char *vm_process_describe_exit(const struct vm_process *process)
{
    if (process->child)
        return child_describe_exit(process->child);
    return g_strdup(process->end ? process->end : "is still running");
}

GPid vm_process_pid(const struct vm_process *process)
{
    if (process->child)
        return child_pid(process->child);
    return process->link >= 0 ? process->qemu : 0;
}

GPid vm_process_holder(const struct vm_process *process)
{
    return process->link >= 0 ? process->holder : 0;
}
