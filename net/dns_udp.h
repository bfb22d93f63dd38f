/* SPDX-License-Identifier: Apache-2.0
 *
 * dns_udp - answers the name queries in a guest's UDP frames.
 */
#ifndef NET_DNS_UDP_H
#define NET_DNS_UDP_H

#include "net/dns_answer.h"
#include "net/udp_frame.h"

enum { DNS_UDP_MAX = UDP_FRAME_HEADERS + DNS_ANSWER_MAX };

/* Answer the query in a parsed UDP frame over IPv4 to the name server, which
 * has the whole packet (reassembled or not), as dns_answer() does. If the
 * outcome is DNS_ANSWERED, the frame to the guest is in ret_frame, and
 * ret_length has its length. */
enum dns_outcome
dns_udp_answer(const struct network_policy *policy, struct name_table *table,
               const struct frame *frame, struct dns_answer *ret_answer,
               uint8_t ret_frame[DNS_UDP_MAX], size_t *ret_length);

#endif
