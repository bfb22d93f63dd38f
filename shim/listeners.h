/* SPDX-License-Identifier: Apache-2.0
 *
 * listeners - the TCP ports at which programs listen, for the host.
 *
 * /proc/net/tcp lists the listening sockets before all others, so a look reads
 * little, even of a busy system; socket diagnosis (sock_diag(7)) is missing in
 * small kernels. The shim looks once in WIRE_PORTS_MS, if the host has asked
 * for it: while an execution runs, LISTENERS_LOOKS_AFTER times after the last
 * one, and while a known port is open. Otherwise nothing wakes it up.
 */
#ifndef SHIM_LISTENERS_H
#define SHIM_LISTENERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/wire.h"

enum { LISTENERS_LOOKS_AFTER = 10 };

/* Compared as bytes, so padding must be 0. */
struct listener {
    uint8_t address[16]; /* IPv4: the first 4 bytes */
    uint16_t port;
    uint16_t v6;
};

/* All 0: the host has not asked. */
struct listeners {
    bool watched;
    unsigned looks_left;
    int64_t next_ms;
    struct listener known[WIRE_PORTS_MAX]; /* by the host */
    size_t n_known;
    struct listener found[WIRE_PORTS_MAX]; /* in the last look */
    size_t n_found;
};

/* The host asks for reports, beginning with all open ports. */
void listeners_watch(struct listeners *listeners);

/* Return when the next look is due, -1: not before another execution. busy: an
 * execution runs. */
int64_t listeners_deadline_ms(struct listeners *listeners, bool busy);

/* Look, if it is due. */
void listeners_look(struct listeners *listeners, bool busy, int64_t now_ms);

/* Return a difference between the last look and what the host knows, and assume
 * that it is reported. false: there is none. */
bool listeners_next(struct listeners *listeners, struct listener *ret_listener,
                    bool *ret_open);

/* Parse one line of /proc/net/tcp (tcp6). Return false if it is not a listening
 * socket. */
bool listeners_parse(const char *line, bool v6, struct listener *ret_listener);

#endif
