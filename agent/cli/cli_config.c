/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_config - "stepback config": the options that hold for new machines, and
 * where each value comes from.
 */
#include <glib.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "agent/base/certificates.h"
#include "agent/cli/cli.h"
#include "agent/cli/cli_defaults.h"
#include "agent/cli/cli_machine.h"
#include "agent/cli/cli_machine_config.h"
#include "agent/cli/cli_options.h"
#include "agent/cli/cli_place.h"
#include "agent/machine/host_identity.h"

struct row {
    const struct cli_setting *setting;
    char *value;        /* owned */
    const char *origin; /* "option", "file" or "default" */
    char *meaning;      /* what a value of "host" stands for, owned; or NULL */
};

static void row_clear(gpointer data)
{
    struct row *row = data;

    g_free(row->value);
    g_free(row->meaning);
}

/* ---- the host's ---------------------------------------------------------- */

static char *find_identity(void)
{
    struct git_identity identity;
    char *text;

    host_identity_read(NULL, &identity);
    text = identity.name || identity.email
               ? git_identity_text(&identity)
               : g_strdup("none; git config --global user.name sets one");
    git_identity_clear(&identity);
    return text;
}

static char *find_certificates(void)
{
    g_autoptr(GString) pem = g_string_new(NULL);
    unsigned count;

    certificates_add_host(pem);
    count = certificates_count(pem->str);
    return g_strdup_printf("%u certificate%s", count, count == 1 ? "" : "s");
}

static char *find_meaning(const struct row *row)
{
    if (strcmp(row->value, CLI_GUEST_HOST) != 0)
        return NULL;
    if (strcmp(row->setting->name, "git-identity") == 0)
        return find_identity();
    return strcmp(row->setting->name, "ca-certificates") == 0
               ? find_certificates()
               : NULL;
}

/* ---- rows ---------------------------------------------------------------- */

/* value is taken; NULL: no row. */
static void add(GArray *rows, const struct cli_setting *setting, char *value,
                const char *origin)
{
    struct row row = { setting, value, origin, NULL };

    if (!value)
        return;
    row.meaning = find_meaning(&row);
    g_array_append_val(rows, row);
}

/* Variables of both sources hold, each other setting of one. */
static GArray *list_rows(const struct cli_machine *machine)
{
    GArray *rows = g_array_new(FALSE, FALSE, sizeof(struct row));

    g_array_set_clear_func(rows, row_clear);
    for (const struct cli_setting *setting = cli_defaults_settings();
         setting->name; setting++) {
        char *given = cli_defaults_text(setting, machine);
        char *file = cli_defaults_text(setting, machine->defaults);
        bool both = strcmp(setting->name, "env") == 0;

        if (!given && !file)
            add(rows, setting, g_strdup(setting->builtin), "default");
        if (!given || both)
            add(rows, setting, g_steal_pointer(&file), "file");
        add(rows, setting, given, "option");
        g_free(file);
    }
    return rows;
}

static void print_table(const GArray *rows, const char *path)
{
    bool exists = g_file_test(path, G_FILE_TEST_EXISTS);

    printf("%-16s %-8s %s\n", "OPTION", "FROM", "VALUE");
    for (guint i = 0; i < rows->len; i++) {
        const struct row *row = &g_array_index(rows, struct row, i);
        g_autofree char *value = cli_options_printable(row->value);
        g_autofree char *meaning = row->meaning
                                       ? cli_options_printable(row->meaning)
                                       : NULL;

        printf("%-16s %-8s %s%s%s%s\n", row->setting->name, row->origin,
               *value ? value : "-", meaning ? " (" : "",
               meaning ? meaning : "", meaning ? ")" : "");
    }
    printf("\nfile: %s%s\n", path, exists ? "" : " (does not exist)");
}

static void print_json(const GArray *rows, const char *path)
{
    json_t *list = json_array();
    json_t *object = json_pack("{s:s, s:b, s:o}", "file", path, "exists",
                               g_file_test(path, G_FILE_TEST_EXISTS),
                               "settings", list);

    for (guint i = 0; i < rows->len; i++) {
        const struct row *row = &g_array_index(rows, struct row, i);
        g_autofree char *value = g_utf8_make_valid(row->value, -1);

        json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s*}", "name",
                                              row->setting->name, "value",
                                              value, "origin", row->origin,
                                              "meaning", row->meaning));
    }
    cli_place_print_json(object);
    json_decref(object);
}

static int parse_and_print(int argc, char **argv, struct cli_machine *machine)
{
    gboolean json = FALSE;
    const GOptionEntry entries[] = {
        { "json", 0, 0, G_OPTION_ARG_NONE, &json, "print JSON", NULL },
        CLI_MACHINE_OPTIONS(machine),
        { NULL },
    };
    g_autofree char *path = cli_defaults_path();
    g_autoptr(GArray) rows = NULL;

    if (!cli_options_parse("- show the options of new machines, and where they "
                           "come from",
                           entries, false, &argc, &argv))
        return CLI_USAGE;
    if (argc > 1)
        return cli_options_surplus("config", argv[1]);
    if (!cli_machine_check(machine, "config"))
        return CLI_USAGE;
    rows = list_rows(machine);
    if (json)
        print_json(rows, path);
    else
        print_table(rows, path);
    return CLI_OK;
}

int cli_config(int argc, char **argv)
{
    struct cli_machine machine = { 0 };
    int status = parse_and_print(argc, argv, &machine);

    cli_machine_clear(&machine);
    return status;
}
