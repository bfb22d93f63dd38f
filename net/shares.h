/* SPDX-License-Identifier: Apache-2.0
 *
 * shares - the number of flows of each kind that a guest may have at a time.
 *
 * Each flow takes an open file of this process, which are limited. Every kind
 * has its own share, so that a guest with thousands of datagrams keeps TCP and
 * DNS. Exceeded limits are recorded here for event.limited: once for each kind,
 * until shares_begin().
 */
#ifndef NET_SHARES_H
#define NET_SHARES_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum share {
    SHARE_TCP,
    SHARE_TCP_DNS, /* TCP to the name server, when SHARE_TCP is used up */
    SHARE_UDP,
    SHARE_DNS, /* over UDP */
    SHARE_ECHO,
    SHARE_INBOUND, /* published ports and their connections */
    SHARES,
};

enum {
    /* Files that are not flows, among them those of dns_stream.h. */
    SHARES_OWN = 32 + 32,
    SHARES_FILES = SHARES_OWN + 1000 + 16 + 512 + 256 + 64 + 320,
};

struct shares {
    unsigned limit[SHARES];
    struct {
        uint64_t count;
        bool reported;
    } over[SHARES];
};

/* Divide this number of files; with fewer than SHARES_FILES each kind gets
 * less. */
void shares_divide(struct shares *shares, unsigned files);

/* Forget the recorded events. */
void shares_begin(struct shares *shares);

/* Record that a flow reached the limit of its kind. Return true if that is
 * new. */
bool shares_note(struct shares *shares, enum share share);

/* Return the payload of the next event.limited, or NULL. */
json_t *shares_tell(struct shares *shares);

#endif
