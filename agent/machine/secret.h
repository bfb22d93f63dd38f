/* SPDX-License-Identifier: Apache-2.0
 *
 * secret - values that the proxy puts into a guest's requests
 * (proxy/secrets.h).
 *
 * A configuration has only where a value comes from. The value is read when the
 * machine starts, into locked memory that no core dump has. The guest gets a
 * placeholder of random letters, new for each run, in a variable of each
 * execution.
 *
 *     env:VARIABLE    of the command that started this process
 *     file:PATH       a file's content, without line ends after it
 *     command:LINE    the output of a shell command, the same
 *
 * Threads: one at a time.
 */
#ifndef AGENT_MACHINE_SECRET_H
#define AGENT_MACHINE_SECRET_H

#include <glib.h>

#include "common/network_policy.h"

enum { SECRET_VALUE_MIN = 8, SECRET_VALUE_MAX = 8192, SECRET_LIST_MAX = 64 };

struct secret {
    char *name, *value_from;
    char **hosts, **headers;
    char *placeholder, *value; /* NULL: not read yet */
};

/* Return an empty list of struct secret. */
GPtrArray *secret_list_new(void);

/* Add a secret. headers: NULL for the usual ones. On failure return FALSE with
 * ERROR_INVALID_FIELD. */
gboolean secret_list_add(GPtrArray *list, const char *name,
                         const char *value_from, char *const *hosts,
                         char *const *headers, GError **error);

/* Add the one of an option: NAME=SOURCE@HOST[,HOST]. The same errors. */
gboolean secret_list_add_option(GPtrArray *list, const char *text,
                                GError **error);

/* Read the values, and choose placeholders, of those that have none. The same
 * errors; no message has any part of a value. It may take 30 seconds, if there
 * are commands. */
gboolean secret_list_read(const GPtrArray *list, GError **error);

/* Have the policy intercept requests to all hosts that it allows.
 * ERROR_INVALID_FIELD if it is "open", which does not look at names, or has
 * "raw:" for one of them. */
gboolean secret_list_intercept(const GPtrArray *list,
                               struct network_policy *policy, GError **error);

/* Check that the policy allows all hosts, and can intercept requests to them.
 * The same errors. */
gboolean secret_list_check(const GPtrArray *list,
                           const struct network_policy *policy, GError **error);

/* Return whether requests to a host of a secret are possible. */
bool secret_host_is_allowed(const char *host,
                            const struct network_policy *policy);

/* Return the text of a warning: the policy does not allow this host of the
 * secret any more. A new string. */
char *secret_describe_loss(const struct secret *secret, const char *host,
                           const struct network_policy *policy);

/* Return such a text for each host that the policy does not allow, and the one
 * before did: a new list. */
char **secret_list_losses(const GPtrArray *list,
                          const struct network_policy *before,
                          const struct network_policy *policy);

/* Return the variables of executions, NAME=PLACEHOLDER: a new list. */
char **secret_list_env(const GPtrArray *list);

/* Return variables that pass on the values of "env:" to a new process, which
 * then reads them from there: a new list, whose strings the caller clears. */
char **secret_list_pass_on(const GPtrArray *list);

#endif
