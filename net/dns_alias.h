/* SPDX-License-Identifier: Apache-2.0
 *
 * dns_alias - 10.0.2.3 stands for the host's name server.
 *
 * slirp would do that, but it reads /etc/resolv.conf each time, and this
 * process has no files. So the address is put in here, and taken out of what
 * comes back, with the checksums put right (RFC 1624).
 *
 * A guest may ask the same server by its own address, too. So there is a bit
 * for each of the guest's ports: whether it was last used with the alias.
 */
#ifndef NET_DNS_ALIAS_H
#define NET_DNS_ALIAS_H

#include "net/frame.h"

struct dns_alias {
    bool has_server;
    uint8_t guest[4];  /* what the guest knows */
    uint8_t server[4]; /* what it stands for */
    uint8_t ports[2][8192];
    unsigned fragment_id; /* of the answer whose other parts are to come */
    bool has_fragment;
};

/* A frame (FILTER_PASS_DNS) to the alias: it goes to the server. */
void dns_alias_send(struct dns_alias *alias, struct frame *frame);

/* A frame to elsewhere (FILTER_PASS). */
void dns_alias_note(struct dns_alias *alias, const struct frame *frame);

/* A frame to the guest. True if it comes from the server, by the alias. */
bool dns_alias_receive(struct dns_alias *alias, struct frame *frame);

#endif
