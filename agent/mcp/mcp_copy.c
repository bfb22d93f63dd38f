/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_copy - see mcp_copy.h.
 *
 * A copy is over when the worker has ended and the session has reported the end
 * of the transfer. The worker's end of the socket (far_fd) closes as early as
 * it may: a closed end cancels the transfer, so a copy into the guest keeps it
 * until the guest has written everything.
 */
#include "agent/mcp/mcp_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "agent/base/child.h"
#include "agent/base/copy_worker.h"
#include "agent/base/install_paths.h"
#include "agent/mcp/mcp_ready.h"
#include "agent/mcp/mcp_state.h"
#include "agent/mcp/mcp_text.h"
#include "agent/session/session_copy.h"
#include "common/errors.h"
#include "common/fd.h"

struct copy {
    GPtrArray *list;
    struct mcp_call *call; /* NULL: cancelled */
    bool in;
    struct mcp_copy_place place;
    char *host_path, *guest_path;

    struct child *worker;
    int far_fd;
    bool worker_ended, transfer_ended;
    bool stream; /* the worker failed because the stream did */
    char *worker_error, *transfer_error;
    guint64 entries, skipped;
};

static void copy_free(gpointer data)
{
    struct copy *copy = data;

    child_free(copy->worker);
    fd_close(&copy->far_fd);
    mcp_copy_place_clear(&copy->place);
    g_free(copy->host_path);
    g_free(copy->guest_path);
    g_free(copy->worker_error);
    g_free(copy->transfer_error);
    g_free(copy);
}

GPtrArray *mcp_copy_list_new(void)
{
    return g_ptr_array_new_with_free_func(copy_free);
}

/* ---- the end ------------------------------------------------------------- */

static void succeed(const struct copy *copy)
{
    json_t *result = json_pack(
        "{s:s, s:s, s:i, s:b, s:[], s:b, s:I, s:I}", "host_path",
        copy->host_path, "guest_path", copy->guest_path, "step_id", 0,
        "undoable", 0, "changes", "truncated", 0, "entries",
        (json_int_t)copy->entries, "skipped", (json_int_t)copy->skipped);

    mcp_tools_finish(copy->call, mcp_text_copy(result, copy->in, false),
                     result);
}

/* Of two problems, one is the other's consequence. */
static char *find_problem(const struct copy *copy)
{
    if (copy->worker_error && (!copy->stream || !copy->transfer_error))
        return g_strdup_printf("%s: %s", copy->host_path, copy->worker_error);
    return g_strdup(copy->transfer_error);
}

static void finish(struct copy *copy)
{
    g_autofree char *problem = find_problem(copy);

    if (copy->call) {
        mcp_call_set_cancelled(copy->call, NULL, NULL);
        if (problem)
            mcp_tools_refuse(copy->call, "%s: %s",
                             copy->in ? "copy_in" : "copy_out", problem);
        else
            succeed(copy);
    }
    g_ptr_array_remove_fast(copy->list, copy);
}

static void finish_if_over(struct copy *copy)
{
    if (copy->worker_ended && copy->transfer_ended)
        finish(copy);
}

/* ---- the worker ---------------------------------------------------------- */

static void on_line(struct child *child, const char *line, void *opaque)
{
    struct copy *copy = opaque;
    unsigned long long entries, skipped;

    if (sscanf(line, COPY_WORKER_DONE "%llu %llu", &entries, &skipped) == 2) {
        copy->entries = entries;
        copy->skipped += skipped;
        return;
    }
    copy->stream = g_str_has_prefix(line, COPY_WORKER_STREAM);
    g_free(copy->worker_error);
    copy->worker_error = g_strdup(copy->stream
                                      ? line + strlen(COPY_WORKER_STREAM)
                                  : g_str_has_prefix(line, COPY_WORKER_FAILED)
                                      ? line + strlen(COPY_WORKER_FAILED)
                                      : line);
}

static void on_exited(struct child *child, void *opaque)
{
    struct copy *copy = opaque;

    if (!child_exited_cleanly(child) && !copy->worker_error)
        copy->worker_error = child_describe_exit(child);
    if (copy->worker_error)
        fd_close(&copy->far_fd);
    copy->worker_ended = true;
    finish_if_over(copy);
}

static const struct child_callbacks worker_callbacks = {
    .line = on_line,
    .exited = on_exited,
};

static void start_worker(struct copy *copy)
{
    g_autofree char *program = install_paths_self();
    g_autofree char *stream = g_strdup_printf("%d", copy->far_fd);
    g_autofree char *dir = g_strdup_printf("%d", copy->place.dir_fd);
    const char *argv[] = {
        program, COPY_WORKER,      copy->in ? "in" : "out", stream,
        dir,     copy->place.name, copy->guest_path,        NULL
    };
    const int fds[] = { copy->far_fd, copy->place.dir_fd };
    g_autoptr(GError) error = NULL;

    copy->worker = child_spawn(argv, fds, G_N_ELEMENTS(fds), &worker_callbacks,
                               copy, &error);
    if (!copy->worker) {
        copy->worker_error = g_strdup(error->message);
        copy->worker_ended = true;
    }
    if (!copy->worker || !copy->in)
        fd_close(&copy->far_fd);
}

/* ---- the transfer -------------------------------------------------------- */

static void on_opened(const struct answer *answer, const GError *error,
                      void *opaque)
{
    struct copy *copy = opaque;

    if (error) {
        copy->transfer_error = g_strdup(error->message);
        finish(copy);
    } else if (!copy->call) {
        /* The event of the transfer's end follows. */
        copy->worker_ended = true;
        fd_close(&copy->far_fd);
    } else {
        start_worker(copy);
    }
}

static void take_end(struct copy *copy, const struct copy_end *end)
{
    copy->transfer_ended = true;
    copy->skipped += end->skipped;
    if (end->error)
        copy->transfer_error = g_utf8_make_valid(end->error->message, -1);
    fd_close(&copy->far_fd);
    finish_if_over(copy);
}

void mcp_copy_take_event(GPtrArray *copies, const struct session_event *event)
{
    for (guint i = 0; i < copies->len; i++) {
        struct copy *copy = g_ptr_array_index(copies, i);

        if (copy == event->owner) {
            take_end(copy, event->copy);
            return;
        }
    }
}

/* ---- the start ----------------------------------------------------------- */

static void on_cancelled(struct mcp_call *call, void *opaque)
{
    struct copy *copy = opaque;

    copy->call = NULL;
    if (copy->worker_ended)
        fd_close(&copy->far_fd);
    else if (copy->worker)
        child_kill(copy->worker);
    mcp_call_finish(call, json_object());
}

void mcp_copy_begin(struct mcp_call *call, bool in,
                    struct mcp_copy_place *place, const char *host_path,
                    const char *guest_path)
{
    struct copy *copy = g_new0(struct copy, 1);
    const struct bulk_request request = { .in = in, .path = guest_path };
    int ends[2];

    copy->list = mcp_state_of(call)->copies;
    copy->call = call;
    copy->in = in;
    copy->place = *place;
    *place = (struct mcp_copy_place){ .dir_fd = -1 };
    copy->host_path = g_strdup(host_path);
    copy->guest_path = g_strdup(guest_path);
    copy->far_fd = -1;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) {
        mcp_tools_refuse(call, "cannot make a socket: %s", g_strerror(errno));
        copy_free(copy);
        return;
    }
    copy->far_fd = ends[1];
    g_ptr_array_add(copy->list, copy);
    mcp_call_set_cancelled(call, on_cancelled, copy);
    session_copy(mcp_ready_session(call), &request, ends[0], copy, on_opened,
                 copy);
}
