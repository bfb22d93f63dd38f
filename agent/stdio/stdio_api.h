/* SPDX-License-Identifier: Apache-2.0
 *
 * stdio_api - the supervisor's interface for frontends: JSON Lines on two fds.
 *
 * See doc/design.md, 5.1. Each request gets exactly one response; events come
 * in between. A frontend that stops reading blocks nothing: output events are
 * dropped and counted, and its next requests are not read until it reads again.
 *
 * Threads: all on the main thread.
 */
#ifndef AGENT_STDIO_STDIO_API_H
#define AGENT_STDIO_STDIO_API_H

#include <glib.h>
#include <stdbool.h>

struct stdio_api;

struct stdio_api_callbacks {
    /* The frontend has closed its end. */
    void (*closed)(void *opaque);
    /* After stdio_api_stop(): the session has ended. */
    void (*stopped)(void *opaque);
};

/* Serve a frontend and send it event.ready. Takes both fds. MCP clients are
 * served at mcp_socket; NULL: in a private folder created here. */
struct stdio_api *stdio_api_new(int in_fd, int out_fd, const char *log_level,
                                const char *mcp_socket,
                                const struct stdio_api_callbacks *callbacks,
                                void *opaque);

/* Flush the queue if the frontend reads it soon, then close. */
void stdio_api_free(struct stdio_api *api);

/* End the session, if any; the stopped callback follows. */
void stdio_api_stop(struct stdio_api *api);

/* Write the counters of session.status to the log. */
void stdio_api_log_counters(struct stdio_api *api);

/* Stop waiting: end all running work at once. */
void stdio_api_kill(struct stdio_api *api);

#endif
