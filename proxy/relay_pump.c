/* SPDX-License-Identifier: Apache-2.0
 *
 * relay_pump - see relay_pump.h.
 */
#include "proxy/relay_pump.h"

#include <errno.h>
#include <glib.h>
#include <string.h>

/* Reads of a turn, before other connections get theirs. */
enum { READS_MAX = 16 };

static enum http_side other(enum http_side side)
{
    return side == HTTP_GUEST ? HTTP_SERVER : HTTP_GUEST;
}

static void drop_held(struct relay_pump_side *side)
{
    if (side->held)
        explicit_bzero(side->held, side->end);
    g_clear_pointer(&side->held, g_free);
    side->start = side->end = 0;
}

static void fail(struct relay_pump *pump)
{
    pump->failed = true;
    pump->reason = pump->relay->ops->problem(pump->relay);
    drop_held(&pump->sides[HTTP_GUEST]);
    drop_held(&pump->sides[HTTP_SERVER]);
}

static void break_off(struct relay_pump *pump, enum http_side side)
{
    if (pump->broken_off)
        return;
    pump->broken_off = true;
    pump->broken = side;
    /* An end whose input was cut complains of that. */
    if (!tls_end_is_reset(pump->ends[side]) && !pump->sides[side].finished)
        pump->reason = tls_end_problem(pump->ends[side]);
}

/* ---- input --------------------------------------------------------------- */

/* Give bytes to the relay. Return how many it took, or -1 when it failed. */
static ssize_t give(struct relay_pump *pump, enum http_side from,
                    const uint8_t *data, size_t length)
{
    ssize_t n = pump->relay->ops->take(pump->relay, from, data, length);

    if (n < 0 || (size_t)n > length) {
        fail(pump);
        return -1;
    }
    return n;
}

static bool give_held(struct relay_pump *pump, enum http_side from)
{
    struct relay_pump_side *side = &pump->sides[from];
    ssize_t n = give(pump, from, side->held + side->start,
                     side->end - side->start);

    if (n < 0)
        return true;
    side->start += (size_t)n;
    if (side->start == side->end)
        drop_held(side);
    return n > 0;
}

static void hold(struct relay_pump_side *side, const uint8_t *data,
                 size_t length)
{
    side->held = g_memdup2(data, length);
    side->end = length;
}

static bool read_side(struct relay_pump *pump, enum http_side from)
{
    struct relay_pump_side *side = &pump->sides[from];
    uint8_t data[TLS_RECORD_MAX];
    ssize_t n = tls_end_read(pump->ends[from], data, sizeof(data)), taken;

    if (n == -EAGAIN)
        return false;
    if (n < 0) {
        break_off(pump, from);
        return false;
    }
    if (n == 0) {
        side->ended = true;
        pump->relay->ops->end(pump->relay, from);
        return true;
    }
    taken = give(pump, from, data, (size_t)n);
    if (taken >= 0 && taken < n)
        hold(side, data + taken, (size_t)(n - taken));
    /* A server may send the value of a secret back. */
    explicit_bzero(data, (size_t)n);
    return true;
}

/* Return whether it moved something. */
static bool take_in(struct relay_pump *pump, enum http_side from, int *reads)
{
    struct relay_pump_side *side = &pump->sides[from];

    if (pump->failed || pump->broken_off)
        return false;
    if (side->held)
        return give_held(pump, from);
    if (side->ended || !pump->relay->ops->wants(pump->relay, from) ||
        (*reads == 0 && !tls_end_has_hidden(pump->ends[from])))
        return false;
    if (*reads > 0)
        (*reads)--;
    return read_side(pump, from);
}

/* ---- output -------------------------------------------------------------- */

static void finish(struct relay_pump *pump, enum http_side to)
{
    /* A cut response must not look whole. */
    bool clean = !pump->broken_off && !tls_end_is_cut(pump->ends[other(to)]);
    int rc = tls_end_finish(pump->ends[to], clean);

    if (rc == 0)
        pump->sides[to].finished = true;
    else if (rc != -EAGAIN)
        break_off(pump, to);
}

static bool put_out(struct relay_pump *pump, enum http_side to)
{
    const struct http_relay_ops *ops = pump->relay->ops;
    size_t length = 0;
    const uint8_t *data;
    ssize_t n;

    if (pump->sides[to].finished || (pump->broken_off && pump->broken == to))
        return false;
    data = ops->output(pump->relay, to, &length);
    if (length == 0) {
        if (pump->failed || pump->broken_off || ops->is_over(pump->relay, to))
            finish(pump, to);
        return pump->sides[to].finished;
    }
    n = tls_end_write(pump->ends[to], data, length);
    if (n > 0) {
        ops->written(pump->relay, to, (size_t)n);
        return true;
    }
    if (n == -EAGAIN)
        return false;
    /* A server that reads no more may still send its response. */
    if (to == HTTP_SERVER)
        pump->sides[to].finished = true;
    else
        break_off(pump, to);
    return false;
}

/* ---- interface ----------------------------------------------------------- */

enum pump_status relay_pump_run(struct relay_pump *pump)
{
    int reads = READS_MAX;
    bool moved;

    do {
        moved = take_in(pump, HTTP_SERVER, &reads);
        moved = take_in(pump, HTTP_GUEST, &reads) || moved;
        moved = put_out(pump, HTTP_GUEST) || moved;
        moved = put_out(pump, HTTP_SERVER) || moved;
    } while (moved);
    /* The guest gets the bytes that came before a server's end. */
    if (pump->broken_off)
        return pump->broken == HTTP_GUEST || pump->sides[HTTP_GUEST].finished
                   ? PUMP_BROKEN
                   : PUMP_RUNS;
    if (pump->failed)
        return pump->sides[HTTP_GUEST].finished ? PUMP_FAILED : PUMP_RUNS;
    return pump->sides[HTTP_GUEST].finished && pump->sides[HTTP_SERVER].finished
               ? PUMP_DONE
               : PUMP_RUNS;
}

static bool has_output(const struct relay_pump *pump, enum http_side to)
{
    size_t length = 0;

    pump->relay->ops->output(pump->relay, to, &length);
    return length > 0;
}

uint32_t relay_pump_events(const struct relay_pump *pump, enum http_side side)
{
    const struct http_relay_ops *ops = pump->relay->ops;
    const struct relay_pump_side *state = &pump->sides[side];
    bool ending = pump->failed || pump->broken_off;
    bool reading = !ending && !state->ended && !state->held &&
                   ops->wants(pump->relay, side);
    bool writing = !state->finished && (ending || has_output(pump, side) ||
                                        ops->is_over(pump->relay, side));

    if (pump->broken_off && pump->broken == side)
        return 0;
    return tls_end_events(pump->ends[side], reading, writing);
}

void relay_pump_clear(struct relay_pump *pump)
{
    drop_held(&pump->sides[HTTP_GUEST]);
    drop_held(&pump->sides[HTTP_SERVER]);
    if (pump->relay)
        pump->relay->ops->free(pump->relay);
    pump->relay = NULL;
}
