/* SPDX-License-Identifier: Apache-2.0
 *
 * rejection - builds the reply to a refused frame.
 *
 * Without a reply, the guest's program would wait for minutes. An existing
 * connection is reset; otherwise an ICMP error reports that the destination is
 * prohibited (RFC 1812, 5.2.7.1; RFC 4443, 3.1).
 */
#ifndef NET_REJECTION_H
#define NET_REJECTION_H

#include "net/frame.h"

enum { REJECTION_MAX = 128 };

/* Store the reply in ret_answer, and return its length; 0 if there must be
 * none. */
size_t rejection_build(const struct frame *frame,
                       uint8_t ret_answer[REJECTION_MAX]);

#endif
