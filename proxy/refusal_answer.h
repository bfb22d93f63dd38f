/* SPDX-License-Identifier: Apache-2.0
 *
 * refusal_answer - tells a guest in its protocol that a check has refused what
 * it sent.
 */
#ifndef PROXY_REFUSAL_ANSWER_H
#define PROXY_REFUSAL_ANSWER_H

#include "proxy/guest_check.h"

/* Send a TLS alert or an HTTP response, if the guest waits for a first one; as
 * far as the socket takes it at once. */
void refusal_answer_send(int fd, const struct guest_check *check,
                         const char *reason);

/* Return the policy's entry that would allow what the guest sent to a port: a
 * new string, or NULL. */
char *refusal_answer_find_entry(const struct guest_check *check, unsigned port);

#endif
