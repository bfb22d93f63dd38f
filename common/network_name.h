/* SPDX-License-Identifier: Apache-2.0
 *
 * network_name - entries of a network policy that are names.
 *
 *     api.example.org            this name, ports 80 and 443
 *     *.example.org              names of one or more labels below it
 *     api.example.org:5432       this port only
 *     raw:api.example.org:22     this port, whatever the protocol
 *     GET:api.example.org/v1     these HTTP requests (network_path.h)
 *     intercept:api.example.org  all HTTP requests, and nothing else
 *     deny:ads.example.org       an exception: all ports
 *     deny:*.example.org:25      an exception: this port
 *     deny:PUT:example.org/v1    an exception: these HTTP requests, all ports
 *     secret:api.example.org     HTTP requests only, and allows none itself
 *     ask:example.org:22         a user decides on each connection
 *     ask:*                      the same for all names, ports 80 and 443
 *
 * A method (network_method.h) and a path can each be left out.
 *
 * A name has letters, digits, hyphens and underscores, labels of 1 to 63 bytes,
 * at least two of them, 253 bytes in all, and a last label that is no number,
 * which would make it an address. It is kept in lower case and without the dot
 * at its end. A name in another script needs its A-labels (RFC 5890); the
 * program converts that reads what a user wrote.
 */
#ifndef COMMON_NETWORK_NAME_H
#define COMMON_NETWORK_NAME_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/network_path.h"

/* In the place of a name: all that an entry can have. */
#define NETWORK_NAME_ANY "*"

enum {
    NETWORK_HTTP_PORT = 80,
    NETWORK_HTTPS_PORT = 443,
    NETWORK_NAME_MAX = 253,
    NETWORK_LABEL_MAX = 63,
    NETWORK_METHOD_MAX = 31
};

struct network_name {
    bool deny, raw, intercept, secret, ask; /* one at most */
    bool below;    /* the names below it, and not itself */
    unsigned port; /* 0: 80 and 443; all ports of an exception */
    char text[NETWORK_NAME_MAX + 1]; /* or NETWORK_NAME_ANY */
    char method[NETWORK_METHOD_MAX + 1], path[NETWORK_PATH_MAX + 1]; /* or "" */
};

/* The position of the name in an entry: without "raw:" and the like, method,
 * "*.", port and path. */
struct network_name_extent {
    size_t start, length;
};

/* Return whether an entry has the form of a name. Otherwise it is an
 * address or a network, or is malformed. */
bool network_name_is_meant(const char *entry);

struct network_name_extent network_name_find(const char *entry);

/* Parse an entry. On failure the error is ERROR_INVALID_FIELD, with the column
 * (from 1) and a remedy. */
gboolean network_name_parse(const char *entry, struct network_name *ret_name,
                            GError **error);

/* Return an entry for a message: a new string that is UTF-8, at most 80
 * characters long, and has no control characters. */
char *network_name_printable(const char *entry);

/* Set the error that network_name_parse() sets: "the network policy's entry
 * 'ENTRY', column N: TEXT". The entry can have any bytes. */
gboolean network_name_problem(GError **error, const char *entry, size_t column,
                              const char *text);

/* The inverse of network_name_parse(). Return a new string. */
char *network_name_format(const struct network_name *name);

/* Store a name of a peer in lower case, without a dot at its end. Return false
 * if it has other characters than above, or wrong lengths. One label, and a
 * number at the end, are permitted. */
bool network_name_normalize(const char *name,
                            char ret_name[NETWORK_NAME_MAX + 1]);

/* Return whether it is a port of an entry without one. */
bool network_name_is_web(unsigned port);

/* Return whether name has one or more labels in front of top. Both are
 * normalized. */
bool network_name_is_below(const char *name, const char *top);

/* Return whether an entry for text (with "*.": below) includes the name, which
 * is normalized. */
bool network_name_matches(const char *text, bool below, const char *name);

#endif
