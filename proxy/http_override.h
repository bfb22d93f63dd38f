/* SPDX-License-Identifier: Apache-2.0
 *
 * http_override - fields by which a request asks for another method or path.
 *
 * Some servers take X-HTTP-Method-Override and X-Original-URL, and their other
 * spellings, for the request's own. A policy that allows POST must then not
 * allow what is DELETE to the server: each combination is judged.
 */
#ifndef PROXY_HTTP_OVERRIDE_H
#define PROXY_HTTP_OVERRIDE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/network_policy.h"

/* More are refused. */
enum { HTTP_OVERRIDE_MAX = 4 };

/* Zero at first. */
struct http_override {
    char *methods[HTTP_OVERRIDE_MAX], *paths[HTTP_OVERRIDE_MAX];
    unsigned method_count, path_count;
    bool exceeds;
};

/* Note a field of a request, if it is one of these. */
void http_override_take(struct http_override *override, const char *name,
                        size_t name_len, const char *value, size_t value_len);

/* Return whether it is one of these; in a trailer they are refused, since some
 * servers add the trailer to the head. */
bool http_override_has(const char *name, size_t name_len);

/* Judge a request as network_policy_judge_request() does, with each method and
 * path that it has to some server. ret_allow is for the first refused one.
 * ret_reason (may be NULL) is set if it is refused: a new string, which names
 * the exception that forbids it. */
bool http_override_judge(const struct http_override *override,
                         const struct network_policy *policy, const char *host,
                         unsigned port, const char *method, const char *path,
                         char **ret_allow, char **ret_reason);

void http_override_clear(struct http_override *override);

#endif
