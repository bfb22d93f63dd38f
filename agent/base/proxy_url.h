/* SPDX-License-Identifier: Apache-2.0
 *
 * proxy_url - the URL of an HTTP proxy: [http://][USER[:PASSWORD]@]HOST[:PORT].
 *
 * User and password are percent-encoded. No problem has any part of the URL,
 * which may contain a password.
 */
#ifndef AGENT_BASE_PROXY_URL_H
#define AGENT_BASE_PROXY_URL_H

#include <glib.h>

enum { PROXY_URL_PORT = 80 }; /* without a port */

struct proxy_url {
    char *host;          /* a name, or an address without brackets */
    unsigned port;       /* 0: no URL */
    char *authorization; /* value of Proxy-Authorization; or NULL */
};

/* Return NULL and set ret_url, or return what is wrong: static. */
const char *proxy_url_parse(const char *text, struct proxy_url *ret_url);

/* Return the URL without user and password: a new string. */
char *proxy_url_format(const struct proxy_url *url);

/* Free the members; the memory of credentials is cleared. */
void proxy_url_clear(struct proxy_url *url);

#endif
