/* SPDX-License-Identifier: Apache-2.0
 *
 * network_names - the names of a network policy, and their meaning.
 *
 * Any entry that includes a name and port allows it, and the one that checks
 * least applies; an exception (deny) wins over all of them, in any order. Where
 * none allows it, ask holds the connection for a decision. HTTP
 * requests are intercepted if an entry forces that (intercept:, secret:, or an
 * exception for some requests), or if the name is allowed by methods or paths
 * alone. The struct has no pointers, and is copied by value.
 */
#ifndef COMMON_NETWORK_NAMES_H
#define COMMON_NETWORK_NAMES_H

#include <stdint.h>

#include "common/network_name.h"

enum { NETWORK_NAMES_MAX = 256, NETWORK_NAMES_TEXT = 16 * 1024 };

/* In the order of how much a connection may do. */
enum network_name_verdict {
    NAME_DENIED,
    NAME_ASK,       /* held until a user decides; allows nothing itself */
    NAME_INTERCEPT, /* HTTP requests, each judged; also within TLS */
    NAME_WEB,       /* TLS or HTTP that names the host */
    NAME_PORT,      /* the same if it is TLS or HTTP; other protocols pass:
                       not on the ports 80 and 443 */
    NAME_RAW,       /* any bytes */
};

struct network_names {
    unsigned count;
    unsigned used; /* bytes of text */
    struct network_names_entry {
        uint16_t at; /* of the name in text */
        uint16_t port;
        uint16_t method, path; /* in text, or NETWORK_NAMES_TEXT: any */
        bool deny, raw, intercept, secret, ask, below;
    } entries[NETWORK_NAMES_MAX];
    char text[NETWORK_NAMES_TEXT];
};

/* Add an entry; one that is there already changes nothing. Entries that force
 * interception and raw: for the same name and port exclude each other.
 * ERROR_INVALID_FIELD. */
gboolean network_names_add(struct network_names *names, const char *entry,
                           GError **error);

/* Return entry i as text: a new string. */
char *network_names_format(const struct network_names *names, unsigned i);

/* The functions below take normalized names (network_name.h). */

enum network_name_verdict network_names_judge(const struct network_names *names,
                                              const char *name, unsigned port);

/* The same for a connection that a user has allowed: ask is replaced by the
 * checks of an entry for the name and port. */
enum network_name_verdict
network_names_judge_allowed(const struct network_names *names, const char *name,
                            unsigned port);

/* Return whether the entries allow this request (network_policy.h). */
bool network_names_judge_request(const struct network_names *names,
                                 const char *name, unsigned port,
                                 const char *method, const char *path,
                                 char **ret_allow);

/* Return the first exception for such a request, or without a method for a
 * connection; port 0: for the name, on any port. A new string, or NULL. */
char *network_names_find_exception(const struct network_names *names,
                                   const char *name, unsigned port,
                                   const char *method, const char *path);

/* Return whether an entry for the name and port is for some requests alone. */
bool network_names_divide_requests(const struct network_names *names,
                                   const char *name, unsigned port);

/* Return whether requests to the name (NULL: any) are intercepted, on any
 * port. */
bool network_names_intercept(const struct network_names *names,
                             const char *name);

/* Return whether the name may be reached by any port, also if only a user's
 * decision allows it; without one. */
bool network_names_list(const struct network_names *names, const char *name);
bool network_names_allow(const struct network_names *names, const char *name);

/* Return whether names below this one may be reached, by any port. */
bool network_names_have_below(const struct network_names *names,
                              const char *name);

/* Return whether the wildcard of this name, "*.NAME", is an entry. */
bool network_names_have_wildcard(const struct network_names *names,
                                 const char *name);

/* Return whether there is an exception for the name, on any port. */
bool network_names_except(const struct network_names *names, const char *name);

#endif
