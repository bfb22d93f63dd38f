/* SPDX-License-Identifier: Apache-2.0
 *
 * alpn - see alpn.h.
 */
#include "proxy/alpn.h"

#include <string.h>

static const struct {
    enum alpn_protocol protocol;
    uint8_t length;
    char name[9];
} known[] = {
    { ALPN_HTTP2, 2, "h2" },
    { ALPN_HTTP1, 8, "http/1.1" },
};

enum { KNOWN = sizeof(known) / sizeof(known[0]) };

void alpn_add(struct alpn *alpn, enum alpn_protocol protocol)
{
    if (alpn->protocols & protocol)
        return;
    for (unsigned i = 0; i < KNOWN; i++) {
        if (known[i].protocol != protocol)
            continue;
        alpn->protocols |= protocol;
        alpn->wire[alpn->wire_length] = known[i].length;
        memcpy(alpn->wire + alpn->wire_length + 1, known[i].name,
               known[i].length);
        alpn->wire_length += 1u + known[i].length;
    }
}

unsigned alpn_protocol_of(const uint8_t *name, size_t length)
{
    for (unsigned i = 0; i < KNOWN; i++) {
        if (known[i].length == length &&
            memcmp(known[i].name, name, length) == 0)
            return known[i].protocol;
    }
    return 0;
}

bool alpn_parse(struct alpn *alpn, const uint8_t *data, size_t length)
{
    size_t at = 2;

    *alpn = (struct alpn){ .present = true };
    if (length < 4 || ((size_t)data[0] << 8 | data[1]) != length - 2)
        return false;
    while (at < length) {
        size_t here = data[at];
        unsigned protocol;

        if (here == 0 || here > length - at - 1)
            return false;
        protocol = alpn_protocol_of(data + at + 1, here);
        if (protocol)
            alpn_add(alpn, protocol);
        at += 1 + here;
    }
    return true;
}

const uint8_t *alpn_find(const uint8_t *list, size_t length,
                         enum alpn_protocol protocol, uint8_t *ret_length)
{
    for (size_t at = 0; at < length && list[at] < length - at;
         at += 1u + list[at]) {
        if (alpn_protocol_of(list + at + 1, list[at]) != protocol)
            continue;
        *ret_length = list[at];
        return list + at + 1;
    }
    return NULL;
}
