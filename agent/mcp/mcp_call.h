/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_call - one request of an MCP client, from its arrival to its answer.
 *
 * A handler receives a call and finishes it exactly once, with
 * mcp_call_finish() or mcp_call_fail(), immediately or later; that frees the
 * call. The handler must do so even after the client has cancelled the call or
 * disconnected: then nothing is sent.
 *
 * Asking the client (mcp_call_ask()) differs by era. Up to 2025-11-25 the
 * server sends its own requests. From 2026-07-28 on the call is answered with
 * the questions and a token ("requestState"), and parked; the client repeats
 * its request with token and answers, which resumes the call. If the call
 * finishes in the meantime, its outcome is kept for the repeated request for a
 * while.
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
/* Return the parameters, an object; borrowed. */
json_t *mcp_call_params(const struct mcp_call *call);
/* Borrowed: the opaque pointer of the server. */
void *mcp_call_service(const struct mcp_call *call);
/* NULL while the call is parked, and after it was cancelled. */
struct mcp_connection *mcp_call_connection(const struct mcp_call *call);
struct mcp_registry *mcp_call_registry(const struct mcp_call *call);
json_t *mcp_call_id(const struct mcp_call *call);
/* Unique to the call, unlike its address, which may be reused. Not 0. */
guint64 mcp_call_serial(const struct mcp_call *call);

/* Finish the call; result (an object) and data are taken, data may be NULL. */
void mcp_call_finish(struct mcp_call *call, json_t *result);
void mcp_call_fail(struct mcp_call *call, int code, json_t *data,
                   const char *format, ...) G_GNUC_PRINTF(4, 5);

/* Finish the call with a result that a client may cache for this time. The
 * caching members are added in the versions that have them. */
void mcp_call_finish_cached(struct mcp_call *call, json_t *result, int ttl_ms);

/* Report progress, if the client wants it. progress must increase. */
bool mcp_call_wants_progress(const struct mcp_call *call);
void mcp_call_progress(struct mcp_call *call, double progress, double total,
                       const char *message);

/* Send the client a log message (data is taken), if its log level includes this
 * one. */
void mcp_call_log(struct mcp_call *call, const char *level, const char *logger,
                  json_t *data);

/* Called once when the client cancels or disconnects. The handler finishes the
 * call now or later. */
typedef void (*mcp_call_cancelled)(struct mcp_call *call, void *opaque);
void mcp_call_set_cancelled(struct mcp_call *call, mcp_call_cancelled cancelled,
                            void *opaque);

/* Return whether the client has this capability, such as "elicitation". */
bool mcp_call_can(const struct mcp_call *call, const char *capability);

/* Ask the client: requests (taken) is an object of {"method","params"}. answers
 * (borrowed) has a member for each: the client's result, or null if it refused.
 * answered is never called from within, and not if the call is cancelled (so
 * the handler must watch for that) or the question is withdrawn. False: the
 * client cannot be asked, or is already being asked; requests is freed. Use new
 * keys for new questions: an answer to an old one may be on its way. */
typedef void (*mcp_call_answered)(struct mcp_call *call, json_t *answers,
                                  void *opaque);
bool mcp_call_ask(struct mcp_call *call, json_t *requests,
                  mcp_call_answered answered, void *opaque);

/* Drop the question; its answer is ignored. */
void mcp_call_withdraw(struct mcp_call *call);

/* ---- for connections and servers ----------------------------------------- */

/* The operations of a connection that its calls use. */
struct mcp_transport {
    /* Calls in flight: not owned. */
    void (*add_call)(struct mcp_connection *connection, struct mcp_call *call);
    void (*remove_call)(struct mcp_connection *connection,
                        struct mcp_call *call);

    /* Send the answer to a call: message is taken. */
    void (*answer)(struct mcp_connection *connection, struct mcp_call *call,
                   json_t *message);

    /* Send a notification, which may be dropped; params is taken. */
    void (*notify)(struct mcp_connection *connection, const char *method,
                   json_t *params);

    /* Return whether the client can answer a question: its input is still
     * open. */
    bool (*can_ask)(const struct mcp_connection *connection);

    /* Ask the client something for a call; params is taken and may be NULL. The
     * answer arrives through mcp_call_take_answer(). False: the client cannot
     * be asked. */
    bool (*ask)(struct mcp_connection *connection, struct mcp_call *call,
                const char *key, const char *method, json_t *params);

    /* Tell the client that the questions of this call are withdrawn. */
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
    int log_level; /* minimum level of log messages; above all levels: none */
};

struct mcp_call *mcp_call_new(const struct mcp_call_config *config);

/* The client has cancelled the call or disconnected. */
void mcp_call_cancel(struct mcp_call *call);

/* End a parked call that was not repeated in time. */
void mcp_call_drop(struct mcp_call *call);

/* Deliver an answer from the connection. result is borrowed, NULL if
 * refused. */
void mcp_call_take_answer(struct mcp_call *call, const char *key,
                          json_t *result);

/* For a parked call: check whether a request repeats it, and resume it with
 * that request. */
bool mcp_call_is_repeated(const struct mcp_call *call,
                          const struct mcp_call_config *config);
void mcp_call_repeat(struct mcp_call *call,
                     const struct mcp_call_config *config);

#endif
