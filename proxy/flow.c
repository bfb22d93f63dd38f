/* SPDX-License-Identifier: Apache-2.0
 *
 * flow - see flow.h.
 */
#include "proxy/flow.h"

#include <errno.h>
#include <glib.h>
#include <string.h>
#include <sys/socket.h>

bool flow_wants(const struct flow *flow)
{
    return !flow->ended && flow->passed == 0 &&
           flow->end - flow->start < FLOW_MAX;
}

/* Move the bytes to the buffer's start, or free it if there are none. */
static void tidy(struct flow *flow)
{
    size_t length = flow->end - flow->start;

    if (length == 0) {
        flow_clear(flow);
    } else if (flow->start > 0) {
        memmove(flow->data, flow->data + flow->start, length);
        flow->start = 0;
        flow->end = length;
    }
}

int flow_read(struct flow *flow, int fd)
{
    ssize_t n;

    if (!flow->data)
        flow->data = g_malloc(FLOW_MAX);
    do
        n = recv(fd, flow->data + flow->end, FLOW_MAX - flow->end, 0);
    while (n < 0 && errno == EINTR);
    if (n > 0) {
        flow->end += (size_t)n;
        return (int)n;
    }
    if (n == 0)
        flow->ended = true;
    else if (errno != EAGAIN)
        return -errno;
    tidy(flow);
    return 0;
}

static int shut(struct flow *flow, int fd)
{
    if (!flow->ended || flow->shut || flow->end > flow->start)
        return 0;
    flow->shut = true;
    return shutdown(fd, SHUT_WR) == 0 ? 0 : -errno;
}

int flow_write(struct flow *flow, int fd)
{
    while (flow->passed > 0) {
        ssize_t n = send(fd, flow->data + flow->start, flow->passed,
                         MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN ? 0 : -errno;
        flow->start += (size_t)n;
        flow->passed -= (size_t)n;
        flow->total += (size_t)n;
    }
    tidy(flow);
    return shut(flow, fd);
}

const char *flow_held(const struct flow *flow, size_t *ret_length)
{
    *ret_length = flow->end - flow->start - flow->passed;
    return flow->data ? flow->data + flow->start + flow->passed : NULL;
}

bool flow_is_over(const struct flow *flow)
{
    return flow->shut;
}

void flow_clear(struct flow *flow)
{
    g_free(flow->data);
    flow->data = NULL;
    flow->start = flow->end = flow->passed = 0;
}
