/* SPDX-License-Identifier: Apache-2.0
 *
 * dns_udp - see dns_udp.h.
 */
#include "net/dns_udp.h"

#include <string.h>

enum dns_outcome
dns_udp_answer(const struct network_policy *policy, struct name_table *table,
               const struct frame *frame, struct dns_answer *ret_answer,
               uint8_t ret_frame[DNS_UDP_MAX], size_t *ret_length)
{
    struct udp_frame reply = {
        .source = frame->target.bytes,
        .target = frame->source.bytes,
        .source_port = frame->target_port,
        .target_port = frame->source_port,
    };
    const uint8_t *query;
    size_t length;

    if (frame->type != FRAME_IPV4 || !frame->first ||
        frame->protocol != FRAME_UDP || !udp_frame_get(frame, &query, &length))
        return ret_answer->outcome = DNS_NO_ANSWER;
    if (dns_answer(policy, table, query, length, ret_answer) != DNS_ANSWERED)
        return ret_answer->outcome;
    frame_put_reply(frame, ret_frame);
    memcpy(ret_frame + UDP_FRAME_HEADERS, ret_answer->bytes,
           ret_answer->length);
    *ret_length = udp_frame_put(&reply, ret_answer->length, ret_frame);
    return DNS_ANSWERED;
}
