/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_net - "stepback net": the connections of a running sandbox, their
 * requests if they are intercepted, and what its network policy refused.
 *
 * Names and reasons have words of the guest: they are printed escaped.
 */
#include <glib.h>
#include <stdbool.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "agent/cli/cli.h"
#include "agent/cli/cli_net_policy.h"
#include "agent/cli/cli_options.h"
#include "agent/cli/cli_place.h"
#include "agent/cli/cli_sandbox.h"
#include "agent/cli/cli_table.h"
#include "common/errors.h"

enum { FOLLOW_MS = 300 };

struct net {
    const struct sandbox_record *record;
    gboolean json, follow;
    struct cli_output output;
    json_int_t last;      /* the newest record that was printed */
    json_int_t request;   /* the same of requests */
    GHashTable *was_open; /* of the connections that were printed as open */
    json_int_t missed;    /* records that are not listed, as last told */
    json_int_t requests_missed;
};

/* ---- cells: new strings -------------------------------------------------- */

static const char *text_of(json_t *record, const char *key)
{
    const char *text = json_string_value(json_object_get(record, key));

    return text ? text : "-";
}

static json_int_t number_of(json_t *record, const char *key)
{
    return json_integer_value(json_object_get(record, key));
}

static char *local_time(json_t *record)
{
    g_autoptr(GDateTime)
        time = g_date_time_new_from_iso8601(text_of(record, "time"), NULL);
    g_autoptr(GDateTime) local = time ? g_date_time_to_local(time) : NULL;

    return local ? g_date_time_format(local, "%H:%M:%S") : g_strdup("-");
}

static char *port_cell(json_t *record)
{
    json_int_t port = number_of(record, "port");

    return port ? g_strdup_printf("%" JSON_INTEGER_FORMAT "/%s", port,
                                  text_of(record, "protocol"))
                : g_strdup(text_of(record, "protocol"));
}

static char *size_cell(json_t *record, const char *key)
{
    return json_object_get(record, key)
               ? g_format_size_full((guint64)number_of(record, key),
                                    G_FORMAT_SIZE_IEC_UNITS)
               : g_strdup("-");
}

static char *duration_cell(json_t *record)
{
    return json_object_get(record, "milliseconds")
               ? g_strdup_printf(
                     "%.1f s", (double)number_of(record, "milliseconds") / 1000)
               : g_strdup("-");
}

/* Return the request, with the status of its response, or NULL. */
static char *describe_request(json_t *record)
{
    json_int_t status = number_of(record, "status");
    GString *text;

    if (!json_object_get(record, "method"))
        return NULL;
    text = g_string_new(NULL);
    g_string_printf(text, "%s %s", text_of(record, "method"),
                    text_of(record, "path"));
    if (status > 0)
        g_string_append_printf(text, " %" JSON_INTEGER_FORMAT, status);
    return g_string_free(text, FALSE);
}

static char *end_cell(json_t *record)
{
    const char *allow = json_string_value(json_object_get(record, "allow"));
    const char *reason = json_string_value(json_object_get(record, "reason"));
    g_autofree char *request = describe_request(record);
    GString *text = g_string_new(request);

    if (reason)
        g_string_append_printf(text, "%s%s", request ? ": " : "", reason);
    if (allow)
        g_string_append_printf(text, " [to allow it: %s]", allow);
    return g_string_free(text->len > 0 ? text : g_string_append_c(text, '-'),
                         FALSE);
}

/* ---- the list ------------------------------------------------------------ */

static enum cli_paint paint_of(const char *verdict)
{
    return strcmp(verdict, "refused") == 0 || strcmp(verdict, "failed") == 0
               ? PAINT_BAD
           : strcmp(verdict, "open") == 0 ? PAINT_GOOD
                                          : PAINT_OTHER;
}

static void add_row(struct cli_table *table, json_t *record)
{
    const char *verdict = text_of(record, "verdict");

    cli_table_add(
        table, local_time(record), g_strdup(verdict),
        g_strdup(text_of(record, "name")), g_strdup(text_of(record, "address")),
        port_cell(record), size_cell(record, "from_guest"),
        size_cell(record, "to_guest"), duration_cell(record), end_cell(record));
    cli_table_paint(table, 1, paint_of(verdict));
}

/* Return whether the record has not been printed, and note that it is now. */
static bool is_new(struct net *net, json_t *record)
{
    json_int_t id = number_of(record, "id");
    gint64 connection = number_of(record, "connection");

    if (id > 0) {
        if (id <= net->last)
            return false;
        net->last = id;
        g_hash_table_remove(net->was_open, &connection);
        return true;
    }
    return g_hash_table_add(net->was_open,
                            g_memdup2(&connection, sizeof(connection)));
}

static int compare_times(const void *a, const void *b)
{
    json_t *const *first = a, *const *second = b;

    return strcmp(text_of(*first, "time"), text_of(*second, "time"));
}

/* Return the records that have not been printed (borrowed), the oldest first: a
 * new list. */
static GPtrArray *pick_new(struct net *net, json_t *answer)
{
    GPtrArray *list = g_ptr_array_new();
    json_t *record;
    size_t i;

    json_array_foreach(json_object_get(answer, "connections"), i, record)
    {
        if (is_new(net, record))
            g_ptr_array_add(list, record);
    }
    json_array_foreach(json_object_get(answer, "requests"), i, record)
    {
        if (number_of(record, "id") <= net->request)
            continue;
        net->request = number_of(record, "id");
        g_ptr_array_add(list, record);
    }
    g_ptr_array_sort(list, compare_times);
    return list;
}

static void print_table(const struct net *net, const GPtrArray *list)
{
    static const struct cli_table_column columns[] = {
        { "TIME", TABLE_LEFT },
        { "VERDICT", TABLE_LEFT },
        { "NAME", TABLE_LEFT },
        { "ADDRESS", TABLE_LEFT },
        { "PORT", TABLE_LEFT },
        { "SENT", TABLE_RIGHT },
        { "RECEIVED", TABLE_RIGHT },
        { "DURATION", TABLE_RIGHT },
        { "REQUEST OR REASON", TABLE_WRAP },
        { NULL },
    };
    g_autoptr(cli_table) table = cli_table_new(&net->output, columns);

    for (guint i = 0; i < list->len; i++)
        add_row(table, list->pdata[i]);
    cli_table_print(table);
}

static void print_lines(const GPtrArray *list)
{
    for (guint i = 0; i < list->len; i++)
        cli_place_print_json_line(list->pdata[i]);
}

/* Say that the list is not complete, on standard error. */
static void tell_missed(json_int_t *told, json_int_t missed, const char *which)
{
    g_autofree char *text = NULL;

    if (missed <= *told)
        return;
    text = g_strdup_printf("%" JSON_INTEGER_FORMAT " more %s are not listed: "
                           "at most 20 a second are noted, and the newest 500 "
                           "kept",
                           missed - *told, which);
    *told = missed;
    cli_place_warn(text);
}

/* Print what is new. Return false after an error was printed. */
static bool print_news(struct net *net, GError **error)
{
    json_t *answer = cli_sandbox_ask(net->record, "network.connections", NULL,
                                     error);
    g_autoptr(GPtrArray) list = NULL;

    if (!answer)
        return false;
    list = pick_new(net, answer);
    if (net->json)
        print_lines(list);
    else if (list->len > 0 || net->output.terminal)
        print_table(net, list);
    net->output.terminal = false; /* one header */
    fflush(stdout);
    tell_missed(&net->missed,
                number_of(answer, "missed") + number_of(answer, "forgotten"),
                "connections");
    tell_missed(&net->requests_missed,
                number_of(answer, "requests_missed") +
                    number_of(answer, "requests_forgotten"),
                "requests");
    json_decref(answer);
    return true;
}

/* Say where connections to names go, for a user who looks at the table. */
static void tell_upstream(const struct net *net)
{
    json_t *answer = cli_sandbox_ask(net->record, "network.status", NULL, NULL);
    json_t *upstream = json_object_get(answer, "upstream");
    const char *url = json_string_value(json_object_get(upstream, "url"));
    const char *http = json_string_value(json_object_get(upstream, "http_url"));

    if (url)
        printf("connections to names go through %s\n", url);
    if (http)
        printf("connections to names, port 80, go through %s\n", http);
    json_decref(answer);
}

/* A sandbox that ends ends the list, which is no error. */
static int print(struct net *net)
{
    g_autoptr(GError) error = NULL;
    bool ok;

    if (net->output.terminal && !net->json)
        tell_upstream(net);
    ok = print_news(net, &error);
    if (!ok) {
        cli_options_failed("%s", error->message);
        return CLI_FAILED;
    }
    while (ok && net->follow && !ferror(stdout)) {
        g_usleep(FOLLOW_MS * 1000);
        ok = print_news(net, &error);
    }
    if (ok || error_code_of(error) == ERROR_NO_SESSION ||
        error_code_of(error) == ERROR_BACKEND_FAILED)
        return CLI_OK;
    cli_options_failed("%s", error->message);
    return CLI_FAILED;
}

int cli_net(int argc, char **argv)
{
    struct net net = { 0 };
    g_auto(cli_output_options) options = { 0 };
    const GOptionEntry entries[] = {
        { "follow", 'f', 0, G_OPTION_ARG_NONE, &net.follow,
          "print further ones until the sandbox ends", NULL },
        { "json", 0, 0, G_OPTION_ARG_NONE, &net.json, "print JSON Lines",
          NULL },
        CLI_OUTPUT_COLOR(&options),
        { NULL },
    };
    g_autoptr(sandbox_record) record = NULL;
    const char *name = NULL;
    char **words;
    int exit_code;

    if (!cli_options_parse("[NAME] [policy|allow|deny|rm ENTRY] - print the "
                           "network connections of a "
                           "running sandbox, and what its policy refused; or "
                           "show and change that policy",
                           entries, false, &argc, &argv) ||
        !cli_output_init(&net.output, "net", &options))
        return CLI_USAGE;
    words = argv + 1;
    if (*words && !cli_net_policy_is_verb(*words))
        name = *words++;
    if (cli_net_policy_is_verb(*words))
        return net.follow ? cli_options_wrong("net: -f lists connections; omit "
                                              "'%s'",
                                              *words)
                          : cli_net_policy(name, words, net.json);
    if (*words)
        return cli_options_wrong("net: '%s' is none of policy, allow, deny and "
                                 "rm",
                                 *words);
    record = cli_sandbox_find(name, CLI_SANDBOX_RUNNING);
    if (!record)
        return CLI_FAILED;
    net.record = record;
    net.was_open = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free,
                                         NULL);
    exit_code = print(&net);
    g_hash_table_unref(net.was_open);
    return exit_code;
}
