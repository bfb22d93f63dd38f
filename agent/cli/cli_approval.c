/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_approval - see cli_approval.h.
 */
#include "agent/cli/cli_approval.h"

#include <glib.h>
#include <string.h>

#include "agent/cli/cli_options.h"
#include "common/json_bytes.h"

char *cli_approval_text(json_t *object, const char *key)
{
    size_t len;
    g_autofree char *bytes = json_bytes_get(object, key, &len);

    return cli_options_printable(bytes ? bytes : "");
}

char *cli_approval_path(json_t *object, const char *key)
{
    json_t *value = json_object_get(object, key);

    return json_is_object(value) ? cli_approval_text(value, "path")
                                 : cli_approval_text(object, key);
}

const char *cli_approval_word(json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "?";
}

bool cli_approval_is_grant(json_t *approval)
{
    return strcmp(cli_approval_word(approval, "kind"), "grant") == 0;
}

bool cli_approval_is_network(json_t *approval)
{
    return strcmp(cli_approval_word(approval, "kind"), "network") == 0;
}

char *cli_approval_host(json_t *approval)
{
    g_autofree char *name = cli_approval_text(approval, "name");

    return g_strdup_printf(
        "%s:%" JSON_INTEGER_FORMAT, name,
        json_integer_value(json_object_get(approval, "port")));
}

/* "xn--bcher-kva.example:443 (bücher.example)". */
static char *describe_network(json_t *approval)
{
    g_autofree char *host = cli_approval_host(approval);
    g_autofree char *unicode = cli_approval_text(approval, "unicode");

    return g_strdup_printf("%s%s%s%s", host, *unicode ? " (" : "", unicode,
                           *unicode ? ")" : "");
}

char *cli_approval_describe(json_t *approval)
{
    g_autofree char *path = cli_approval_path(approval, "path");
    g_autofree char *problem = cli_approval_text(approval, "problem");

    if (cli_approval_is_network(approval))
        return describe_network(approval);
    if (!cli_approval_is_grant(approval))
        return g_strdup_printf(
            "step %" JSON_INTEGER_FORMAT " in %s",
            json_integer_value(json_object_get(approval, "step_id")),
            cli_approval_word(approval, "directory"));
    return *problem ? g_strdup_printf("%s (%s)", path, problem)
                    : g_steal_pointer(&path);
}
