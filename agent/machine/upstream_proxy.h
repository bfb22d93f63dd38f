/* SPDX-License-Identifier: Apache-2.0
 *
 * upstream_proxy - the proxy of the host's network that connections to names go
 * through.
 *
 * The option names it (--upstream-proxy), or else the variables that other
 * programs of the host use, in this order:
 *
 *     port 80      http_proxy (not HTTP_PROXY, which a CGI request can set),
 *                  then as others
 *     others       https_proxy, HTTPS_PROXY, all_proxy, ALL_PROXY
 *
 * Names in no_proxy or NO_PROXY are connected to directly, with the option,
 * too. The variables are read once. Credentials go to stepback-proxy alone.
 */
#ifndef AGENT_MACHINE_UPSTREAM_PROXY_H
#define AGENT_MACHINE_UPSTREAM_PROXY_H

#include <glib.h>
#include <jansson.h>

#define UPSTREAM_PROXY_NONE "none"

struct upstream_proxy;

/* Return what is wrong with the option's value (NULL: not given), a static
 * string, or NULL. */
const char *upstream_proxy_problem(const char *option);

/* Never fails, see upstream_proxy_check(). */
struct upstream_proxy *upstream_proxy_new(const char *option);
void upstream_proxy_free(struct upstream_proxy *upstream);

/* Return FALSE and ERROR_INVALID_FIELD if the option or a variable is
 * malformed, or of a kind that is not supported. */
gboolean upstream_proxy_check(const struct upstream_proxy *upstream,
                              GError **error);

/* Return the position in the list of the proxy for a connection, and set
 * ret_host to its host (borrowed); or -1: connect directly. */
int upstream_proxy_find(const struct upstream_proxy *upstream, const char *name,
                        unsigned port, const char **ret_host);

/* Return the list of proxy/control.h, with credentials: a new one. */
json_t *upstream_proxy_to_json(const struct upstream_proxy *upstream);

/* Return {"url", "http_url"} for people, without credentials: a new object, or
 * null if connections are direct. http_url: only if port 80 has another one;
 * each may be absent. */
json_t *upstream_proxy_describe(const struct upstream_proxy *upstream);

#endif
