/* SPDX-License-Identifier: Apache-2.0
 *
 * shares - how many flows of each kind a guest may have at a time.
 *
 * Each flow takes an open file of this process, and these are limited. Every
 * kind has a share of its own, so that a guest with thousands of datagrams
 * keeps TCP and DNS. What happened at a limit is noted here for event.limited:
 * once for each kind, until shares_begin().
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
    SHARE_DNS, /* by UDP */
    SHARE_ECHO,
    SHARES,
};

enum {
    SHARES_OWN = 32, /* files that are no flows */
    SHARES_FILES = SHARES_OWN + 1000 + 16 + 512 + 256 + 64,
};

struct shares {
    unsigned limit[SHARES];
    struct {
        uint64_t count;
        bool told;
    } over[SHARES];
};

/* Divide so many files; of fewer than SHARES_FILES each kind has less. */
void shares_divide(struct shares *shares, unsigned files);

/* Forget what was noted. */
void shares_begin(struct shares *shares);

/* Note that a flow met the limit of its kind. True if that is new. */
bool shares_note(struct shares *shares, enum share share);

/* The payload of the next event.limited, or NULL. */
json_t *shares_tell(struct shares *shares);

#endif
