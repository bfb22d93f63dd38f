/* SPDX-License-Identifier: Apache-2.0
 *
 * slirp_stack - see slirp_stack.h.
 */
#include "net/slirp_stack.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <libslirp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/errors.h"
#include "common/fd.h"
#include "common/log.h"
#include "common/network_link.h"
#include "net/name_connect.h"

enum {
    CONFIG_VERSION = 4,
};

struct timer {
    SlirpTimerCb call;
    void *opaque;
    int64_t due; /* ms; -1: never */
};

struct slirp_stack {
    Slirp *slirp;
    slirp_stack_send send;
    void *opaque;
    bool advertises;
    GSList *timers;                            /* of struct timer */
    const struct slirp_stack_inbound *inbound; /* or NULL */
    int listener;
    unsigned sockets;           /* number of open ones */
    bool open[SLIRP_STACK_FDS]; /* slirp's sockets */
};

/* ---- slirp's messages ---------------------------------------------------- */

/* Log slirp's messages at debug level: a guest can trigger them as often as it
 * likes. GLib's own writer would also check the type of standard error. */
static GLogWriterOutput take_message(GLogLevelFlags level,
                                     const GLogField *fields, gsize count,
                                     gpointer data)
{
    const char *text = NULL;

    for (gsize i = 0; i < count; i++) {
        if (strcmp(fields[i].key, "MESSAGE") == 0)
            text = fields[i].value;
    }
    if (level & G_LOG_FLAG_FATAL)
        log_error(LOG_SESSION, "%s", text ? text : "fatal error");
    else
        log_debug(LOG_SESSION, "slirp: %s", text ? text : "");
    return G_LOG_WRITER_HANDLED;
}

/* ---- slirp's callbacks --------------------------------------------------- */

static int64_t now_ms(void)
{
    return g_get_monotonic_time() / 1000;
}

static ssize_t send_packet(const void *data, size_t length, void *opaque)
{
    struct slirp_stack *stack = opaque;

    stack->send(data, length, stack->opaque);
    return (ssize_t)length;
}

static void on_guest_error(const char *text, void *opaque)
{
    log_debug(LOG_SESSION, "slirp: %s", text);
}

static int64_t get_clock(void *opaque)
{
    return g_get_monotonic_time() * 1000;
}

static void *timer_new(SlirpTimerCb call, void *timer_opaque, void *opaque)
{
    struct slirp_stack *stack = opaque;
    struct timer *timer = g_new0(struct timer, 1);

    timer->call = call;
    timer->opaque = timer_opaque;
    timer->due = -1;
    stack->timers = g_slist_prepend(stack->timers, timer);
    return timer;
}

static void timer_free(void *timer, void *opaque)
{
    struct slirp_stack *stack = opaque;

    stack->timers = g_slist_remove(stack->timers, timer);
    g_free(timer);
}

/* slirp's only timer sends router advertisements. */
static void timer_mod(void *timer, int64_t due, void *opaque)
{
    const struct slirp_stack *stack = opaque;

    ((struct timer *)timer)->due = stack->advertises ? due : -1;
}

static void note_socket(struct slirp_stack *stack, int fd, bool open)
{
    if (fd < 0 || fd >= SLIRP_STACK_FDS || stack->open[fd] == open)
        return;
    stack->open[fd] = open;
    stack->sockets += open ? 1 : -1u;
    if (stack->inbound && fd != stack->listener)
        (open ? stack->inbound->opened : stack->inbound->closed)(fd,
                                                                 stack->opaque);
}

static void register_fd(int fd, void *opaque)
{
    note_socket(opaque, fd, true);
}

static void unregister_fd(int fd, void *opaque)
{
    name_connect_forget(fd);
    note_socket(opaque, fd, false);
}

/* Output is possible: the loop iterates in any case. */
static void on_notify(void *opaque)
{
}

static const SlirpCb callbacks = {
    .send_packet = send_packet,
    .guest_error = on_guest_error,
    .clock_get_ns = get_clock,
    .timer_new = timer_new,
    .timer_free = timer_free,
    .timer_mod = timer_mod,
    .register_poll_fd = register_fd,
    .unregister_poll_fd = unregister_fd,
    .notify = on_notify,
};

void slirp_stack_log(void)
{
    g_log_set_writer_func(take_message, NULL, NULL);
}

static void begin(struct slirp_stack *stack, const uint8_t dns[4],
                  bool restricted)
{
    SlirpConfig config = {
        .version = CONFIG_VERSION,
        .restricted = restricted,
        .in_enabled = true,
        .in6_enabled = true,
        .vprefix_len = 64,
        .if_mtu = NETWORK_LINK_MTU,
        .if_mru = NETWORK_LINK_MTU,
    };

    inet_pton(AF_INET, "10.0.2.0", &config.vnetwork);
    inet_pton(AF_INET, "255.255.255.0", &config.vnetmask);
    inet_pton(AF_INET, "10.0.2.2", &config.vhost);
    inet_pton(AF_INET, "10.0.2.15", &config.vdhcp_start);
    memcpy(&config.vnameserver, dns, 4);
    inet_pton(AF_INET6, "fec0::", &config.vprefix_addr6);
    inet_pton(AF_INET6, "fec0::2", &config.vhost6);
    inet_pton(AF_INET6, "fec0::3", &config.vnameserver6);
    stack->slirp = slirp_new(&config, &callbacks, stack);
}

struct slirp_stack *slirp_stack_new(const uint8_t dns[4], bool advertises,
                                    slirp_stack_send send, void *opaque)
{
    struct slirp_stack *stack = g_new0(struct slirp_stack, 1);

    stack->advertises = advertises;
    stack->send = send;
    stack->opaque = opaque;
    begin(stack, dns, false);
    return stack;
}

/* ---- a published port ---------------------------------------------------- */

static int note_listener(int fd, int events, void *opaque)
{
    int *listener = opaque;

    *listener = fd;
    return 0;
}

/* Make slirp listen, and return its socket: the only one of a new stack. -1 and
 * errno on failure. */
static int listen_as_slirp(struct slirp_stack *stack, unsigned guest_port)
{
    struct sockaddr_in host = { .sin_family = AF_INET };
    struct sockaddr_in guest = { .sin_family = AF_INET };
    uint32_t timeout = UINT32_MAX;
    int listener = -1;

    host.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    inet_pton(AF_INET, "10.0.2.15", &guest.sin_addr);
    guest.sin_port = htons((uint16_t)guest_port);
    if (slirp_add_hostxfwd(stack->slirp, (struct sockaddr *)&host, sizeof(host),
                           (struct sockaddr *)&guest, sizeof(guest), 0) == 0)
        slirp_pollfds_fill(stack->slirp, &timeout, note_listener, &listener);
    return listener;
}

struct slirp_stack *
slirp_stack_new_inbound(int listener, unsigned guest_port,
                        const struct slirp_stack_inbound *inbound, void *opaque,
                        GError **error)
{
    static const uint8_t dns[4] = { 10, 0, 2, 3 };
    struct slirp_stack *stack = g_new0(struct slirp_stack, 1);

    stack->send = inbound->send;
    stack->opaque = opaque;
    begin(stack, dns, true);
    stack->listener = listen_as_slirp(stack, guest_port);
    if (stack->listener < 0 || dup3(listener, stack->listener, O_CLOEXEC) < 0) {
        g_set_error(error, STEPBACK_ERROR, ERROR_IO_ERROR,
                    "published port: cannot forward connections: %s",
                    g_strerror(errno));
        slirp_stack_free(stack);
        stack = NULL;
    } else {
        stack->inbound = inbound;
    }
    fd_close(&listener);
    return stack;
}

int slirp_stack_listener(const struct slirp_stack *stack)
{
    return stack->listener;
}

/* ---- frames -------------------------------------------------------------- */

void slirp_stack_free(struct slirp_stack *stack)
{
    if (!stack)
        return;
    slirp_cleanup(stack->slirp);
    g_slist_free_full(stack->timers, g_free);
    g_free(stack);
}

void slirp_stack_input(struct slirp_stack *stack, const uint8_t *data,
                       size_t length)
{
    slirp_input(stack->slirp, data, (int)length);
}

unsigned slirp_stack_sockets(const struct slirp_stack *stack)
{
    return stack->sockets;
}

/* ---- waiting ------------------------------------------------------------- */

static const struct {
    int slirp;
    gushort poll;
} event_bits[] = {
    { SLIRP_POLL_IN, G_IO_IN },   { SLIRP_POLL_OUT, G_IO_OUT },
    { SLIRP_POLL_PRI, G_IO_PRI }, { SLIRP_POLL_ERR, G_IO_ERR },
    { SLIRP_POLL_HUP, G_IO_HUP },
};

static int add_poll(int fd, int events, void *opaque)
{
    GArray *fds = opaque;
    GPollFD entry = { .fd = fd };

    for (size_t i = 0; i < G_N_ELEMENTS(event_bits); i++) {
        if (events & event_bits[i].slirp)
            entry.events |= event_bits[i].poll;
    }
    g_array_append_val(fds, entry);
    return (int)fds->len - 1;
}

/* For a connection that begins, libslirp asks for output alone, but reads from
 * it on any HUP or ERR and then sends a FIN instead of an answer to the SYN.
 * Its write finds the error, and the guest gets a reset. */
static int get_events(int index, void *opaque)
{
    GArray *fds = opaque;
    const GPollFD *entry = &g_array_index(fds, GPollFD, index);
    int events = 0;

    if (!(entry->events & G_IO_IN) && (entry->revents & (G_IO_HUP | G_IO_ERR)))
        return SLIRP_POLL_OUT;
    for (size_t i = 0; i < G_N_ELEMENTS(event_bits); i++) {
        if (entry->revents & event_bits[i].poll)
            events |= event_bits[i].slirp;
    }
    return events;
}

void slirp_stack_fill(struct slirp_stack *stack, GArray *fds, int *timeout)
{
    uint32_t wait = *timeout < 0 ? UINT32_MAX : (uint32_t)*timeout;
    int64_t now = now_ms();

    slirp_pollfds_fill(stack->slirp, &wait, add_poll, fds);
    for (GSList *item = stack->timers; item; item = item->next) {
        const struct timer *timer = item->data;

        if (timer->due >= 0 && timer->due - now < (int64_t)wait)
            wait = (uint32_t)MAX(timer->due - now, 0);
    }
    *timeout = wait > G_MAXINT ? -1 : (int)wait;
}

void slirp_stack_poll(struct slirp_stack *stack, GArray *fds, bool failed)
{
    int64_t now = now_ms();

    slirp_pollfds_poll(stack->slirp, failed, get_events, fds);
    for (GSList *item = stack->timers, *next; item; item = next) {
        struct timer *timer = item->data;

        next = item->next;
        if (timer->due >= 0 && timer->due <= now) {
            timer->due = -1;
            timer->call(timer->opaque);
        }
    }
}

/* ---- cutting connections ------------------------------------------------- */

static bool get_peer(int fd, struct network_address *ret_peer,
                     unsigned *ret_port)
{
    union {
        struct sockaddr any;
        struct sockaddr_in in;
        struct sockaddr_in6 in6;
        struct sockaddr_storage storage;
    } peer;
    socklen_t length = sizeof(peer);

    if (name_connect_peer(fd, ret_peer, ret_port))
        return true;
    if (getpeername(fd, &peer.any, &length) < 0)
        return false;
    memset(ret_peer, 0, sizeof(*ret_peer));
    if (peer.any.sa_family == AF_INET) {
        memcpy(ret_peer->bytes, &peer.in.sin_addr, 4);
        *ret_port = ntohs(peer.in.sin_port);
        return true;
    }
    ret_peer->v6 = true;
    memcpy(ret_peer->bytes, &peer.in6.sin6_addr, 16);
    *ret_port = ntohs(peer.in6.sin6_port);
    return peer.any.sa_family == AF_INET6;
}

void slirp_stack_cut(struct slirp_stack *stack, slirp_stack_stays stays,
                     void *opaque)
{
    struct network_address peer;
    unsigned port;

    /* slirp sees an end of file and ends the guest's connection, too. */
    for (int fd = 0; fd < SLIRP_STACK_FDS; fd++) {
        if (stack->open[fd] && get_peer(fd, &peer, &port) &&
            !stays(&peer, port, opaque))
            shutdown(fd, SHUT_RDWR);
    }
}
