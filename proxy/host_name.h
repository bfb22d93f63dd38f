/* SPDX-License-Identifier: Apache-2.0
 *
 * host_name - names of hosts as a guest's bytes spell them.
 */
#ifndef PROXY_HOST_NAME_H
#define PROXY_HOST_NAME_H

#include <stdbool.h>
#include <stddef.h>

/* The longest name (RFC 1035, 2.3.4) and its NUL. */
enum { HOST_NAME_ROOM = 254 };

/* A check's refusal of a connection. */
struct refusal {
    const char *reason;         /* static text */
    bool is_mismatch;           /* another host than that of the connection */
    char other[HOST_NAME_ROOM]; /* the name that the guest sent instead; "" if
                                 * that is not a name */
};

/* The reason for HTTP. A mismatch comes with no entry that would allow it: a
 * guest could otherwise choose the host that a user is advised to allow. */
#define HOST_NAME_OTHER "the request names another host than its connection"

/* Return whether text (len bytes) is the name, without regard to case; a dot
 * may follow. */
bool host_name_equals(const char *name, const char *text, size_t len);

/* Set the refusal, and return false. text: the host of a mismatch (len bytes),
 * or NULL. */
bool host_name_refuse(struct refusal *refusal, const char *reason,
                      const char *text, size_t len);

/* Return the reason, with the name of a mismatch: a new string. */
char *host_name_describe(const struct refusal *refusal);

#endif
