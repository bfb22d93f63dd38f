/* SPDX-License-Identifier: Apache-2.0
 *
 * tls_end - one end of an intercepted connection: TLS on a socket, or plain
 * bytes.
 *
 * The guest's handshake stops after its ClientHello until the
 * server's certificate was checked (tls_end_go_on()). A client that closes the
 * connection without close_notify is not an error, but the caller can see it.
 *
 * Errors: each function that fails sets a reason, and leaves OpenSSL's error
 * queue empty. Threads: one.
 */
#ifndef PROXY_TLS_END_H
#define PROXY_TLS_END_H

#include <openssl/ssl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "proxy/alpn.h"

struct tls_end;

enum tls_progress {
    TLS_WAITS,
    TLS_HELLO, /* the guest's ClientHello was read; tls_end_go_on() follows */
    TLS_DONE,
    TLS_FAILED,
};

/* The most that a read can return at once: a record (RFC 8446, 5.1). */
enum { TLS_RECORD_MAX = 16 << 10 };

/* Set up a context of tls_context.h for tls_end_new_guest(). */
void tls_end_prepare_guests(SSL_CTX *context);

/* fd is borrowed. context: NULL for plain bytes. Return NULL without memory. */
struct tls_end *tls_end_new_guest(int fd, SSL_CTX *context);

/* name: the server's, checked in its certificate and sent as SNI. offer: at
 * least one protocol. */
struct tls_end *tls_end_new_server(int fd, SSL_CTX *context, const char *name,
                                   const struct alpn *offer);
void tls_end_free(struct tls_end *end);

/* Bytes (copied) that were read from the socket before. Call it once, first. */
void tls_end_push(struct tls_end *end, const void *data, size_t length);

enum tls_progress tls_end_shake_hands(struct tls_end *end);

/* The protocols that the guest offers, after TLS_HELLO. */
const struct alpn *tls_end_offered(const struct tls_end *end);

/* Resume the guest's handshake with a certificate, its chain and key (borrowed)
 * and a protocol that it offers; 0: without ALPN. Return false if they do not
 * fit. */
bool tls_end_go_on(struct tls_end *end, X509 *certificate, EVP_PKEY *key,
                   STACK_OF(X509) * chain, unsigned protocol);

/* End the guest's handshake with an alert (SSL_AD_...), after TLS_HELLO. */
void tls_end_reject(struct tls_end *end, int alert);

/* The protocol that the server has chosen, after TLS_DONE: one of enum
 * alpn_protocol, also ALPN_UNKNOWN, or 0 for none. */
unsigned tls_end_chosen(const struct tls_end *end);

/* Return whether the session is safe to pass bytes: of a guest, that its server
 * name is this name, also if it has sent a second ClientHello; of a server,
 * that its certificate was found valid. False before TLS_DONE. */
bool tls_end_is_checked(const struct tls_end *end, const char *name);

/* Return whether a server's certificate was found invalid. */
bool tls_end_is_distrusted(const struct tls_end *end);

/* Return a number of bytes, 0 at the end, -EAGAIN, or another -errno. length
 * must be at least TLS_RECORD_MAX. */
ssize_t tls_end_read(struct tls_end *end, uint8_t *data, size_t length);

/* Return whether the end that tls_end_read() reported was not announced by
 * close_notify. False of plain bytes. */
bool tls_end_is_cut(const struct tls_end *end);

/* Return a number of bytes, -EAGAIN, or another -errno. */
ssize_t tls_end_write(struct tls_end *end, const uint8_t *data, size_t length);

/* Send no more; clean: with close_notify. Return 0, -EAGAIN to call it again,
 * or another -errno. */
int tls_end_finish(struct tls_end *end, bool clean);

/* Return whether bytes wait that epoll(7) does not know of. */
bool tls_end_has_hidden(const struct tls_end *end);

/* Return the events of the socket to wait for, for the last call that returned
 * TLS_WAITS or -EAGAIN. */
uint32_t tls_end_events(const struct tls_end *end, bool reading, bool writing);

/* The reason of the last failure; owned by the end. */
const char *tls_end_problem(const struct tls_end *end);

/* Return whether the socket has failed: the peer has closed or reset it. */
bool tls_end_is_reset(const struct tls_end *end);

/* Bytes that were written to the socket. */
uint64_t tls_end_sent(const struct tls_end *end);

#endif
