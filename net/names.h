/* SPDX-License-Identifier: Apache-2.0
 *
 * names - the names that a guest may reach: its queries and its connections.
 *
 *     query - names_answer() - name_table: an address for each name
 *     SYN to such an address - frame_filter - slirp - name_connect -
 *         name_channel - the proxy
 *
 * Queries over TCP take the second way, to NAMES_SERVER.
 *
 * Threads: one; at most one at a time (name_connect.h).
 */
#ifndef NET_NAMES_H
#define NET_NAMES_H

#include "common/network_policy.h"
#include "net/frame.h"
#include "net/name_table.h"
#include "net/refusals.h"

/* More than an answering frame has. */
enum { NAMES_FRAME_MAX = 512 };

struct names;

/* channel: to the proxy (name_channel.h; taken; -1: none). policy: borrowed; it
 * may change. refusals (borrowed) gets the names that are refused; refused() is
 * then called if that is new. */
struct names *names_new(int channel, const struct network_policy *policy,
                        struct refusals *refusals,
                        void (*refused)(void *opaque), void *opaque);
void names_free(struct names *names);

const struct name_table *names_table(const struct names *names);

/* Return the name for which the address stands, or NULL. */
const char *names_find(const struct names *names,
                       const struct network_address *address);

/* Make the answering frame for a query over UDP. ret_length is 0 if there is no
 * answer. Return false if the query is for the host's name server. */
bool names_answer(struct names *names, const struct frame *frame,
                  uint8_t ret_frame[NAMES_FRAME_MAX], size_t *ret_length);

/* The address to which queries over TCP are redirected (dns_alias.h). */
extern const uint8_t names_server[4];

#endif
