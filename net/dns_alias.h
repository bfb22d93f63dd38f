/* SPDX-License-Identifier: Apache-2.0
 *
 * dns_alias - translates 10.0.2.3 to the host's name server.
 *
 * slirp could do that, but it reads /etc/resolv.conf each time, and this
 * process cannot open files. So the address is replaced in frames to the server
 * and from it, and the checksums are updated (RFC 1624).
 *
 * A guest may also query the same server by its real address. So a bit for each
 * of the guest's ports records whether it last used the alias.
 */
#ifndef NET_DNS_ALIAS_H
#define NET_DNS_ALIAS_H

#include "net/frame.h"

struct dns_alias {
    bool has_server;
    uint8_t guest[4];  /* the alias that the guest uses */
    uint8_t server[4]; /* the real name server */
    uint8_t ports[2][8192];
    unsigned fragment_id; /* of a reply whose other fragments will follow */
    bool has_fragment;
};

/* Redirect a frame (FILTER_PASS_DNS) from the alias to the server. */
void dns_alias_send(struct dns_alias *alias, struct frame *frame);

/* Note a frame to another destination (FILTER_PASS). */
void dns_alias_note(struct dns_alias *alias, const struct frame *frame);

/* Translate a frame to the guest. Return true if it comes from the server and
 * was requested through the alias. */
bool dns_alias_receive(struct dns_alias *alias, struct frame *frame);

#endif
