/* SPDX-License-Identifier: Apache-2.0
 *
 * step_server - the socket at which processes in the guest ask about steps.
 *
 * A client sends one JSON object per line, the members of "step_request" in
 * wire.h, and waits for a line with "step_id" and "text", or "error". The
 * server finds the client's execution by the pid that the kernel reports, and
 * relays the request to the host. With "hold":true a "begin" ends with its
 * connection.
 *
 * Each client has one request at a time, and one execution at most
 * STEP_SERVER_SHARE clients, so that it cannot shut out the others.
 */
#ifndef SHIM_STEP_SERVER_H
#define SHIM_STEP_SERVER_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "shim/executions.h"
#include "shim/wire_json.h"
#include "shim/port.h"
#include "shim/step_local.h"
#include "shim/wire.h"

#define STEP_SERVER_CLIENTS 48
#define STEP_SERVER_SHARE   12
#define STEP_SERVER_FDS     (1 + STEP_SERVER_CLIENTS)

struct step_client {
    int fd; /* -1: closed, but "request" still waits for its answer */
    bool used;
    int64_t exec_id;
    pid_t pid;
    int64_t request; /* that waits for the host, or 0 */
    bool begins;     /* it is a "begin" that the connection holds */
    bool held;       /* the begin was answered */
    char scope[WIRE_STEP_SCOPE + 1];
    char in[STEP_SERVER_LINE];
    size_t in_used;
    char out[STEP_SERVER_ANSWER];
    size_t out_start, out_end;
};

struct step_server {
    int listener; /* -1: none */
    const char *path;
    struct port *port; /* borrowed, like the next */
    struct executions *executions;
    int64_t last_request;
    struct step_client clients[STEP_SERVER_CLIENTS];
};

/* Listen at path (borrowed), in a folder that is created if necessary. Return 0
 * or -errno. */
int step_server_open(struct step_server *server, const char *path);
void step_server_close(struct step_server *server);

/* Fill in at most STEP_SERVER_FDS poll entries, and return how many. Serve them
 * afterwards. */
size_t step_server_poll(const struct step_server *server, struct pollfd *fds);
void step_server_serve(struct step_server *server, const struct pollfd *fds,
                       size_t count);

/* Pass on the host's "step_answer". */
void step_server_answer(struct step_server *server, json_t *object);

/* The host has gone: refuse what waits for it. */
void step_server_lose_host(struct step_server *server);

#endif
