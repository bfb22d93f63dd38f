/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_ps - "stepback ps" and "stepback inspect": list and describe sandboxes.
 */
#include <glib.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "agent/cli/cli.h"
#include "agent/cli/cli_options.h"
#include "agent/cli/cli_place.h"
#include "agent/cli/cli_pool_show.h"
#include "agent/cli/cli_sandbox.h"
#include "agent/cli/cli_table.h"
#include "agent/machine/session_config.h"
#include "common/json_bytes.h"

/* ---- JSON ---------------------------------------------------------------- */

static void copy_members(json_t *to, json_t *from, const char *const *members)
{
    for (; *members; members++) {
        json_t *value = json_object_get(from, *members);

        if (value && !json_is_null(value))
            json_object_set(to, *members, value);
    }
}

/* Return what is known of a sandbox without its supervisor: a new object. */
static json_t *record_to_json(const struct sandbox_record *record)
{
    static const char *const config[] = { "created", "idle_timeout_seconds",
                                          NULL };
    static const char *const run[] = { "started", NULL };
    static const char *const process[] = { "pid", "api_socket", "mcp_socket",
                                           NULL };
    static const char *const end[] = { "ended", "reason", "message", NULL };
    g_autoptr(GPtrArray) folders = sandbox_record_folders(record);
    json_t *list = json_array();
    json_t *object = json_pack("{s:s, s:s, s:s*}", "name", record->name,
                               "status", sandbox_status_name(record->status),
                               "problem", record->problem);

    for (guint i = 0; i < folders->len; i++)
        json_array_append_new(list, json_bytes_path(folders->pdata[i]));
    json_object_set_new(object, "folders", list);
    copy_members(object, record->config, config);
    copy_members(object, record->run, run);
    if (sandbox_record_is_live(record))
        copy_members(object, record->run, process);
    else
        copy_members(object, record->end, end);
    return object;
}

/* ---- ps ------------------------------------------------------------------ */

static enum cli_paint paint_of(enum sandbox_status status)
{
    switch (status) {
    case SANDBOX_RUNNING:
        return PAINT_GOOD;
    case SANDBOX_CRASHED:
    case SANDBOX_FAILED:
        return PAINT_BAD;
    default:
        return PAINT_OTHER;
    }
}

/* Return the folders, separated by spaces: a new string. */
static char *describe_folders(const struct sandbox_record *record)
{
    g_autoptr(GPtrArray) folders = sandbox_record_folders(record);
    GString *text = g_string_new(NULL);

    for (guint i = 0; i < folders->len; i++) {
        g_autofree char *printable = cli_options_printable(folders->pdata[i]);

        g_string_append_printf(text, "%s%s", i ? " " : "", printable);
    }
    return g_string_free(text, FALSE);
}

static void add_row(struct cli_table *table,
                    const struct sandbox_record *record)
{
    bool live = sandbox_record_is_live(record);
    const char *time = json_string_value(
        live ? json_object_get(record->run, "started")
             : json_object_get(record->end, "ended"));
    g_autofree char *age = cli_table_age(time);

    cli_table_add(table, g_strdup(record->name),
                  g_strdup(sandbox_status_name(record->status)),
                  live || !time ? g_steal_pointer(&age)
                                : g_strdup_printf("%s ago", age),
                  record->problem ? cli_options_printable(record->problem)
                                  : describe_folders(record));
    cli_table_paint(table, 0, PAINT_ID);
    cli_table_paint(table, 1, paint_of(record->status));
}

/* Machines that wait for a sandbox. */
static void add_pool(struct cli_table *table)
{
    struct cli_pool_summary pool;
    g_autofree char *memory = NULL;

    if (!cli_pool_summarize(&pool))
        return;
    memory = g_format_size_full(pool.memory_bytes, G_FORMAT_SIZE_IEC_UNITS);
    cli_table_add(table, g_strdup(CLI_POOL_ROW), g_strdup("waiting"),
                  g_strdup("-"),
                  g_strdup_printf("%u of %u machines, %s", pool.waiting,
                                  pool.size, memory));
}

static void print_table(const GPtrArray *records,
                        const struct cli_output *output)
{
    static const struct cli_table_column columns[] = {
        { "NAME", TABLE_END },
        { "STATUS", TABLE_LEFT },
        { "SINCE", TABLE_LEFT },
        { "FOLDERS", TABLE_MIDDLE },
        { NULL },
    };
    g_autoptr(cli_table) table = cli_table_new(output, columns);

    for (guint i = 0; i < records->len; i++)
        add_row(table, records->pdata[i]);
    add_pool(table);
    cli_table_print(table);
}

static void print_json(const GPtrArray *records)
{
    json_t *list = json_array();

    for (guint i = 0; i < records->len; i++)
        json_array_append_new(list, record_to_json(records->pdata[i]));
    cli_place_print_json(list);
    json_decref(list);
}

int cli_ps(int argc, char **argv)
{
    gboolean all = FALSE, json = FALSE, quiet = FALSE;
    g_auto(cli_output_options) options = { 0 };
    struct cli_output output;
    const GOptionEntry entries[] = {
        { "all", 'a', 0, G_OPTION_ARG_NONE, &all,
          "list sandboxes that do not run, too", NULL },
        { "quiet", 'q', 0, G_OPTION_ARG_NONE, &quiet, "print only names",
          NULL },
        { "json", 0, 0, G_OPTION_ARG_NONE, &json, "print JSON", NULL },
        CLI_OUTPUT_COLOR(&options),
        { NULL },
    };
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) records = NULL;

    if (!cli_options_parse("- list sandboxes", entries, false, &argc, &argv))
        return CLI_USAGE;
    if (argc > 1)
        return cli_options_surplus("ps", argv[1]);
    if (!cli_output_init(&output, "ps", &options))
        return CLI_USAGE;
    records = sandbox_record_load_all(&error);
    if (!records)
        return cli_options_failed("%s", error->message);
    for (guint i = records->len; !all && i > 0; i--) {
        if (!sandbox_record_is_live(records->pdata[i - 1]))
            g_ptr_array_remove_index(records, i - 1);
    }
    if (json)
        print_json(records);
    else if (!quiet)
        print_table(records, &output);
    for (guint i = 0; !json && quiet && i < records->len; i++)
        printf("%s\n", ((struct sandbox_record *)records->pdata[i])->name);
    return CLI_OK;
}

/* ---- inspect ------------------------------------------------------------- */

/* Say what separates the guest from the host. */
static const char *boundary_of(json_t *session)
{
    const char *isolation = json_string_value(
        json_object_get(session, "isolation"));

    return g_strcmp0(isolation, isolation_name(ISOLATION_LOCAL)) == 0
               ? "namespaces of the host's kernel: no wall against bugs of "
                 "that kernel"
               : "a virtual machine";
}

int cli_inspect(int argc, char **argv)
{
    gboolean json = TRUE; /* always */
    const GOptionEntry entries[] = {
        { "json", 0, 0, G_OPTION_ARG_NONE, &json, "print JSON, as without it",
          NULL },
        { NULL },
    };
    g_autoptr(sandbox_record) record = NULL;
    g_autoptr(GError) error = NULL;
    json_t *object, *session, *live;

    if (!cli_options_parse("[NAME] - print all facts of a sandbox as JSON",
                           entries, false, &argc, &argv))
        return CLI_USAGE;
    if (argc > 2)
        return cli_options_surplus("inspect", argv[2]);
    record = cli_sandbox_find(argc > 1 ? argv[1] : NULL, CLI_SANDBOX_ANY);
    if (!record)
        return CLI_FAILED;
    object = record_to_json(record);
    session = json_object_get(record->config, "session");
    json_object_set(object, "config", session);
    json_object_set_new(object, "boundary", json_string(boundary_of(session)));
    if (sandbox_record_is_live(record)) {
        live = cli_sandbox_ask(record, "sandbox.info", NULL, &error);
        if (!live) {
            g_autofree char *text = g_utf8_make_valid(error->message, -1);

            live = json_pack("{s:s}", "error", text);
        }
        json_object_set_new(object, "live", live);
    }
    cli_place_print_json(object);
    json_decref(object);
    return CLI_OK;
}
