/* SPDX-License-Identifier: Apache-2.0
 *
 * bulk_transfer - see bulk_transfer.h.
 *
 * States: the request waits to be sent, then for BULK_OPENED -> bytes move
 * -> the guest's last frame has arrived (last_error or succeeded), and its
 * output is still written to the fd -> ended and freed.
 */
#include "agent/machine/bulk_transfer.h"

#include <errno.h>
#include <glib-unix.h>
#include <string.h>
#include <unistd.h>

#include "common/errors.h"
#include "common/fd.h"

/* A guest whose shim has no bulk port never answers. */
enum { OPEN_TIMEOUT_S = 30, CANCEL_TIMEOUT_S = 5 };

struct bulk_transfer {
    guint32 id;
    bool in;
    GBytes *open_frame; /* to be sent; NULL: sent */
    bool opened, cancelled, cancel_sent, input_ended, end_sent;
    bool last; /* the guest's last frame has arrived */
    GError *error;
    struct bulk_totals totals;

    int fd; /* -1: none yet, or closed */
    guint source, timer;
    size_t credit;     /* in: may be sent; out: written, to be reported */
    GByteArray *queue; /* out: arrived; from queue_start on, to be written, at
                          most BULK_WINDOW */
    guint queue_start;

    struct bulk_owner owner;
    const struct bulk_callbacks *callbacks;
    void *opaque;
};

static void release(struct bulk_transfer *transfer)
{
    g_clear_handle_id(&transfer->source, g_source_remove);
    g_clear_handle_id(&transfer->timer, g_source_remove);
    fd_close(&transfer->fd);
    g_clear_pointer(&transfer->open_frame, g_bytes_unref);
    g_byte_array_unref(transfer->queue);
    g_clear_error(&transfer->error);
    g_free(transfer);
}

void bulk_transfer_end(struct bulk_transfer *transfer, const GError *error)
{
    transfer->callbacks->ended(transfer, &transfer->totals, error,
                               transfer->opaque);
    release(transfer);
}

static size_t queued(const struct bulk_transfer *transfer)
{
    return transfer->queue->len - transfer->queue_start;
}

/* Forget written bytes, without moving the rest each time. */
static void trim_queue(struct bulk_transfer *transfer, size_t written)
{
    transfer->queue_start += (guint)written;
    if (queued(transfer) > 0 && transfer->queue_start < BULK_WINDOW)
        return;
    g_byte_array_remove_range(transfer->queue, 0, transfer->queue_start);
    transfer->queue_start = 0;
}

/* End the transfer if its last frame has arrived and all output is written. */
static bool end_if_over(struct bulk_transfer *transfer)
{
    bool failed = transfer->error != NULL;

    if (!transfer->last || (!failed && queued(transfer) > 0))
        return false;
    transfer->owner.done(transfer, transfer->owner.opaque);
    bulk_transfer_end(transfer, transfer->error);
    return true;
}

static void set_error(struct bulk_transfer *transfer, enum error_code code,
                      const char *text)
{
    if (!transfer->error)
        transfer->error = g_error_new_literal(STEPBACK_ERROR, code, text);
}

/* The guest has not answered to a request or to its cancellation. */
static gboolean on_timeout(gpointer data)
{
    struct bulk_transfer *transfer = data;

    transfer->timer = 0;
    set_error(transfer, ERROR_TIMEOUT,
              "the guest does not answer to a request to copy; if its image is "
              "old, rebuild it with: stepback image build");
    transfer->last = true;
    end_if_over(transfer);
    return G_SOURCE_REMOVE;
}

/* ---- the client's fd ----------------------------------------------------- */

static gboolean on_output_ready(gint fd, GIOCondition condition, gpointer data)
{
    struct bulk_transfer *transfer = data;
    ssize_t put = write(fd, transfer->queue->data + transfer->queue_start,
                        queued(transfer));

    if (put < 0 && (errno == EAGAIN || errno == EINTR))
        return G_SOURCE_CONTINUE;
    if (put < 0) {
        transfer->source = 0;
        bulk_transfer_cancel(transfer, "the client closed its connection");
        return G_SOURCE_REMOVE;
    }
    trim_queue(transfer, (size_t)put);
    transfer->credit += (size_t)put;
    if (queued(transfer) > 0) {
        /* May free the transfer. */
        transfer->owner.wake(transfer->owner.opaque);
        return G_SOURCE_CONTINUE;
    }
    transfer->source = 0;
    if (!end_if_over(transfer))
        transfer->owner.wake(transfer->owner.opaque);
    return G_SOURCE_REMOVE;
}

/* The frame is read from the fd when the port can take it. */
static gboolean on_input_ready(gint fd, GIOCondition condition, gpointer data)
{
    struct bulk_transfer *transfer = data;

    transfer->source = 0;
    transfer->owner.wake(transfer->owner.opaque);
    return G_SOURCE_REMOVE;
}

/* Wait until the fd can be used, if there is something to do. */
static void watch(struct bulk_transfer *transfer)
{
    if (transfer->fd < 0 || transfer->source || transfer->cancelled)
        return;
    if (!transfer->in && queued(transfer) > 0)
        transfer->source = g_unix_fd_add(transfer->fd, G_IO_OUT,
                                         on_output_ready, transfer);
    if (transfer->in && !transfer->input_ended && transfer->credit > 0)
        transfer->source = g_unix_fd_add(transfer->fd,
                                         G_IO_IN | G_IO_HUP | G_IO_ERR,
                                         on_input_ready, transfer);
}

void bulk_transfer_attach(struct bulk_transfer *transfer, int fd)
{
    transfer->fd = fd;
    g_unix_set_fd_nonblocking(fd, TRUE, NULL);
    watch(transfer);
}

void bulk_transfer_cancel(struct bulk_transfer *transfer, const char *text)
{
    if (transfer->cancelled)
        return;
    transfer->cancelled = true;
    set_error(transfer, ERROR_CANCELLED, text);
    g_clear_handle_id(&transfer->source, g_source_remove);
    if (!transfer->timer)
        transfer->timer = g_timeout_add_seconds(CANCEL_TIMEOUT_S, on_timeout,
                                                transfer);
    if (!end_if_over(transfer))
        transfer->owner.wake(transfer->owner.opaque);
}

/* ---- frames to the guest ------------------------------------------------- */

static size_t put_frame(const struct bulk_transfer *transfer,
                        unsigned char *out, enum bulk_type type, size_t len)
{
    const struct bulk_frame frame = { transfer->id, type, (guint32)len };

    bulk_put_header(out, &frame);
    return BULK_HEADER + len;
}

static size_t put_open(struct bulk_transfer *transfer, unsigned char *out)
{
    g_autoptr(GBytes) payload = g_steal_pointer(&transfer->open_frame);
    gsize len;
    const void *data = g_bytes_get_data(payload, &len);

    memcpy(out + BULK_HEADER, data, len);
    return put_frame(transfer, out, BULK_OPEN, len);
}

/* Read the client's input into a frame. */
static size_t put_input(struct bulk_transfer *transfer, unsigned char *out)
{
    ssize_t got;

    if (!transfer->in || transfer->fd < 0 || transfer->input_ended ||
        transfer->credit == 0 || transfer->source)
        return 0;
    got = read(transfer->fd, out + BULK_HEADER,
               MIN(transfer->credit, BULK_MAX_PAYLOAD));
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
        watch(transfer);
        return 0;
    }
    if (got < 0) {
        transfer->cancelled = transfer->cancel_sent = true;
        set_error(transfer, ERROR_CANCELLED,
                  "the client closed its connection");
        return put_frame(transfer, out, BULK_CANCEL, 0);
    }
    if (got == 0) {
        transfer->input_ended = true;
        return put_frame(transfer, out, BULK_END, 0);
    }
    transfer->credit -= (size_t)got;
    transfer->totals.bytes += (size_t)got;
    return put_frame(transfer, out, BULK_DATA, (size_t)got);
}

size_t bulk_transfer_next(struct bulk_transfer *transfer, unsigned char *out)
{
    if (transfer->open_frame)
        return put_open(transfer, out);
    if (transfer->last)
        return 0;
    if (transfer->cancelled && !transfer->cancel_sent) {
        transfer->cancel_sent = true;
        return put_frame(transfer, out, BULK_CANCEL, 0);
    }
    if (transfer->cancelled)
        return 0;
    if (!transfer->in && transfer->credit >= BULK_WINDOW / 4) {
        bulk_put32(out + BULK_HEADER, (guint32)transfer->credit);
        transfer->credit = 0;
        return put_frame(transfer, out, BULK_CREDIT, 4);
    }
    return put_input(transfer, out);
}

/* ---- frames of the guest ------------------------------------------------- */

static void take_opened(struct bulk_transfer *transfer)
{
    if (transfer->opened)
        return;
    transfer->opened = true;
    g_clear_handle_id(&transfer->timer, g_source_remove);
    if (!transfer->cancelled)
        transfer->callbacks->opened(transfer, transfer->opaque);
}

static void take_data(struct bulk_transfer *transfer,
                      const unsigned char *payload, size_t len)
{
    if (transfer->in || transfer->cancelled)
        return;
    if (len > BULK_WINDOW - queued(transfer)) {
        bulk_transfer_cancel(transfer, "the guest sent more than its credit");
        return;
    }
    transfer->totals.bytes += len;
    g_byte_array_append(transfer->queue, payload, (guint)len);
    watch(transfer);
}

/* The text comes from the guest: limit it to printable UTF-8. */
static void take_error(struct bulk_transfer *transfer,
                       const unsigned char *payload, size_t len)
{
    g_autofree char *valid = g_utf8_make_valid((const char *)payload,
                                               (gssize)MIN(len, 500));
    enum error_code code = ERROR_IO_ERROR;

    for (char *p = valid; *p; p++) {
        if (g_ascii_iscntrl(*p))
            *p = '?';
    }
    if (!transfer->opened && g_str_has_suffix(valid, g_strerror(ENOENT)))
        code = ERROR_NOT_FOUND;
    set_error(transfer, code, *valid ? valid : "the guest gave no reason");
}

void bulk_transfer_take(struct bulk_transfer *transfer, enum bulk_type type,
                        const unsigned char *payload, size_t len)
{
    if (transfer->last)
        return;
    switch (type) {
    case BULK_OPENED:
        take_opened(transfer);
        return;
    case BULK_DATA:
        take_data(transfer, payload, len);
        return;
    case BULK_CREDIT:
        if (transfer->in && len == 4 &&
            bulk_get32(payload) <= BULK_WINDOW - transfer->credit)
            transfer->credit += bulk_get32(payload);
        watch(transfer);
        return;
    case BULK_END:
        if (len == BULK_END_PAYLOAD) {
            transfer->totals.entries = bulk_get64(payload);
            transfer->totals.skipped = bulk_get64(payload + 8);
        }
        if (!transfer->opened || (transfer->in && !transfer->input_ended))
            set_error(transfer, ERROR_IO_ERROR,
                      "the guest ended the copy before its end");
        break;
    case BULK_ERROR:
        take_error(transfer, payload, len);
        break;
    default:
        return;
    }
    transfer->last = true;
    end_if_over(transfer);
}

/* ---- life ---------------------------------------------------------------- */

static GBytes *open_payload(const struct bulk_request *request)
{
    GByteArray *payload = g_byte_array_new();
    guint8 flags = (request->in ? BULK_OPEN_IN : 0) |
                   (request->follow ? BULK_OPEN_FOLLOW : 0) |
                   (request->archive ? BULK_OPEN_ARCHIVE : 0) |
                   (request->keep_owner ? BULK_OPEN_KEEP_OWNER : 0);

    g_byte_array_append(payload, &flags, 1);
    g_byte_array_append(payload, (const guint8 *)request->path,
                        (guint)strlen(request->path));
    return g_byte_array_free_to_bytes(payload);
}

struct bulk_transfer *bulk_transfer_new(guint32 id,
                                        const struct bulk_request *request,
                                        const struct bulk_owner *owner,
                                        const struct bulk_callbacks *callbacks,
                                        void *opaque)
{
    struct bulk_transfer *transfer = g_new0(struct bulk_transfer, 1);

    transfer->id = id;
    transfer->in = request->in;
    transfer->open_frame = open_payload(request);
    transfer->fd = -1;
    transfer->credit = request->in ? BULK_WINDOW : 0;
    transfer->queue = g_byte_array_new();
    transfer->owner = *owner;
    transfer->callbacks = callbacks;
    transfer->opaque = opaque;
    transfer->timer = g_timeout_add_seconds(OPEN_TIMEOUT_S, on_timeout,
                                            transfer);
    return transfer;
}

guint32 bulk_transfer_id(const struct bulk_transfer *transfer)
{
    return transfer->id;
}
