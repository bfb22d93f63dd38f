/* SPDX-License-Identifier: Apache-2.0
 *
 * shares - see shares.h.
 */
#include "net/shares.h"

#include <string.h>

static const unsigned usual[SHARES] = {
    [SHARE_TCP] = 1000, [SHARE_TCP_DNS] = 16, [SHARE_UDP] = 512,
    [SHARE_DNS] = 256,  [SHARE_ECHO] = 64,    [SHARE_INBOUND] = 320,
};

static const char *const names[SHARES] = {
    [SHARE_TCP] = "tcp",   [SHARE_TCP_DNS] = "dns_tcp",
    [SHARE_UDP] = "udp",   [SHARE_DNS] = "dns",
    [SHARE_ECHO] = "icmp", [SHARE_INBOUND] = "inbound",
};

void shares_divide(struct shares *shares, unsigned files)
{
    const unsigned most = SHARES_FILES - SHARES_OWN;
    unsigned room = files > SHARES_OWN ? files - SHARES_OWN : 0;

    for (size_t i = 0; i < SHARES; i++) {
        shares->limit[i] = room < most ? usual[i] * room / most : usual[i];
        if (shares->limit[i] == 0)
            shares->limit[i] = 1;
    }
}

void shares_begin(struct shares *shares)
{
    memset(shares->over, 0, sizeof(shares->over));
}

bool shares_note(struct shares *shares, enum share share)
{
    return shares->over[share].count++ == 0;
}

json_t *shares_tell(struct shares *shares)
{
    for (size_t i = 0; i < SHARES; i++) {
        if (shares->over[i].count == 0 || shares->over[i].reported)
            continue;
        shares->over[i].reported = true;
        return json_pack("{s:s, s:i, s:I}", "kind", names[i], "limit",
                         (int)shares->limit[i], "count",
                         (json_int_t)shares->over[i].count);
    }
    return NULL;
}
