/* SPDX-License-Identifier: Apache-2.0
 *
 * tcp_log - see tcp_log.h.
 */
#include "net/tcp_log.h"

#include <glib.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "net/shares.h"

/* Of the kernel's states (include/net/tcp_states.h): the server has sent its
 * FIN, which counts as a byte. */
enum { TIME_WAIT = 6, CLOSE_WAIT = 8, LAST_ACK = 9, CLOSING = 11 };

struct open {
    bool used;
    int64_t id;
    struct network_address address;
    unsigned port;
    gint64 started;
};

static struct {
    void (*has_news)(void *opaque);
    void *opaque;
    int64_t last_id;
    struct open open[SHARES_FILES]; /* by fd */
    struct tcp_log_entry ended[TCP_LOG_SECOND];
    unsigned first, count, missed;
    gint64 second; /* to which told belongs */
    unsigned told;
} state;

void tcp_log_set(void (*has_news)(void *opaque), void *opaque)
{
    memset(&state, 0, sizeof(state));
    state.has_news = has_news;
    state.opaque = opaque;
    state.last_id = TCP_LOG_FIRST;
}

static bool is_stream(int fd)
{
    int type = 0;
    socklen_t length = sizeof(type);

    return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) == 0 &&
           type == SOCK_STREAM;
}

/* slirp connects to the host's loopback in place of its own address. */
static struct network_address guest_address(const struct network_address *peer)
{
    static const struct network_address host[2] = {
        { false, { 10, 0, 2, 2 } },
        { true, { 0xfe, 0xc0, [15] = 2 } },
    };
    static const uint8_t loopback_v6[16] = { [15] = 1 };
    bool local = peer->v6 ? memcmp(peer->bytes, loopback_v6, 16) == 0
                          : peer->bytes[0] == 127;

    return local ? host[peer->v6] : *peer;
}

void tcp_log_begin(int fd, const struct network_address *address, unsigned port)
{
    if (!state.has_news || fd < 0 || fd >= SHARES_FILES || !is_stream(fd))
        return;
    state.open[fd] = (struct open){
        .used = true,
        .id = ++state.last_id,
        .address = guest_address(address),
        .port = port,
        .started = g_get_monotonic_time(),
    };
}

static void describe(int fd, struct tcp_log_entry *ret_entry)
{
    const struct open *open = &state.open[fd];
    struct tcp_info info = { 0 };
    socklen_t length = sizeof(info);
    int at;

    getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length);
    at = info.tcpi_state;
    if (info.tcpi_bytes_received > 0 && (at == TIME_WAIT || at == CLOSE_WAIT ||
                                         at == LAST_ACK || at == CLOSING))
        info.tcpi_bytes_received--;
    *ret_entry = (struct tcp_log_entry){
        .id = open->id,
        .address = open->address,
        .port = open->port,
        .made = info.tcpi_bytes_acked > 0 || info.tcpi_bytes_received > 0,
        .from_guest = info.tcpi_bytes_sent - info.tcpi_bytes_retrans,
        .to_guest = info.tcpi_bytes_received,
        .milliseconds = (g_get_monotonic_time() - open->started) / 1000,
    };
}

void tcp_log_end(int fd)
{
    gint64 second = g_get_monotonic_time() / G_USEC_PER_SEC;

    if (fd < 0 || fd >= SHARES_FILES || !state.open[fd].used)
        return;
    if (state.second != second) {
        state.second = second;
        state.told = 0;
    }
    if (state.told == TCP_LOG_SECOND || state.count == TCP_LOG_SECOND) {
        state.missed++;
    } else {
        state.told++;
        describe(fd,
                 &state.ended[(state.first + state.count) % TCP_LOG_SECOND]);
        state.count++;
    }
    state.has_news(state.opaque);
    state.open[fd].used = false;
}

bool tcp_log_take(struct tcp_log_entry *ret_entry)
{
    if (state.count == 0)
        return false;
    *ret_entry = state.ended[state.first];
    state.first = (state.first + 1) % TCP_LOG_SECOND;
    state.count--;
    return true;
}

void tcp_log_miss(unsigned count)
{
    state.missed += count;
}

unsigned tcp_log_take_missed(void)
{
    unsigned missed = state.missed;

    state.missed = 0;
    return missed;
}

void tcp_log_list(void (*add)(const struct tcp_log_entry *entry, void *opaque),
                  void *opaque)
{
    struct tcp_log_entry entry;

    for (int fd = 0; fd < SHARES_FILES; fd++) {
        if (!state.open[fd].used)
            continue;
        describe(fd, &entry);
        add(&entry, opaque);
    }
}
