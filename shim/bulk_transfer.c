/* SPDX-License-Identifier: Apache-2.0
 *
 * bulk_transfer - see bulk_transfer.h.
 */
#include "shim/bulk_transfer.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "shim/copier.h"

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void fail(struct bulk_transfer *transfer, const char *text)
{
    transfer->ended = BULK_ERROR;
    transfer->end_len = strnlen(text, sizeof(transfer->end));
    memcpy(transfer->end, text, transfer->end_len);
}

void bulk_transfer_open(struct bulk_transfer *transfer, uint32_t id,
                        const unsigned char *payload, size_t len)
{
    char path[BULK_MAX_PATH + 1];
    unsigned flags = len > 0 ? payload[0] : 0;

    transfer->id = id;
    transfer->in = flags & BULK_OPEN_IN;
    transfer->data = transfer->news = -1;
    transfer->opened = transfer->input_ended = false;
    transfer->ended = 0;
    transfer->start = transfer->used = 0;
    transfer->credit = transfer->in ? 0 : BULK_WINDOW;
    transfer->pid = 0;
    if (len < 2 || len - 1 > BULK_MAX_PATH || payload[1] != '/' ||
        (flags & ~(unsigned)BULK_OPEN_FLAGS) ||
        memchr(payload + 1, '\0', len - 1)) {
        fail(transfer, "the request to copy is malformed");
        return;
    }
    memcpy(path, payload + 1, len - 1);
    path[len - 1] = '\0';
    transfer->pid = copier_start(flags, path, &transfer->data, &transfer->news);
    if (transfer->pid < 0)
        fail(transfer, strerror(-transfer->pid));
}

static void take_data(struct bulk_transfer *transfer,
                      const unsigned char *payload, size_t len)
{
    if (!transfer->in || transfer->input_ended || transfer->ended)
        return;
    if (len > BULK_WINDOW - transfer->used) {
        fail(transfer, "the host sent more than its credit");
        kill(transfer->pid, SIGKILL);
        return;
    }
    for (size_t i = 0; i < len;) {
        size_t at = (transfer->start + transfer->used) % BULK_WINDOW;
        size_t part = BULK_WINDOW - at < len - i ? BULK_WINDOW - at : len - i;

        memcpy(transfer->ring + at, payload + i, part);
        transfer->used += part;
        i += part;
    }
}

void bulk_transfer_take(struct bulk_transfer *transfer, enum bulk_type type,
                        const unsigned char *payload, size_t len)
{
    switch (type) {
    case BULK_DATA:
        take_data(transfer, payload, len);
        break;
    case BULK_END:
        transfer->input_ended = true;
        break;
    case BULK_CREDIT:
        if (!transfer->in && len == 4) {
            size_t more = bulk_get32(payload);

            if (more <= BULK_WINDOW - transfer->credit)
                transfer->credit += more;
        }
        break;
    case BULK_CANCEL:
        if (!transfer->ended) {
            fail(transfer, "the copy was cancelled");
            kill(transfer->pid, SIGKILL);
        }
        break;
    default:
        break;
    }
}

size_t bulk_transfer_poll(const struct bulk_transfer *transfer,
                          struct pollfd *fds)
{
    size_t count = 0;

    if (!transfer->id)
        return 0;
    if (transfer->in && transfer->data >= 0 && transfer->used > 0)
        fds[count++] = (struct pollfd){ transfer->data, POLLOUT, 0 };
    if (!transfer->in && transfer->data >= 0 && transfer->credit > 0)
        fds[count++] = (struct pollfd){ transfer->data, POLLIN, 0 };
    if (transfer->news >= 0 && !transfer->ended)
        fds[count++] = (struct pollfd){ transfer->news, POLLIN, 0 };
    return count;
}

/* Pass input to the copier. If it has ended, its news say why; until then its
 * input is dropped, which keeps the host's credit moving. */
static void feed(struct bulk_transfer *transfer)
{
    while (transfer->used > 0) {
        size_t part = BULK_WINDOW - transfer->start;
        ssize_t put;

        if (part > transfer->used)
            part = transfer->used;
        put = transfer->data < 0
                  ? (ssize_t)part
                  : write(transfer->data, transfer->ring + transfer->start,
                          part);
        if (put < 0 && errno == EAGAIN)
            return;
        if (put < 0) {
            close_fd(&transfer->data);
            continue;
        }
        transfer->start = (transfer->start + (size_t)put) % BULK_WINDOW;
        transfer->used -= (size_t)put;
        transfer->credit += (size_t)put;
    }
    if (transfer->input_ended)
        close_fd(&transfer->data);
}

/* Parse the news of a copier: a mark, or an end with its payload. */
static void take_news(struct bulk_transfer *transfer, const char *news,
                      size_t len)
{
    if (len > 0 && news[0] == COPIER_OPENED) {
        transfer->opened = true;
        news++;
        len--;
    }
    if (len == 0)
        return;
    transfer->ended = news[0] == COPIER_DONE ? BULK_END : BULK_ERROR;
    transfer->end_len = len - 1;
    memcpy(transfer->end, news + 1, len - 1);
}

static void read_news(struct bulk_transfer *transfer)
{
    char news[COPY_ERROR_MAX];
    ssize_t got = read(transfer->news, news, sizeof(news));

    if (got > 0)
        take_news(transfer, news, (size_t)got);
    else if (got == 0 || errno != EAGAIN)
        fail(transfer, "the guest's copy process has ended unexpectedly");
}

void bulk_transfer_advance(struct bulk_transfer *transfer)
{
    if (!transfer->id)
        return;
    if (transfer->in)
        feed(transfer);
    if (!transfer->ended && transfer->news >= 0)
        read_news(transfer);
}

static size_t put_frame(struct bulk_transfer *transfer, unsigned char *out,
                        enum bulk_type type, size_t len)
{
    const struct bulk_frame frame = { transfer->id, type, (uint32_t)len };

    bulk_put_header(out, &frame);
    return BULK_HEADER + len;
}

/* Read output of the copier into a frame. Return 0 if there is none now. */
static size_t put_data(struct bulk_transfer *transfer, unsigned char *out)
{
    size_t want = transfer->credit < BULK_MAX_PAYLOAD ? transfer->credit
                                                      : BULK_MAX_PAYLOAD;
    ssize_t got;

    if (transfer->in || transfer->data < 0 || want == 0)
        return 0;
    got = read(transfer->data, out + BULK_HEADER, want);
    if (got > 0) {
        transfer->credit -= (size_t)got;
        return put_frame(transfer, out, BULK_DATA, (size_t)got);
    }
    if (got == 0 || errno != EAGAIN)
        close_fd(&transfer->data);
    return 0;
}

static size_t put_end(struct bulk_transfer *transfer, unsigned char *out)
{
    size_t len = put_frame(transfer, out, transfer->ended, transfer->end_len);

    memcpy(out + BULK_HEADER, transfer->end, transfer->end_len);
    close_fd(&transfer->data);
    close_fd(&transfer->news);
    transfer->id = 0;
    return len;
}

size_t bulk_transfer_next(struct bulk_transfer *transfer, unsigned char *out)
{
    size_t len;

    if (!transfer->id)
        return 0;
    if (transfer->opened) {
        transfer->opened = false;
        return put_frame(transfer, out, BULK_OPENED, 0);
    }
    if (transfer->in && transfer->credit >= BULK_WINDOW / 4 &&
        !transfer->ended) {
        bulk_put32(out + BULK_HEADER, (uint32_t)transfer->credit);
        transfer->credit = 0;
        return put_frame(transfer, out, BULK_CREDIT, 4);
    }
    if (transfer->ended == BULK_ERROR)
        return put_end(transfer, out);
    len = put_data(transfer, out);
    if (len > 0)
        return len;
    /* The output is complete only when its pipe is at its end. */
    if (transfer->ended && (transfer->in || transfer->data < 0))
        return put_end(transfer, out);
    return 0;
}
