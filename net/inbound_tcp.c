/* SPDX-License-Identifier: Apache-2.0
 *
 * inbound_tcp - see inbound_tcp.h.
 */
#include "net/inbound_tcp.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "net/inbound_peer.h"
#include "net/rejection.h"

static guint hash_key(gconstpointer data)
{
    const struct inbound_key *key = data;

    return frame_get32(key->peer) * 31 + key->peer_port * 0x9e3779b1u +
           key->guest_port;
}

static gboolean equal_keys(gconstpointer one, gconstpointer other)
{
    return memcmp(one, other, sizeof(struct inbound_key)) == 0;
}

GHashTable *inbound_tcp_new(void)
{
    return g_hash_table_new_full(hash_key, equal_keys, NULL, g_free);
}

bool inbound_tcp_add(GHashTable *table, int fd, unsigned guest_port, void *port)
{
    struct inbound_connection *connection;
    struct sockaddr_in peer = { 0 };
    socklen_t length = sizeof(peer);
    struct network_address address;
    struct inbound_key key = { .guest_port = (uint16_t)guest_port };

    if (getpeername(fd, (struct sockaddr *)&peer, &length) < 0 ||
        peer.sin_family != AF_INET)
        return false;
    address = inbound_peer_address(&peer);
    memcpy(key.peer, address.bytes, sizeof(key.peer));
    key.peer_port = ntohs(peer.sin_port);
    if (g_hash_table_contains(table, &key))
        return false;
    connection = g_new0(struct inbound_connection, 1);
    connection->key = key;
    connection->fd = fd;
    connection->port = port;
    g_hash_table_insert(table, &connection->key, connection);
    return true;
}

struct inbound_connection *
inbound_tcp_find(GHashTable *table, const struct frame *frame, bool to_guest)
{
    const struct network_address *peer = to_guest ? &frame->source
                                                  : &frame->target;
    unsigned peer_port = to_guest ? frame->source_port : frame->target_port;
    unsigned guest_port = to_guest ? frame->target_port : frame->source_port;
    struct inbound_key key = { .peer_port = (uint16_t)peer_port,
                               .guest_port = (uint16_t)guest_port };

    memcpy(key.peer, peer->bytes, sizeof(key.peer));
    return g_hash_table_lookup(table, &key);
}

void inbound_tcp_note(struct inbound_connection *connection,
                      const struct frame *frame)
{
    memcpy(connection->last, frame->data, INBOUND_TCP_HEADERS);
}

size_t inbound_tcp_reset(struct inbound_connection *connection,
                         uint8_t *ret_answer)
{
    uint8_t *ip = connection->last + FRAME_HEADER;
    uint8_t *tcp = ip + FRAME_IPV4_HEADER;
    struct frame frame;

    /* Make the headers those of a bare acknowledgement. */
    frame_put16(ip + 2, INBOUND_TCP_HEADERS - FRAME_HEADER);
    tcp[12] = 5 << 4;
    tcp[13] = FRAME_ACK;
    if (!frame_parse(connection->last, INBOUND_TCP_HEADERS, &frame))
        return 0;
    return rejection_build(&frame, ret_answer);
}
