/* SPDX-License-Identifier: Apache-2.0
 *
 * exec_flow - see exec_flow.h.
 */
#include "agent/session/exec_flow.h"

#include "common/errors.h"
#include "shim/wire.h"

enum {
    CREDIT_PORTION = GUEST_OUTPUT_WINDOW / 4,
    CHUNK = 32 * 1024, /* of input, per message */
    MAX_PENDING = 16,
};

struct exec_flow {
    gint64 id;
    struct guest_channel *guest;
    bool limited;     /* the shim knows credit */
    size_t expected;  /* bytes of output that may still arrive */
    size_t owed;      /* consumed, without credit so far */
    bool runs, ended; /* the command */
    bool closed;      /* the end of the input is queued */
    size_t in_flight; /* bytes of input */
    GQueue pending;   /* of struct pending */
};

struct pending {
    GBytes *data; /* or NULL */
    size_t sent;
    bool eof;
    struct reply reply;
};

struct exec_flow *exec_flow_new(gint64 exec_id, struct guest_channel *guest)
{
    struct exec_flow *flow = g_new0(struct exec_flow, 1);

    flow->id = exec_id;
    flow->guest = guest;
    flow->limited = guest_channel_has_credit(guest);
    flow->expected = GUEST_OUTPUT_WINDOW;
    g_queue_init(&flow->pending);
    return flow;
}

/* ---- output -------------------------------------------------------------- */

bool exec_flow_take(struct exec_flow *flow, size_t len)
{
    if (!flow->limited)
        return true;
    if (len > flow->expected)
        return false;
    flow->expected -= len;
    return true;
}

void exec_flow_consume(struct exec_flow *flow, size_t len)
{
    if (!flow->limited || flow->ended)
        return;
    flow->owed += len;
    if (flow->owed < CREDIT_PORTION)
        return;
    flow->expected += flow->owed;
    guest_channel_credit(flow->guest, flow->id, flow->owed);
    flow->owed = 0;
}

/* ---- input --------------------------------------------------------------- */

/* error: NULL on success. */
static void finish(struct pending *pending, const GError *error)
{
    struct reply reply = pending->reply;

    g_bytes_unref(pending->data);
    g_free(pending);
    reply_send(&reply, NULL, error);
}

static void finish_all(struct exec_flow *flow, const GError *error)
{
    struct pending *pending;

    while ((pending = g_queue_pop_head(&flow->pending)))
        finish(pending, error);
}

/* Send a part of a request. Return whether the request is complete. */
static bool send_part(struct exec_flow *flow, struct pending *pending)
{
    gsize len = 0, part;
    const char *data = pending->data ? g_bytes_get_data(pending->data, &len)
                                     : NULL;

    part = MIN(len - pending->sent, WIRE_INPUT_WINDOW - flow->in_flight);
    part = MIN(part, CHUNK);
    if (part > 0 || (len == 0 && pending->eof)) {
        bool last = pending->sent + part == len;

        guest_channel_input(flow->guest, flow->id, data + pending->sent, part,
                            pending->eof && last);
        pending->sent += part;
        flow->in_flight += part;
    }
    return pending->sent == len;
}

static void pump(struct exec_flow *flow)
{
    struct pending *pending;

    while (flow->runs && (pending = g_queue_peek_head(&flow->pending))) {
        if (send_part(flow, pending)) {
            g_queue_pop_head(&flow->pending);
            finish(pending, NULL);
        } else if (flow->in_flight == WIRE_INPUT_WINDOW) {
            break;
        }
    }
}

/* An answer is never sent before the request's call returns. */
static gboolean pump_later(gpointer data)
{
    pump(data);
    return G_SOURCE_REMOVE;
}

static void wake(struct exec_flow *flow)
{
    g_idle_remove_by_data(flow);
    g_idle_add(pump_later, flow);
}

gboolean exec_flow_input(struct exec_flow *flow, GBytes *data, bool eof,
                         reply_done done, void *opaque, GError **error)
{
    struct pending *pending;

    if (flow->closed || g_queue_get_length(&flow->pending) >= MAX_PENDING) {
        g_bytes_unref(data);
        g_set_error_literal(
            error, STEPBACK_ERROR,
            flow->closed ? ERROR_INVALID_FIELD : ERROR_BUSY,
            flow->closed ? "the execution's standard input was closed before"
                         : "too much input is waiting; wait for the responses");
        return FALSE;
    }
    pending = g_new0(struct pending, 1);
    pending->data = data;
    pending->eof = eof;
    pending->reply = (struct reply){ done, opaque };
    flow->closed = eof;
    g_queue_push_tail(&flow->pending, pending);
    wake(flow);
    return TRUE;
}

void exec_flow_start(struct exec_flow *flow)
{
    flow->runs = true;
    wake(flow);
}

bool exec_flow_taken(struct exec_flow *flow, size_t bytes)
{
    if (bytes > flow->in_flight)
        return false;
    flow->in_flight -= bytes;
    pump(flow);
    return true;
}

void exec_flow_end(struct exec_flow *flow)
{
    flow->runs = false;
    flow->ended = true;
    finish_all(flow, NULL);
}

void exec_flow_free(struct exec_flow *flow)
{
    g_autoptr(GError) error = g_error_new_literal(
        STEPBACK_ERROR, ERROR_CANCELLED, "the execution has ended");

    if (!flow)
        return;
    g_idle_remove_by_data(flow);
    finish_all(flow, error);
    g_free(flow);
}
