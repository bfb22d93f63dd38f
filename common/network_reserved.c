/* SPDX-License-Identifier: Apache-2.0
 *
 * network_reserved - see network_reserved.h.
 */
#include "common/network_reserved.h"

#include <glib.h>

#define V4(a, b, c, d, n)                                                      \
    {                                                                          \
        { false, { a, b, c, d } }, n, 0                                        \
    }
#define V6(n, ...)                                                             \
    {                                                                          \
        { true, { __VA_ARGS__ } }, n, 0                                        \
    }

/* The first row that contains an address or a network decides. */
static const struct network_reserved reserved[] = {
    /* The host's loopback, by slirp's addresses. */
    { V4(10, 0, 2, 2, 32), false },
    { V6(128, 0xfe, 0xc0, [15] = 2), false },

    /* Link-local (RFC 3927): metadata services of most clouds
     * (169.254.169.254), of Amazon ECS and EKS (169.254.170.2, .23), Tencent
     * Cloud (169.254.0.23) and Scaleway (169.254.42.42). */
    { V4(169, 254, 0, 0, 16), false },
    /* Alibaba Cloud, ECS: "Instance metadata". */
    { V4(100, 100, 100, 200, 32), false },
    { V6(128, 0xfd, 0, 0x01, 0, [12] = 0x01, 0, 0x02, 0), false },
    /* Volcengine, ECS: "Instance metadata". */
    { V4(100, 96, 0, 96, 32), false },
    /* Microsoft Azure: "What is IP address 168.63.129.16?" */
    { V4(168, 63, 129, 16, 32), false },
    /* Oracle Cloud Infrastructure Classic: "Instance metadata". */
    { V4(192, 0, 0, 192, 32), false },
    /* Oracle Cloud Infrastructure: fd00:c1::a9fe:a9fe. */
    { V6(128, 0xfd, 0, 0, 0xc1, [12] = 0xa9, 0xfe, 0xa9, 0xfe), false },
    /* Amazon, "IPv6 on AWS": the metadata service (::254), EKS Pod Identity
     * (::23), the resolver (::253) and the clock (::123). */
    { V6(32, 0xfd, 0, 0x0e, 0xc2), false },
    /* Google Compute Engine, IPv6-only instances: fd20:ce::254. */
    { V6(128, 0xfd, 0x20, 0, 0xce, [14] = 0x02, 0x54), false },
    /* Scaleway (cloud-init, "Scaleway"): fd00:42::42. */
    { V6(128, 0xfd, 0, 0, 0x42, [15] = 0x42), false },
    /* Akamai, Linode (cloud-init, "Akamai"): fd00:a9fe:a9fe::1. */
    { V6(128, 0xfd, 0, 0xa9, 0xfe, 0xa9, 0xfe, [15] = 1), false },

    /* Loopback and the addresses that the kernel treats as such, multicast,
     * broadcast, and the guest's own network (RFC 6890). */
    { V4(0, 0, 0, 0, 8), true },
    { V4(127, 0, 0, 0, 8), true },
    { V4(10, 0, 2, 0, 24), true },
    { V4(224, 0, 0, 0, 4), true },
    { V4(240, 0, 0, 0, 4), true },
    { V6(64, 0), true }, /* ::, ::1, and all notations of IPv4 there */
    { V6(10, 0xfe, 0x80), true },
    { V6(64, 0xfe, 0xc0), true },
    { V6(8, 0xff), true },
};

/* The positions of the bytes of an embedded IPv4 address. */
struct embedding {
    struct network_prefix prefix;
    uint8_t at[4];
    bool inverted;
    bool guessed; /* one of several interpretations */
};

static const struct embedding embeddings[] = {
    { V6(96, 0, 0x64, 0xff, 0x9b), { 12, 13, 14, 15 }, false, false },
    /* A network's own NAT64 prefix in 64:ff9b:1::/48 (RFC 8215), divided as in
     * RFC 6052, 2.2, which skips byte 8. */
    { V6(48, 0, 0x64, 0xff, 0x9b, 0, 1), { 12, 13, 14, 15 }, false, true },
    { V6(48, 0, 0x64, 0xff, 0x9b, 0, 1), { 9, 10, 11, 12 }, false, true },
    { V6(48, 0, 0x64, 0xff, 0x9b, 0, 1), { 7, 9, 10, 11 }, false, true },
    { V6(48, 0, 0x64, 0xff, 0x9b, 0, 1), { 6, 7, 9, 10 }, false, true },
    /* 6to4 (RFC 3056). */
    { V6(16, 0x20, 0x02), { 2, 3, 4, 5 }, false, false },
    /* Teredo (RFC 4380, 4): the client's address. */
    { V6(32, 0x20, 0x01), { 12, 13, 14, 15 }, true, false },
};

const struct network_reserved *
network_reserved_find(const struct network_address *address, unsigned length)
{
    for (size_t i = 0; i < G_N_ELEMENTS(reserved); i++) {
        if (reserved[i].prefix.length <= length &&
            network_prefix_covers(&reserved[i].prefix, address))
            return &reserved[i];
    }
    return NULL;
}

/* Return whether an interpretation is plausible: a wrong one has bytes of a
 * prefix, or zeros. */
static bool is_likely(const struct network_address *address)
{
    return address->bytes[0] > 0 && address->bytes[0] < 224;
}

unsigned network_reserved_embedded(
    const struct network_address *address,
    struct network_address ret_embedded[NETWORK_EMBEDDED_MAX])
{
    unsigned count = 0;

    for (size_t i = 0; i < G_N_ELEMENTS(embeddings); i++) {
        const struct embedding *embedding = &embeddings[i];
        struct network_address found = { 0 };

        if (!network_prefix_covers(&embedding->prefix, address))
            continue;
        for (size_t byte = 0; byte < 4; byte++) {
            uint8_t value = address->bytes[embedding->at[byte]];

            found.bytes[byte] = embedding->inverted ? (uint8_t)~value : value;
        }
        if (!embedding->guessed || is_likely(&found))
            ret_embedded[count++] = found;
    }
    return count;
}
