/* SPDX-License-Identifier: Apache-2.0
 *
 * tcp_log - the guest's TCP connections to addresses, for the supervisor's
 * list.
 *
 * The kernel counts their bytes (TCP_INFO), so that frames need not be. Of
 * connections that end in the same second, TCP_LOG_SECOND are told one by one.
 *
 * Threads: one; the state is global, as that of name_connect.h.
 */
#ifndef NET_TCP_LOG_H
#define NET_TCP_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "common/network_address.h"

enum { TCP_LOG_SECOND = 20 };

/* Ids are above those of name_channel.h. */
#define TCP_LOG_FIRST ((int64_t)1 << 40)

struct tcp_log_entry {
    int64_t id;
    struct network_address address; /* as the guest knows it */
    unsigned port;
    bool made; /* the server has accepted it */
    uint64_t from_guest, to_guest;
    int64_t milliseconds;
};

/* has_news is called when tcp_log_take() or tcp_log_take_missed() has news;
 * NULL: log nothing. */
void tcp_log_set(void (*has_news)(void *opaque), void *opaque);

/* fd connects to this address. Other sockets than those of TCP are ignored. */
void tcp_log_begin(int fd, const struct network_address *address,
                   unsigned port);

/* fd is about to be closed. Ignored for others than above. */
void tcp_log_end(int fd);

/* Get a connection that has ended. Return false if there is none. */
bool tcp_log_take(struct tcp_log_entry *ret_entry);

/* Count some that were taken and could not be told. */
void tcp_log_miss(unsigned count);

/* Return how many have ended that cannot be taken, since the last call. */
unsigned tcp_log_take_missed(void);

/* Call add for each open connection. */
void tcp_log_list(void (*add)(const struct tcp_log_entry *entry, void *opaque),
                  void *opaque);

#endif
