/* SPDX-License-Identifier: Apache-2.0
 *
 * network_policy - the destinations that a guest may reach.
 *
 *     "open"                             everything except the host itself
 *     "disabled"                         nothing
 *     {"allow":["10.0.0.0/8","2001:db8::/32","1.2.3.4"],"dns":true}
 *
 * An entry may end with a port: "1.2.3.4:443", "10.0.0.0/8:5432", or, as IPv6
 * addresses contain colons, "[2001:db8::1]:443", "[2001:db8::/32]:443". It then
 * allows this port of TCP and UDP, and no echo.
 *
 * A listed network, and so "open", does not include everything in it. The
 * host's loopback (10.0.2.2, fec0::2), link-local addresses and other metadata
 * services of clouds are reachable if the list names them or a network within
 * them (network_reserved.h); an address of the host, which is_host()
 * recognizes, and an IPv6 address that embeds one of these, only by its exact
 * form. No list opens loopback addresses (127.0.0.1, ::1) and those that the
 * kernel treats as such (0.0.0.0, ::, ::ffff:127.0.0.1) with the rest of ::/64,
 * where IPv4 has several notations (RFC 4291, 2.5.5; RFC 2765, 2.1), multicast
 * and broadcast, fe80::/10, and the rest of the guest's own network 10.0.2.0/24
 * and fec0::/64, which is between the guest and the outside.
 *
 * An entry may also be a name, "api.example.org" or "deny:ads.example.org"
 * (network_name.h): stepback-net then answers the guest's name queries itself,
 * and connections to a name pass through a proxy. Names and addresses do not
 * affect each other. The proxy reads the HTTP requests to a name that is
 * intercepted, also within TLS, and judges each.
 *
 * "dns" lets the guest query the host's name server, for names that are not
 * listed. That can leak data: the owner of a domain sees the queries for it. So
 * a list must name it explicitly.
 */
#ifndef COMMON_NETWORK_POLICY_H
#define COMMON_NETWORK_POLICY_H

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/network_address.h"
#include "common/network_names.h"

enum { NETWORK_POLICY_MAX = 256 };

/* Instead of a port: that of a fragment that does not contain it. */
enum { NETWORK_PORT_UNKNOWN = 1 << 16 };

enum network_kind { NETWORK_OPEN, NETWORK_DISABLED, NETWORK_ALLOW };

struct network_policy {
    enum network_kind kind;
    bool dns;
    unsigned count;
    struct network_prefix allow[NETWORK_POLICY_MAX];
    struct network_names names;
};

/* Parse the JSON above (borrowed; NULL means "open"). On failure the error is
 * ERROR_INVALID_FIELD with a remedy. */
gboolean network_policy_parse(json_t *value, struct network_policy *ret_policy,
                              GError **error);

/* Add an entry of such a list. On failure, ERROR_INVALID_FIELD, the policy is
 * as it was. */
gboolean network_policy_add(struct network_policy *policy, const char *entry,
                            GError **error);

/* The same as network_policy_parse(), with another function for entries, which
 * calls network_policy_add(). */
typedef gboolean network_policy_add_fn(struct network_policy *policy,
                                       const char *entry, GError **error);
gboolean network_policy_parse_with(network_policy_add_fn *add, json_t *value,
                                   struct network_policy *ret_policy,
                                   GError **error);

/* The inverse: addresses, then names. Return a new reference. */
json_t *network_policy_to_json(const struct network_policy *policy);

/* Return whether two policies have the same entries, in the same order. */
bool network_policy_equal(const struct network_policy *a,
                          const struct network_policy *b);

/* Return whether data from the guest can reach a third party: the policy is
 * "open", or lists a network that is wider than any organization's (IPv4 /8,
 * IPv6 /16). */
bool network_policy_is_wide(const struct network_policy *policy);

/* Return whether the policy lets a guest reach the address, on this port (0:
 * protocols without ports). The caller must check whether it is an address of
 * the host. */
bool network_policy_allows(const struct network_policy *policy,
                           const struct network_address *address,
                           unsigned port);

/* Return whether this very address is on the list, with this port. */
bool network_policy_names(const struct network_policy *policy,
                          const struct network_address *address, unsigned port);

/* ---- names ---------------------------------------------------------------
 *
 * A name is compared without case, and without a dot at its end. One that is
 * malformed is in no list. */

/* Return how a connection to the name and port must be checked. NAME_RAW of any
 * name if the policy is "open". */
enum network_name_verdict
network_policy_judge_name(const struct network_policy *policy, const char *name,
                          unsigned port);

/* The same for a connection under ask that a user has allowed (NAME_ASK is not
 * returned). */
enum network_name_verdict
network_policy_judge_allowed(const struct network_policy *policy,
                             const char *name, unsigned port);

/* Return whether the policy allows this request to a name that is intercepted.
 * path: of the request's target (origin form), without query. It is refused if
 * the name has entries with paths, and it could mean another path to the
 * server (network_path.h). ret_allow is set if the request is refused: to the
 * entry that would allow it, a new string, or NULL. */
bool network_policy_judge_request(const struct network_policy *policy,
                                  const char *name, unsigned port,
                                  const char *method, const char *path,
                                  char **ret_allow);

/* Return the exception that forbids such a request; or, without a method, all
 * connections to the name and port (0: any). A new string, or NULL. */
char *network_policy_find_exception(const struct network_policy *policy,
                                    const char *name, unsigned port,
                                    const char *method, const char *path);

/* Return whether the policy may allow some requests to the name and port, and
 * not others. */
bool network_policy_divides_requests(const struct network_policy *policy,
                                     const char *name, unsigned port);

/* Return whether requests to any name are intercepted. */
bool network_policy_intercepts(const struct network_policy *policy);

/* Return whether connections to any name wait for a decision. */
bool network_policy_asks(const struct network_policy *policy);

/* Return whether the policy lists the name, and requests to it are intercepted,
 * on any port. */
bool network_policy_intercepts_name(const struct network_policy *policy,
                                    const char *name);

/* Return whether any entry is a name: name queries are answered by it. */
bool network_policy_has_names(const struct network_policy *policy);

/* Return whether the list allows the name, on any port, also if only a user's
 * decision does (ask); without one. */
bool network_policy_lists_name(const struct network_policy *policy,
                               const char *name);
bool network_policy_allows_name(const struct network_policy *policy,
                                const char *name);

/* Return whether the list allows names below this one: it exists in the DNS
 * (RFC 8020). */
bool network_policy_has_below(const struct network_policy *policy,
                              const char *name);

/* Return whether the list has the wildcard of the name, "*.NAME". */
bool network_policy_has_wildcard(const struct network_policy *policy,
                                 const char *name);

/* Return whether an exception includes the name, on any port: it must not be
 * asked of the host's name server. */
bool network_policy_excepts_name(const struct network_policy *policy,
                                 const char *name);

#endif
