/* SPDX-License-Identifier: Apache-2.0
 *
 * tls_end - see tls_end.h.
 */
#include "proxy/tls_end.h"

#include <errno.h>
#include <glib.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "proxy/host_name.h"
#include "proxy/tls_problem.h"

/* Instead of an alert: of the guest's handshake. */
enum { UNDECIDED = -1, ACCEPTED = -2 };

struct tls_end {
    int fd;
    SSL *session; /* NULL: plain bytes */

    uint8_t *pushed; /* read before */
    size_t pushed_start, pushed_end;
    bool socket_ended;
    int socket_problem; /* errno */

    struct alpn offered;
    int decision;    /* an alert, or above */
    unsigned chosen; /* for the guest */
    bool shaken, ended, cut, closed;

    uint32_t read_events, write_events;
    uint64_t sent;
    char *problem;
};

/* ---- the socket ---------------------------------------------------------- */

/* Return a number of bytes, 0 at the end, or -errno. */
static ssize_t receive(struct tls_end *end, void *data, size_t length)
{
    ssize_t n;

    if (end->pushed) {
        size_t here = MIN(length, end->pushed_end - end->pushed_start);

        memcpy(data, end->pushed + end->pushed_start, here);
        end->pushed_start += here;
        if (end->pushed_start == end->pushed_end)
            g_clear_pointer(&end->pushed, g_free);
        return (ssize_t)here;
    }
    do
        n = recv(end->fd, data, length, 0);
    while (n < 0 && errno == EINTR);
    if (n == 0)
        end->socket_ended = true;
    return n < 0 ? -errno : n;
}

static ssize_t transmit(struct tls_end *end, const void *data, size_t length)
{
    ssize_t n;

    do
        n = send(end->fd, data, length, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    if (n > 0)
        end->sent += (uint64_t)n;
    return n < 0 ? -errno : n;
}

/* Return what OpenSSL expects of n. */
static int outcome(BIO *bio, ssize_t n, int retry)
{
    struct tls_end *end = BIO_get_data(bio);

    BIO_clear_retry_flags(bio);
    if (n == -EAGAIN)
        BIO_set_flags(bio, retry | BIO_FLAGS_SHOULD_RETRY);
    else if (n < 0)
        end->socket_problem = (int)-n;
    return n < 0 ? -1 : (int)n;
}

static int read_bio(BIO *bio, char *data, int length)
{
    return outcome(bio, receive(BIO_get_data(bio), data, (size_t)length),
                   BIO_FLAGS_READ);
}

static int write_bio(BIO *bio, const char *data, int length)
{
    return outcome(bio, transmit(BIO_get_data(bio), data, (size_t)length),
                   BIO_FLAGS_WRITE);
}

static long control_bio(BIO *bio, int command, long number, void *pointer)
{
    const struct tls_end *end = BIO_get_data(bio);

    if (command == BIO_CTRL_EOF)
        return end->socket_ended;
    return command == BIO_CTRL_FLUSH;
}

/* Return the methods, which live as long as the process, or NULL. */
static BIO_METHOD *bio_methods(void)
{
    static BIO_METHOD *methods;

    if (methods)
        return methods;
    methods = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK,
                           "socket of a connection");
    if (methods && (!BIO_meth_set_read(methods, read_bio) ||
                    !BIO_meth_set_write(methods, write_bio) ||
                    !BIO_meth_set_ctrl(methods, control_bio)))
        g_clear_pointer(&methods, BIO_meth_free);
    return methods;
}

/* ---- the guest's ClientHello
 * ------------------------------------------------------------ */

/* Called for each ClientHello of a guest: again after tls_end_go_on(), and for
 * the one after a HelloRetryRequest. */
static int on_hello(SSL *session, int *ret_alert, void *opaque)
{
    struct tls_end *end = SSL_get_app_data(session);
    const unsigned char *list;
    size_t length;

    if (end->decision == ACCEPTED)
        return SSL_CLIENT_HELLO_SUCCESS;
    if (end->decision != UNDECIDED) {
        *ret_alert = end->decision;
        return SSL_CLIENT_HELLO_ERROR;
    }
    end->offered.present = SSL_client_hello_get0_ext(
        session, TLSEXT_TYPE_application_layer_protocol_negotiation, &list,
        &length);
    if (!end->offered.present || alpn_parse(&end->offered, list, length))
        return SSL_CLIENT_HELLO_RETRY;
    *ret_alert = SSL_AD_DECODE_ERROR;
    return SSL_CLIENT_HELLO_ERROR;
}

static int on_alpn(SSL *session, const unsigned char **ret_name,
                   unsigned char *ret_length, const unsigned char *list,
                   unsigned length, void *opaque)
{
    const struct tls_end *end = SSL_get_app_data(session);

    if (!end->chosen)
        return SSL_TLSEXT_ERR_NOACK;
    *ret_name = alpn_find(list, length, end->chosen, ret_length);
    return *ret_name ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

void tls_end_prepare_guests(SSL_CTX *context)
{
    SSL_CTX_set_client_hello_cb(context, on_hello, NULL);
    SSL_CTX_set_alpn_select_cb(context, on_alpn, NULL);
}

/* ---- an end's life ------------------------------------------------------- */

static bool set_session(struct tls_end *end, SSL_CTX *context)
{
    const BIO_METHOD *methods = bio_methods();
    BIO *bio = methods ? BIO_new(methods) : NULL;

    end->session = bio ? SSL_new(context) : NULL;
    if (!end->session) {
        BIO_free(bio);
        return false;
    }
    BIO_set_data(bio, end);
    BIO_set_init(bio, 1);
    SSL_set_bio(end->session, bio, bio);
    SSL_set_app_data(end->session, end);
    return true;
}

static struct tls_end *new_end(int fd, SSL_CTX *context)
{
    struct tls_end *end = g_new0(struct tls_end, 1);

    end->fd = fd;
    end->decision = UNDECIDED;
    end->read_events = EPOLLIN;
    end->write_events = EPOLLOUT;
    ERR_clear_error();
    if (!context || set_session(end, context))
        return end;
    ERR_clear_error();
    tls_end_free(end);
    return NULL;
}

struct tls_end *tls_end_new_guest(int fd, SSL_CTX *context)
{
    struct tls_end *end = new_end(fd, context);

    if (end && context)
        SSL_set_accept_state(end->session);
    return end;
}

struct tls_end *tls_end_new_server(int fd, SSL_CTX *context, const char *name,
                                   const struct alpn *offer)
{
    struct tls_end *end = new_end(fd, context);

    if (!end || !context)
        return end;
    SSL_set_connect_state(end->session);
    SSL_set_verify(end->session, SSL_VERIFY_PEER, NULL);
    SSL_set_hostflags(end->session, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS |
                                        X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
    if (SSL_set1_host(end->session, name) == 1 &&
        SSL_set_tlsext_host_name(end->session, name) == 1 &&
        SSL_set_alpn_protos(end->session, offer->wire, offer->wire_length) == 0)
        return end;
    ERR_clear_error();
    tls_end_free(end);
    return NULL;
}

void tls_end_free(struct tls_end *end)
{
    if (!end)
        return;
    SSL_free(end->session);
    ERR_clear_error();
    g_free(end->pushed);
    g_free(end->problem);
    g_free(end);
}

void tls_end_push(struct tls_end *end, const void *data, size_t length)
{
    if (length == 0)
        return;
    end->pushed = g_memdup2(data, length);
    end->pushed_end = length;
}

/* ---- handshakes ---------------------------------------------------------- */

static void fail(struct tls_end *end, int error)
{
    g_free(end->problem);
    end->problem = tls_problem_describe(end->session, error,
                                        end->socket_problem);
}

enum tls_progress tls_end_shake_hands(struct tls_end *end)
{
    int rc, error;

    if (!end->session || end->shaken) {
        end->shaken = true;
        return TLS_DONE;
    }
    ERR_clear_error();
    rc = SSL_do_handshake(end->session);
    error = SSL_get_error(end->session, rc);
    if (rc == 1) {
        end->shaken = true;
        end->read_events = EPOLLIN;
        ERR_clear_error();
        return TLS_DONE;
    }
    if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) {
        end->read_events = error == SSL_ERROR_WANT_READ ? EPOLLIN : EPOLLOUT;
        ERR_clear_error();
        return TLS_WAITS;
    }
    if (error == SSL_ERROR_WANT_CLIENT_HELLO_CB) {
        ERR_clear_error();
        return TLS_HELLO;
    }
    fail(end, error);
    return TLS_FAILED;
}

const struct alpn *tls_end_offered(const struct tls_end *end)
{
    return &end->offered;
}

bool tls_end_go_on(struct tls_end *end, X509 *certificate, EVP_PKEY *key,
                   STACK_OF(X509) * chain, unsigned protocol)
{
    ERR_clear_error();
    if (end->decision != UNDECIDED ||
        SSL_use_cert_and_key(end->session, certificate, key, chain, 1) != 1) {
        ERR_clear_error();
        return false;
    }
    end->chosen = protocol;
    end->decision = ACCEPTED;
    return true;
}

void tls_end_reject(struct tls_end *end, int alert)
{
    if (!end->session || end->decision != UNDECIDED)
        return;
    end->decision = alert;
    ERR_clear_error();
    SSL_do_handshake(end->session);
    ERR_clear_error();
}

unsigned tls_end_chosen(const struct tls_end *end)
{
    const unsigned char *name;
    unsigned length, protocol;

    SSL_get0_alpn_selected(end->session, &name, &length);
    if (length == 0)
        return 0;
    protocol = alpn_protocol_of(name, length);
    return protocol ? protocol : ALPN_UNKNOWN;
}

bool tls_end_is_checked(const struct tls_end *end, const char *name)
{
    const char *found;

    if (!end->session || !end->shaken || !SSL_is_init_finished(end->session))
        return false;
    if (!SSL_is_server(end->session))
        return SSL_get_verify_mode(end->session) == SSL_VERIFY_PEER &&
               SSL_get0_peer_certificate(end->session) &&
               SSL_get_verify_result(end->session) == X509_V_OK;
    found = SSL_get_servername(end->session, TLSEXT_NAMETYPE_host_name);
    return end->decision == ACCEPTED && found &&
           host_name_equals(name, found, strlen(found));
}

bool tls_end_is_distrusted(const struct tls_end *end)
{
    return end->session && !SSL_is_server(end->session) &&
           SSL_get_verify_result(end->session) != X509_V_OK;
}

/* ---- bytes --------------------------------------------------------------- */

/* Return -errno of a call that has failed, or -EAGAIN. */
static int failure(struct tls_end *end, int rc, uint32_t *events)
{
    int error = SSL_get_error(end->session, rc);

    if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) {
        *events = error == SSL_ERROR_WANT_READ ? EPOLLIN : EPOLLOUT;
        ERR_clear_error();
        return -EAGAIN;
    }
    fail(end, error);
    return end->socket_problem ? -end->socket_problem : -EPROTO;
}

/* Keep the reason of a plain socket's failure. */
static ssize_t note(struct tls_end *end, ssize_t n)
{
    if (n < 0 && n != -EAGAIN)
        end->socket_problem = (int)-n;
    return n;
}

ssize_t tls_end_read(struct tls_end *end, uint8_t *data, size_t length)
{
    size_t n = 0;
    int rc;

    if (end->ended)
        return 0;
    if (!end->session) {
        ssize_t received = note(end, receive(end, data, length));

        end->ended = received == 0;
        return received;
    }
    ERR_clear_error();
    rc = SSL_read_ex(end->session, data, length, &n);
    if (rc == 1) {
        end->read_events = EPOLLIN;
        return (ssize_t)n;
    }
    if (SSL_get_error(end->session, rc) != SSL_ERROR_ZERO_RETURN)
        return failure(end, rc, &end->read_events);
    ERR_clear_error();
    end->ended = true;
    end->cut = end->socket_ended;
    return 0;
}

bool tls_end_is_cut(const struct tls_end *end)
{
    return end->cut;
}

ssize_t tls_end_write(struct tls_end *end, const uint8_t *data, size_t length)
{
    size_t n = 0;
    int rc;

    if (!end->session)
        return note(end, transmit(end, data, length));
    ERR_clear_error();
    rc = SSL_write_ex(end->session, data, length, &n);
    if (rc != 1)
        return failure(end, rc, &end->write_events);
    end->write_events = EPOLLOUT;
    return (ssize_t)n;
}

int tls_end_finish(struct tls_end *end, bool clean)
{
    int rc;

    if (end->session && clean && !end->closed) {
        ERR_clear_error();
        rc = SSL_shutdown(end->session);
        if (rc < 0) {
            rc = failure(end, rc, &end->write_events);
            if (rc != 0)
                return rc;
        }
        ERR_clear_error();
        end->closed = true;
    }
    return shutdown(end->fd, SHUT_WR) == 0 ? 0 : -errno;
}

bool tls_end_has_hidden(const struct tls_end *end)
{
    return end->pushed || (end->session && SSL_has_pending(end->session));
}

uint32_t tls_end_events(const struct tls_end *end, bool reading, bool writing)
{
    return (reading ? end->read_events : 0) | (writing ? end->write_events : 0);
}

const char *tls_end_problem(const struct tls_end *end)
{
    return end->problem ? end->problem : "the TLS session failed";
}

bool tls_end_is_reset(const struct tls_end *end)
{
    return end->socket_problem != 0;
}

uint64_t tls_end_sent(const struct tls_end *end)
{
    return end->sent;
}
