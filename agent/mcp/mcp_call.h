/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_call - one request of an MCP client, from its arrival to its answer.
 *
 * A handler gets a call and finishes it exactly once, by mcp_call_finish() or
 * mcp_call_fail(), at once or later; that frees it. It does so too after the
 * client has cancelled the call or is gone: then nothing is sent.
 *
 * Asking the client (mcp_call_ask()) differs by era. Up to 2025-11-25 the
 * server sends requests of its own. From 2026-07-28 on the call is answered
 * with what is needed and a token ("requestState"), and parked; the client
 * repeats its request with token and answers, and the call goes on as that one.
 * What has ended meanwhile waits for the repetition for a while.
 *
 * Threads: all on the main thread.
 */
#ifndef AGENT_MCP_MCP_CALL_H
#define AGENT_MCP_MCP_CALL_H

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

#include "agent/mcp/mcp_rpc.h"
#include "agent/mcp/mcp_version.h"

struct mcp_call;
struct mcp_connection;
struct mcp_registry;

/* ---- for handlers -------------------------------------------------------- */

const char *mcp_call_method(const struct mcp_call *call);
enum mcp_version mcp_call_version(const struct mcp_call *call);
/* An object; borrowed. */
json_t *mcp_call_params(const struct mcp_call *call);
/* Borrowed: the opaque of the server. */
void *mcp_call_service(const struct mcp_call *call);
/* NULL while it is parked, and after it was cancelled. */
struct mcp_connection *mcp_call_connection(const struct mcp_call *call);
struct mcp_registry *mcp_call_registry(const struct mcp_call *call);
json_t *mcp_call_id(const struct mcp_call *call);
/* Never another call's, as its address may be. Not 0. */
guint64 mcp_call_serial(const struct mcp_call *call);

/* End the call; result (an object) and data are taken, data may be NULL. */
void mcp_call_finish(struct mcp_call *call, json_t *result);
void mcp_call_fail(struct mcp_call *call, int code, json_t *data,
                   const char *format, ...) G_GNUC_PRINTF(4, 5);

/* As mcp_call_finish(), of a result that a client may keep for so long: the
 * members for that are added in the version that has them. */
void mcp_call_finish_cached(struct mcp_call *call, json_t *result, int ttl_ms);

/* Tell how far it is, if the client wants to know. progress must rise. */
bool mcp_call_wants_progress(const struct mcp_call *call);
void mcp_call_progress(struct mcp_call *call, double progress, double total,
                       const char *message);

/* Tell the client something (data is taken), if it wants messages that matter
 * so much. */
void mcp_call_log(struct mcp_call *call, const char *level, const char *logger,
                  json_t *data);

/* Called once when the client cancels or is gone. The handler finishes the
 * call in it or later. */
typedef void (*mcp_call_cancelled)(struct mcp_call *call, void *opaque);
void mcp_call_set_cancelled(struct mcp_call *call, mcp_call_cancelled cancelled,
                            void *opaque);

/* Whether the client has this capability, such as "elicitation". */
bool mcp_call_can(const struct mcp_call *call, const char *capability);

/* Ask the client: requests (taken) is an object of {"method","params"}.
 * answers (borrowed) has a member for each: the client's result; null if it
 * refused. Not called if the call is cancelled, which the handler must
 * therefore want to know, or the question withdrawn; and not from within.
 * False: the client cannot be asked, or is being asked; requests is freed.
 * Who asks again should choose other keys: an answer may be on its way. */
typedef void (*mcp_call_answered)(struct mcp_call *call, json_t *answers,
                                  void *opaque);
bool mcp_call_ask(struct mcp_call *call, json_t *requests,
                  mcp_call_answered answered, void *opaque);

/* The answer does not matter any more. */
void mcp_call_withdraw(struct mcp_call *call);

/* ---- for connections and servers ----------------------------------------- */

/* The operations of a connection that its calls use. */
struct mcp_transport {
    /* Calls in flight: not owned. */
    void (*add_call)(struct mcp_connection *connection, struct mcp_call *call);
    void (*remove_call)(struct mcp_connection *connection,
                        struct mcp_call *call);

    /* The answer to a call: message is taken. */
    void (*answer)(struct mcp_connection *connection, struct mcp_call *call,
                   json_t *message);

    /* A notification, which may be lost; params is taken. */
    void (*notify)(struct mcp_connection *connection, const char *method,
                   json_t *params);

    /* Return whether the client can answer a question: it still sends. */
    bool (*can_ask)(const struct mcp_connection *connection);

    /* Ask the client something for a call; params is taken and may be NULL. The
     * answer comes by mcp_call_take_answer(). False: it cannot be asked. */
    bool (*ask)(struct mcp_connection *connection, struct mcp_call *call,
                const char *key, const char *method, json_t *params);

    /* Tell it that what was asked for this call does not matter any more. */
    void (*unask)(struct mcp_connection *connection, struct mcp_call *call);
};

struct mcp_call_config {
    struct mcp_registry *registry;
    struct mcp_connection *connection;
    const struct mcp_transport *transport;
    json_t *id, *params; /* borrowed; params may be NULL */
    const char *method;
    enum mcp_version version;
    json_t *capabilities; /* borrowed; may be NULL */
    int log_level;        /* least that is wanted; above all: none */
};

struct mcp_call *mcp_call_new(const struct mcp_call_config *config);

/* The client cancels it or is gone. */
void mcp_call_cancel(struct mcp_call *call);

/* A parked call: nobody will ask for it any more. */
void mcp_call_drop(struct mcp_call *call);

/* An answer to what a connection was asked for it. result is borrowed, NULL if
 * refused. */
void mcp_call_take_answer(struct mcp_call *call, const char *key,
                          json_t *result);

/* A parked call: whether this request repeats it, and go on as that one. */
bool mcp_call_is_parked(const struct mcp_call *call);
bool mcp_call_is_repeated(const struct mcp_call *call,
                          const struct mcp_call_config *config);
void mcp_call_repeat(struct mcp_call *call,
                     const struct mcp_call_config *config);

#endif
