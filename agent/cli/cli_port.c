/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_port - "stepback port": list, add and remove the published ports of a
 * running sandbox.
 */
#include <glib.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "agent/cli/cli.h"
#include "agent/cli/cli_options.h"
#include "agent/cli/cli_place.h"
#include "agent/cli/cli_ports.h"
#include "agent/cli/cli_sandbox.h"
#include "agent/cli/cli_table.h"
#include "agent/wire/port_json.h"

static int failed(GError *error)
{
    cli_options_failed("%s", error->message);
    g_error_free(error);
    return CLI_FAILED;
}

/* ---- the list ------------------------------------------------------------ */

static void add_row(const char *host, const char *guest, const char *status,
                    void *opaque)
{
    struct cli_table *table = opaque;

    cli_table_add(table, g_strdup(host), g_strdup(guest), g_strdup(status));
    cli_table_paint(table, 0, PAINT_ID);
    cli_table_paint(
        table, 2, strcmp(status, "listening") == 0 ? PAINT_GOOD : PAINT_OTHER);
}

static void print_ports(const struct cli_output *output, json_t *answer)
{
    static const struct cli_table_column columns[] = {
        { "HOST", TABLE_LEFT },
        { "GUEST", TABLE_LEFT },
        { "STATUS", TABLE_END },
        { NULL },
    };
    g_autoptr(cli_table) table = cli_table_new(output, columns);

    cli_ports_list(answer, add_row, table);
    cli_table_print(table);
}

static int list(const struct sandbox_record *record, bool json,
                const struct cli_output *output)
{
    GError *error = NULL;
    json_t *answer = cli_sandbox_ask(record, "port.list", NULL, &error);

    if (!answer)
        return failed(error);
    if (json)
        cli_place_print_json(answer);
    else
        print_ports(output, answer);
    json_decref(answer);
    return CLI_OK;
}

/* ---- add and remove ------------------------------------------------------ */

/* Print where the port is: of a free one the host has chosen the number. */
static int add(const struct sandbox_record *record,
               const struct port_spec *spec, bool json)
{
    char text[PORT_SPEC_TEXT];
    GError *error = NULL;
    json_t *answer = cli_sandbox_ask(record, "port.add", port_to_json(spec),
                                     &error);
    struct port_spec added;

    if (!answer || !port_from_json(answer, true, &added, &error)) {
        json_decref(answer);
        return failed(error);
    }
    if (json)
        cli_place_print_json(answer);
    else
        printf("%s\n", port_spec_format(&added, text));
    json_decref(answer);
    return CLI_OK;
}

static int remove_one(const struct sandbox_record *record,
                      const struct port_spec *spec)
{
    GError *error = NULL;
    json_t *payload = port_to_json(spec), *answer;

    json_object_del(payload, "guest_port");
    answer = cli_sandbox_ask(record, "port.remove", payload, &error);
    if (!answer)
        return failed(error);
    json_decref(answer);
    return CLI_OK;
}

/* ---- the arguments ------------------------------------------------------- */

static bool is_verb(const char *word)
{
    return word && (strcmp(word, "add") == 0 || strcmp(word, "rm") == 0);
}

/* Parse the port of "add", or of "rm", which may lack the guest's. */
static bool parse(const char *verb, const char *text,
                  struct port_spec *ret_spec)
{
    g_autoptr(GError) error = NULL;

    if (strcmp(verb, "rm") == 0 ? cli_ports_parse_host(text, ret_spec, &error)
                                : port_spec_parse(text, ret_spec, &error))
        return true;
    cli_options_wrong("port: %s", error->message);
    return false;
}

static int change(const char *name, char **words, bool json)
{
    g_autoptr(sandbox_record) record = NULL;
    struct port_spec spec;

    if (!words[1] || words[2])
        return cli_options_wrong("port: give one port: " CLI_PROGRAM
                                 " port [NAME] %s [ADDRESS:]HOST:GUEST[/udp]",
                                 words[0]);
    if (!parse(words[0], words[1], &spec))
        return CLI_USAGE;
    record = cli_sandbox_find(name, CLI_SANDBOX_RUNNING);
    if (!record)
        return CLI_FAILED;
    return strcmp(words[0], "add") == 0 ? add(record, &spec, json)
                                        : remove_one(record, &spec);
}

int cli_port(int argc, char **argv)
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
    const char *name = NULL;
    char **words;

    if (!cli_options_parse("[NAME] [add|rm PORTS] - list, add or remove "
                           "published ports",
                           entries, false, &argc, &argv))
        return CLI_USAGE;
    if (!cli_output_init(&output, "port", &options))
        return CLI_USAGE;
    words = argv + 1;
    if (*words && !is_verb(*words))
        name = *words++;
    if (is_verb(*words))
        return change(name, words, json);
    if (*words)
        return cli_options_wrong("port: '%s' is neither add nor rm", *words);
    record = cli_sandbox_find(name, CLI_SANDBOX_RUNNING);
    return record ? list(record, json, &output) : CLI_FAILED;
}
