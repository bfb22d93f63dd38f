/* SPDX-License-Identifier: Apache-2.0
 *
 * relay_talk - lets a guest and a server talk through a relay of HTTP/1.x.
 *
 * The relay is for api.example.org, port 443, with this policy:
 *
 *     intercept:api.example.org, deny:DELETE:api.example.org,
 *     deny:api.example.org/private
 *
 * and a secret for that host, field Authorization, and one for another host.
 */
#ifndef TESTS_PROXY_RELAY_TALK_H
#define TESTS_PROXY_RELAY_TALK_H

#include <glib.h>
#include <stdbool.h>

#include "proxy/http_relay.h"

#define NAME  "api.example.org"
#define PLACE "stepback-abcdefghijklmnopqrstuvwx"
#define VALUE "value-of-the-token"
#define OTHER "stepback-ABCDEFGHIJKLMNOPQRSTUVWX"

/* Parts of requests and responses. */
#define GET     "GET /x HTTP/1.1\r\n"
#define HOST    "Host: " NAME "\r\n"
#define POST    "POST /x HTTP/1.1\r\n" HOST
#define OK      "HTTP/1.1 200 OK\r\n"
#define EMPTY   OK "Content-Length: 0\r\n\r\n"
#define CHUNKED "Transfer-Encoding: chunked\r\n"
#define REQUEST GET HOST "\r\n"
#define UPGRADE GET HOST "Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n"
#define SWITCHED                                                               \
    "HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\n"                         \
    "Connection: Upgrade\r\n\r\n"

enum { TALK_STEPS = 12 };

/* A side sends a text, or ends (NULL). The last step has end set. */
struct talk_step {
    enum http_side side;
    const char *text;
    bool is_set;
};

#define G(text)                                                                \
    {                                                                          \
        HTTP_GUEST, text, true                                                 \
    }
#define S(text)                                                                \
    {                                                                          \
        HTTP_SERVER, text, true                                                \
    }
#define G_END                                                                  \
    {                                                                          \
        HTTP_GUEST, NULL, true                                                 \
    }
#define S_END                                                                  \
    {                                                                          \
        HTTP_SERVER, NULL, true                                                \
    }

struct talk {
    struct http_relay *relay;
    struct http_context context;
    struct network_policy *policy;
    GString *sent[2];     /* bytes of a side that were not taken */
    GString *received[2]; /* bytes to a side */
    GString *exchanges; /* "GET /x 200\n", "GET /y refused REASON [ALLOW]\n" */
    bool failed;
    bool stalled[2]; /* do not write to this side */
};

/* Some requests are refused: DELETE, and those for /private. */
struct talk *talk_new(bool tls);
/* All are allowed. */
struct talk *talk_new_whole(bool tls);
void talk_free(struct talk *talk);

/* Send the bytes, at most size at a time, or end the side; and let the relay
 * move all it can. */
void talk_send(struct talk *talk, enum http_side side, const char *data,
               size_t length, size_t size);
void talk_end(struct talk *talk, enum http_side side);
void talk_pump(struct talk *talk);

/* Send each step, in parts of this size. */
void talk_run(struct talk *talk, const struct talk_step *steps, size_t size);

/* Send a text of the guest, then one of the server. Return talk. */
struct talk *talk_both(struct talk *talk, const char *guest, const char *server,
                       size_t size);

/* Return whether both sides end. */
bool talk_is_over(const struct talk *talk);

/* Search received bytes or exchanges. */
bool talk_has(const GString *text, const char *part);
unsigned talk_count(const GString *text, const char *part);

#endif
