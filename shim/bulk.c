/* SPDX-License-Identifier: Apache-2.0
 *
 * bulk - see bulk.h.
 */
#include "shim/bulk.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/bulk_transfer.h"
#include "shim/port_node.h"
#include "shim/wire.h"

enum { PORT_FD = 3, FRAME = BULK_HEADER + BULK_MAX_PAYLOAD };

/* ---- in the bulk process ------------------------------------------------- */

static struct bulk_transfer transfers[BULK_MAX_TRANSFERS];
static size_t turn; /* the transfer that may send next */
static unsigned char in[FRAME], out[FRAME];
static size_t in_used, out_start, out_end;
static char mark[WIRE_BULK_MARK];
static bool skip; /* input: up to and including the mark */

static struct bulk_transfer *find(uint32_t id)
{
    for (size_t i = 0; i < BULK_MAX_TRANSFERS; i++) {
        if (transfers[i].id == id)
            return &transfers[i];
    }
    return NULL;
}

/* The host never has more than BULK_MAX_TRANSFERS, so a frame that does not fit
 * is a fault of the host or from a previous one: ignored. */
static void take_frame(const struct bulk_frame *frame,
                       const unsigned char *payload)
{
    struct bulk_transfer *transfer = frame->id ? find(frame->id) : NULL;

    if (transfer)
        bulk_transfer_take(transfer, frame->type, payload, frame->len);
    else if (frame->id && frame->type == BULK_OPEN && (transfer = find(0)))
        bulk_transfer_open(transfer, frame->id, payload, frame->len);
}

/* Drop input that was meant for the previous process, up to the mark. Return
 * the start of the rest. */
static size_t skip_to_mark(void)
{
    const unsigned char *found = memmem(in, in_used, mark, sizeof(mark));
    size_t keep = in_used < sizeof(mark) - 1 ? in_used : sizeof(mark) - 1;

    skip = !found;
    return found ? (size_t)(found - in) + sizeof(mark) : in_used - keep;
}

/* Read the port once. Return false if the process must end. */
static bool read_port(void)
{
    ssize_t got = read(PORT_FD, in + in_used, sizeof(in) - in_used);
    size_t at = 0;

    if (got <= 0)
        return got < 0 && (errno == EAGAIN || errno == EINTR);
    in_used += (size_t)got;
    if (skip)
        at = skip_to_mark();
    while (!skip && in_used - at >= BULK_HEADER) {
        struct bulk_frame frame = bulk_get_header(in + at);

        if (frame.len > BULK_MAX_PAYLOAD)
            return false;
        if (in_used - at < BULK_HEADER + frame.len)
            break;
        take_frame(&frame, in + at + BULK_HEADER);
        at += BULK_HEADER + frame.len;
    }
    memmove(in, in + at, in_used - at);
    in_used -= at;
    return true;
}

/* Put the next frame into the empty buffer, by turns. */
static bool fill_out(void)
{
    for (size_t i = 0; i < BULK_MAX_TRANSFERS; i++) {
        struct bulk_transfer *transfer = &transfers[turn];

        turn = (turn + 1) % BULK_MAX_TRANSFERS;
        out_start = 0;
        out_end = bulk_transfer_next(transfer, out);
        if (out_end > 0)
            return true;
    }
    return false;
}

static bool write_port(void)
{
    while (out_start < out_end || fill_out()) {
        ssize_t put = write(PORT_FD, out + out_start, out_end - out_start);

        if (put < 0)
            return errno == EAGAIN || errno == EINTR;
        out_start += (size_t)put;
    }
    return true;
}

static bool serve_once(void)
{
    struct pollfd fds[1 + 2 * BULK_MAX_TRANSFERS];
    size_t count = 1;

    fds[0] = (struct pollfd){ PORT_FD, POLLIN, 0 };
    if (out_start < out_end)
        fds[0].events |= POLLOUT;
    else
        for (size_t i = 0; i < BULK_MAX_TRANSFERS; i++)
            count += bulk_transfer_poll(&transfers[i], fds + count);
    if (poll(fds, count, -1) < 0)
        return errno == EINTR;
    if ((fds[0].revents & (POLLIN | POLLHUP | POLLERR)) && !read_port())
        return false;
    for (size_t i = 0; i < BULK_MAX_TRANSFERS; i++)
        bulk_transfer_advance(&transfers[i]);
    return write_port();
}

/* start: the mark, or NULL. */
static _Noreturn void run(int port, const char *start)
{
    sigset_t none;

    if (dup2(port, PORT_FD) < 0)
        _exit(1);
    close_range(PORT_FD + 1, ~0U, 0);
    fcntl(PORT_FD, F_SETFD, FD_CLOEXEC);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, "stepback-bulk");
    signal(SIGCHLD, SIG_IGN); /* copiers are not waited for */
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (start) {
        memcpy(mark, start, sizeof(mark));
        memcpy(out, start, sizeof(mark));
        out_end = sizeof(mark);
        skip = true;
    }
    while (serve_once())
        continue;
    _exit(0);
}

/* ---- in the shim --------------------------------------------------------- */

void bulk_open(struct bulk *bulk, const char *port)
{
    char *rest;
    long fd = strtol(port, &rest, 10);

    if (*port && !*rest)
        bulk->port = (int)fd;
    else if (strcmp(port, BULK_PORT_PATH) == 0)
        bulk->port = port_node_open(BULK_PORT_NAME);
    else
        bulk->port = open(port, O_RDWR | O_CLOEXEC | O_NOCTTY);
    if (bulk->port < 0)
        return;
    fcntl(bulk->port, F_SETFL, O_RDWR | O_NONBLOCK);
    fcntl(bulk->port, F_SETFD, FD_CLOEXEC);
}

size_t bulk_poll(const struct bulk *bulk, struct pollfd *fds)
{
    if (bulk->port < 0 || bulk->started)
        return 0;
    fds[0] = (struct pollfd){ bulk->port, POLLIN, 0 };
    return 1;
}

static int start(struct bulk *bulk, const char *at)
{
    pid_t pid = fork();

    if (pid == 0)
        run(bulk->port, at);
    if (pid < 0)
        return -errno;
    bulk->pid = pid;
    bulk->started = true;
    return 0;
}

void bulk_serve(struct bulk *bulk, const struct pollfd *fds, size_t count)
{
    int result;

    if (count == 0 || !fds[0].revents)
        return;
    if (!(fds[0].revents & POLLIN)) {
        close(bulk->port);
        bulk->port = -1;
        return;
    }
    result = start(bulk, NULL);
    if (result) {
        fprintf(stderr, "stepback-shim: cannot start the bulk process: %s\n",
                strerror(-result));
        bulk->started = bulk->ended = true;
    }
}

int bulk_restart(struct bulk *bulk, const char *at)
{
    int result = bulk->port < 0 || bulk->pid > 0 ? -EINVAL : start(bulk, at);

    /* The host asks again after another report. */
    if (result && bulk->pid == 0)
        bulk->ended = true;
    return result;
}

bool bulk_note_exit(struct bulk *bulk, pid_t pid)
{
    if (pid != bulk->pid)
        return false;
    bulk->pid = 0;
    bulk->ended = true;
    return true;
}

void bulk_lose_host(struct bulk *bulk)
{
    if (bulk->started && bulk->pid == 0)
        bulk->ended = true;
}
