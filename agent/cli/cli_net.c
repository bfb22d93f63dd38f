/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_net - "stepback net": the connections of a running sandbox, and what its
 * network policy refused.
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
    GHashTable *was_open; /* of the connections that were printed as open */
    json_int_t missed;    /* records that are not listed, as last told */
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
    return g_format_size_full((guint64)number_of(record, key),
                              G_FORMAT_SIZE_IEC_UNITS);
}

static char *duration_cell(json_t *record)
{
    return g_strdup_printf("%.1f s",
                           (double)number_of(record, "milliseconds") / 1000);
}

static char *reason_cell(json_t *record)
{
    const char *allow = json_string_value(json_object_get(record, "allow"));
    const char *reason = text_of(record, "reason");

    return allow ? g_strdup_printf("%s [to allow it: %s]", reason, allow)
                 : g_strdup(reason);
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

    cli_table_add(table, local_time(record), g_strdup(verdict),
                  g_strdup(text_of(record, "name")),
                  g_strdup(text_of(record, "address")), port_cell(record),
                  size_cell(record, "from_guest"),
                  size_cell(record, "to_guest"), duration_cell(record),
                  reason_cell(record));
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

static json_t *pick_new(struct net *net, json_t *answer)
{
    json_t *list = json_array(), *record;
    size_t i;

    json_array_foreach(json_object_get(answer, "connections"), i, record)
    {
        if (is_new(net, record))
            json_array_append(list, record);
    }
    return list;
}

static void print_table(const struct net *net, json_t *list)
{
    static const struct cli_table_column columns[] = {
        { "TIME", TABLE_LEFT },      { "VERDICT", TABLE_LEFT },
        { "NAME", TABLE_MIDDLE },    { "ADDRESS", TABLE_LEFT },
        { "PORT", TABLE_LEFT },      { "SENT", TABLE_RIGHT },
        { "RECEIVED", TABLE_RIGHT }, { "DURATION", TABLE_RIGHT },
        { "REASON", TABLE_END },     { NULL },
    };
    g_autoptr(cli_table) table = cli_table_new(&net->output, columns);
    json_t *record;
    size_t i;

    json_array_foreach(list, i, record)
    {
        add_row(table, record);
    }
    cli_table_print(table);
}

static void print_lines(json_t *list)
{
    json_t *record;
    size_t i;

    json_array_foreach(list, i, record)
    {
        cli_place_print_json_line(record);
    }
}

/* Say that the list is not complete, on standard error. */
static void tell_missed(struct net *net, json_t *answer)
{
    json_int_t missed = number_of(answer, "missed") +
                        number_of(answer, "forgotten");
    g_autofree char *text = NULL;

    if (missed <= net->missed)
        return;
    text = g_strdup_printf("%" JSON_INTEGER_FORMAT " more are not listed: at "
                           "most 20 ends a second are noted, and the newest "
                           "500 kept",
                           missed - net->missed);
    net->missed = missed;
    cli_place_warn(text);
}

/* Print what is new. Return false after an error was printed. */
static bool print_news(struct net *net, GError **error)
{
    json_t *answer = cli_sandbox_ask(net->record, "network.connections", NULL,
                                     error);
    json_t *list;

    if (!answer)
        return false;
    list = pick_new(net, answer);
    if (net->json)
        print_lines(list);
    else if (json_array_size(list) > 0 || net->output.terminal)
        print_table(net, list);
    net->output.terminal = false; /* one header */
    fflush(stdout);
    tell_missed(net, answer);
    json_decref(list);
    json_decref(answer);
    return true;
}

/* A sandbox that ends ends the list, which is no error. */
static int print(struct net *net)
{
    g_autoptr(GError) error = NULL;
    bool ok = print_news(net, &error);

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
