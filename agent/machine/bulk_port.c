/* SPDX-License-Identifier: Apache-2.0
 *
 * bulk_port - see bulk_port.h.
 */
#include "agent/machine/bulk_port.h"

#include <errno.h>
#include <fcntl.h>
#include <glib-unix.h>
#include <string.h>
#include <unistd.h>

#include "agent/machine/bulk_transfer.h"
#include "common/errors.h"
#include "common/fd.h"
#include "common/log.h"
#include "shim/wire.h"

enum { FRAME = BULK_HEADER + BULK_MAX_PAYLOAD };

struct bulk_port {
    int fd; /* -1: lost */
    guint read_source, write_source;
    guint32 last_id;
    GPtrArray *transfers; /* by turns: the first may send next */
    unsigned char in[FRAME], out[FRAME];
    size_t in_used, out_start, out_end;

    bulk_port_restart restart;
    void *opaque;
    bool interrupted; /* no process serves the port */
    char *mark;       /* drop what comes before it; NULL: nothing is dropped */
};

/* ---- the end of the port ------------------------------------------------- */

static void end_transfers(struct bulk_port *port, const char *reason)
{
    while (port->transfers->len > 0) {
        struct bulk_transfer *transfer = g_ptr_array_steal_index(
            port->transfers, 0);
        g_autoptr(GError)
            error = g_error_new(STEPBACK_ERROR, ERROR_IO_ERROR,
                                "the copy was interrupted: %s", reason);

        bulk_transfer_end(transfer, error);
    }
}

static void lose(struct bulk_port *port, const char *reason)
{
    if (port->fd < 0)
        return;
    log_info(LOG_CONTROL, "the bulk port is closed: %s", reason);
    g_clear_handle_id(&port->read_source, g_source_remove);
    g_clear_handle_id(&port->write_source, g_source_remove);
    fd_close(&port->fd);
    end_transfers(port, reason);
}

void bulk_port_interrupt(struct bulk_port *port)
{
    if (port->fd < 0 || port->interrupted)
        return;
    log_warn(LOG_CONTROL, "the guest's process for copies has ended");
    port->interrupted = true;
    g_clear_pointer(&port->mark, g_free);
    port->in_used = port->out_start = port->out_end = 0;
    end_transfers(port, "the guest's process for copies has ended; copy again");
}

/* Let the guest start another process. Its input and output begin with a mark,
 * because a frame may be torn in either direction. */
static void resume(struct bulk_port *port)
{
    port->interrupted = false;
    port->mark = g_uuid_string_random();
    port->out_start = 0;
    port->out_end = WIRE_BULK_MARK;
    memcpy(port->out, port->mark, WIRE_BULK_MARK);
    port->restart(port->mark, port->opaque);
}

/* ---- sending ------------------------------------------------------------- */

/* Put the next frame into the empty buffer, by turns. */
static bool fill_out(struct bulk_port *port)
{
    for (guint i = 0; i < port->transfers->len; i++) {
        struct bulk_transfer *transfer = g_ptr_array_steal_index(
            port->transfers, 0);

        g_ptr_array_add(port->transfers, transfer);
        port->out_start = 0;
        port->out_end = bulk_transfer_next(transfer, port->out);
        if (port->out_end > 0)
            return true;
    }
    return false;
}

static gboolean on_writable(gint fd, GIOCondition condition, gpointer data);

/* Send what there is; wait for the port if it takes no more. */
static void send_frames(struct bulk_port *port)
{
    while (port->fd >= 0 && !port->write_source &&
           (port->out_start < port->out_end || fill_out(port))) {
        ssize_t put = write(port->fd, port->out + port->out_start,
                            port->out_end - port->out_start);

        if (put >= 0)
            port->out_start += (size_t)put;
        else if (errno == EAGAIN)
            port->write_source = g_unix_fd_add(port->fd, G_IO_OUT, on_writable,
                                               port);
        else if (errno != EINTR)
            lose(port, g_strerror(errno));
    }
}

static gboolean on_writable(gint fd, GIOCondition condition, gpointer data)
{
    struct bulk_port *port = data;

    port->write_source = 0;
    send_frames(port);
    return G_SOURCE_REMOVE;
}

/* Implements bulk_transfer_wake. */
static void on_wake(void *opaque)
{
    send_frames(opaque);
}

/* Implements bulk_transfer_done. */
static void on_done(struct bulk_transfer *transfer, void *opaque)
{
    struct bulk_port *port = opaque;

    g_ptr_array_remove(port->transfers, transfer);
}

/* ---- receiving ----------------------------------------------------------- */

static struct bulk_transfer *find(const struct bulk_port *port, guint32 id)
{
    for (guint i = 0; i < port->transfers->len; i++) {
        struct bulk_transfer *transfer = g_ptr_array_index(port->transfers, i);

        if (bulk_transfer_id(transfer) == id)
            return transfer;
    }
    return NULL;
}

/* Drop input up to the mark, or all of it while there is no process. Return the
 * start of the rest. */
static size_t skip_to_mark(struct bulk_port *port)
{
    const unsigned char *found;

    if (port->interrupted)
        return port->in_used;
    found = memmem(port->in, port->in_used, port->mark, WIRE_BULK_MARK);
    if (!found)
        return port->in_used - MIN(port->in_used, WIRE_BULK_MARK - 1);
    g_clear_pointer(&port->mark, g_free);
    return (size_t)(found - port->in) + WIRE_BULK_MARK;
}

static void take_frames(struct bulk_port *port)
{
    size_t at = 0;

    if (port->interrupted || port->mark)
        at = skip_to_mark(port);
    while (port->fd >= 0 && !port->mark && port->in_used - at >= BULK_HEADER) {
        struct bulk_frame frame = bulk_get_header(port->in + at);
        struct bulk_transfer *transfer;

        if (frame.len > BULK_MAX_PAYLOAD) {
            lose(port, "the guest sent an invalid frame");
            return;
        }
        if (port->in_used - at < BULK_HEADER + frame.len)
            break;
        transfer = find(port, frame.id);
        if (transfer)
            bulk_transfer_take(transfer, frame.type,
                               port->in + at + BULK_HEADER, frame.len);
        at += BULK_HEADER + frame.len;
    }
    memmove(port->in, port->in + at, port->in_used - at);
    port->in_used -= at;
}

static gboolean on_readable(gint fd, GIOCondition condition, gpointer data)
{
    struct bulk_port *port = data;
    ssize_t got = read(fd, port->in + port->in_used,
                       sizeof(port->in) - port->in_used);

    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return G_SOURCE_CONTINUE;
    if (got <= 0) {
        port->read_source = 0;
        lose(port, "the machine has ended");
        return G_SOURCE_REMOVE;
    }
    port->in_used += (size_t)got;
    take_frames(port);
    send_frames(port);
    return port->fd >= 0 ? G_SOURCE_CONTINUE : G_SOURCE_REMOVE;
}

/* ---- life ---------------------------------------------------------------- */

struct bulk_port *bulk_port_new(int fd, bulk_port_restart restart, void *opaque)
{
    struct bulk_port *port = g_new0(struct bulk_port, 1);

    port->fd = fd;
    port->restart = restart;
    port->opaque = opaque;
    port->transfers = g_ptr_array_new();
    g_unix_set_fd_nonblocking(fd, TRUE, NULL);
    port->read_source = g_unix_fd_add(fd, G_IO_IN | G_IO_HUP | G_IO_ERR,
                                      on_readable, port);
    return port;
}

void bulk_port_free(struct bulk_port *port)
{
    if (!port)
        return;
    lose(port, "the machine has ended");
    g_ptr_array_unref(port->transfers);
    g_free(port->mark);
    g_free(port);
}

static gboolean check(struct bulk_port *port,
                      const struct bulk_request *request, GError **error)
{
    if (port->fd < 0)
        g_set_error_literal(error, STEPBACK_ERROR, ERROR_IO_ERROR,
                            "the guest's port for copies is closed; restart "
                            "the session");
    else if (port->transfers->len >= BULK_MAX_TRANSFERS)
        g_set_error(error, STEPBACK_ERROR, ERROR_BUSY,
                    "%d copies are running; wait until one ends",
                    BULK_MAX_TRANSFERS);
    else if (*request->path != '/' || strlen(request->path) > BULK_MAX_PATH)
        g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                    "the guest path must be absolute and at most %d bytes long",
                    BULK_MAX_PATH);
    else
        return TRUE;
    return FALSE;
}

struct bulk_transfer *bulk_port_start(struct bulk_port *port,
                                      const struct bulk_request *request,
                                      const struct bulk_callbacks *callbacks,
                                      void *opaque, GError **error)
{
    const struct bulk_owner owner = { on_wake, on_done, port };
    struct bulk_transfer *transfer;

    if (!check(port, request, error))
        return NULL;
    if (port->interrupted)
        resume(port);
    transfer = bulk_transfer_new(++port->last_id, request, &owner, callbacks,
                                 opaque);
    g_ptr_array_add(port->transfers, transfer);
    /* From the main loop: a port that is lost calls back. */
    if (!port->write_source)
        port->write_source = g_unix_fd_add(port->fd, G_IO_OUT | G_IO_HUP,
                                           on_writable, port);
    return transfer;
}
