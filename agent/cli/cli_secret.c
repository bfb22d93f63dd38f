/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_secret - "stepback secret": the secrets of a sandbox, without values.
 */
#include <glib.h>
#include <jansson.h>

#include "agent/cli/cli.h"
#include "agent/cli/cli_options.h"
#include "agent/cli/cli_place.h"
#include "agent/cli/cli_sandbox.h"
#include "agent/cli/cli_table.h"
#include "agent/wire/secret_json.h"

/* Return the policy in force, or the one at the start of a sandbox that does
 * not run: to be freed with g_free(). */
static struct network_policy *find_policy(const struct sandbox_record *record)
{
    struct network_policy *policy = g_new0(struct network_policy, 1);
    json_t *session = json_object_get(record->config, "session");
    g_autoptr(GError) error = NULL;
    json_t *answer = cli_sandbox_ask(record, "network.status", NULL, &error);
    json_t *value = answer ? json_object_get(answer, "network_policy")
                           : json_object_get(session, "network_policy");

    if (!value || !network_policy_parse(value, policy, NULL))
        policy->kind = NETWORK_OPEN;
    json_decref(answer);
    return policy;
}

/* Return the hosts, and of each whether the policy refuses it. */
static char *hosts_cell(const struct secret *secret,
                        const struct network_policy *policy)
{
    GString *text = g_string_new(NULL);

    for (char **host = secret->hosts; *host; host++)
        g_string_append_printf(
            text, "%s%s%s", text->len ? "," : "", *host,
            secret_host_is_allowed(*host, policy) ? "" : " (not allowed)");
    return g_string_free(text, FALSE);
}

/* Add to each secret the hosts that the policy refuses. */
static void add_refused(json_t *list, const GPtrArray *secrets,
                        const struct network_policy *policy)
{
    for (guint i = 0; i < secrets->len; i++) {
        const struct secret *secret = g_ptr_array_index(secrets, i);
        json_t *refused = json_array();

        for (char **host = secret->hosts; *host; host++) {
            if (!secret_host_is_allowed(*host, policy))
                json_array_append_new(refused, json_string(*host));
        }
        json_object_set_new(json_array_get(list, i), "hosts_refused", refused);
    }
}

static void print(const struct cli_output *output, const GPtrArray *secrets,
                  const struct network_policy *policy)
{
    static const struct cli_table_column columns[] = {
        { "NAME", TABLE_LEFT },
        { "HOSTS", TABLE_LEFT },
        { "HEADERS", TABLE_LEFT },
        { "FROM", TABLE_END },
        { NULL },
    };
    g_autoptr(cli_table) table = cli_table_new(output, columns);

    for (guint i = 0; i < secrets->len; i++) {
        const struct secret *secret = g_ptr_array_index(secrets, i);

        cli_table_add(table, g_strdup(secret->name), hosts_cell(secret, policy),
                      g_strjoinv(",", secret->headers),
                      g_strdup(secret->value_from));
        cli_table_paint(table, 0, PAINT_ID);
    }
    cli_table_print(table);
}

static int show(const struct sandbox_record *record, bool json,
                const struct cli_output *output)
{
    json_t *session = json_object_get(record->config, "session"), *answer;
    g_autofree struct network_policy *policy = NULL;
    g_autoptr(GPtrArray) secrets = secret_list_new();
    g_autoptr(GError) error = NULL;

    if (!secrets_from_json(json_object_get(session, "secrets"), secrets,
                           &error)) {
        cli_options_failed("%s", error->message);
        return CLI_FAILED;
    }
    policy = find_policy(record);
    answer = secrets_to_json(secrets);
    add_refused(answer, secrets, policy);
    if (json)
        cli_place_print_json(answer);
    else
        print(output, secrets, policy);
    json_decref(answer);
    return CLI_OK;
}

int cli_secret(int argc, char **argv)
{
    gboolean json = FALSE;
    g_auto(cli_output_options) options = { 0 };
    struct cli_output output;
    const GOptionEntry entries[] = {
        { "json", 0, 0, G_OPTION_ARG_NONE, &json, "print JSON", NULL },
        CLI_OUTPUT_COLOR(&options),
        { NULL },
    };
    g_autoptr(sandbox_record) record = NULL;

    if (!cli_options_parse("[NAME] - list the secrets of a sandbox", entries,
                           false, &argc, &argv) ||
        !cli_output_init(&output, "secret", &options))
        return CLI_USAGE;
    if (argc > 2)
        return cli_options_wrong("secret: give one sandbox: " CLI_PROGRAM
                                 " secret [NAME]; --secret of '" CLI_PROGRAM
                                 " up' or 'run' sets secrets");
    record = cli_sandbox_find(argv[1], CLI_SANDBOX_ANY);
    return record ? show(record, json, &output) : CLI_FAILED;
}
