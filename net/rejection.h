/* SPDX-License-Identifier: Apache-2.0
 *
 * rejection - the answer to a frame that was refused.
 *
 * Without one, whoever tried would wait for minutes. A connection that is there
 * is reset; else an ICMP error says that it is prohibited (RFC 1812, 5.2.7.1;
 * RFC 4443, 3.1).
 */
#ifndef NET_REJECTION_H
#define NET_REJECTION_H

#include "net/frame.h"

enum { REJECTION_MAX = 128 };

/* The answer at ret_answer, and its length; 0 if there should be none. */
size_t rejection_build(const struct frame *frame,
                       uint8_t ret_answer[REJECTION_MAX]);

#endif
