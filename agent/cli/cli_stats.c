/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_stats - "stepback stats": what sandboxes use of the host.
 *
 * CPU is the share of one processor during the last sample; network figures
 * count frames since the machine's start, seen from the sandbox. On a terminal
 * the table is replaced again and again, until Ctrl-C.
 */
#include <glib.h>
#include <jansson.h>
#include <stdio.h>
#include <unistd.h>

#include "agent/cli/cli.h"
#include "agent/cli/cli_options.h"
#include "agent/cli/cli_place.h"
#include "agent/cli/cli_pool_show.h"
#include "agent/cli/cli_sandbox.h"
#include "agent/cli/cli_table.h"
#include "agent/cli/cli_terminal.h"
#include "agent/client/api_link.h"
#include "agent/sandbox/sandbox_process.h"

enum {
    SAMPLE_MS = 500,
    ASK_MS = 1000, /* a supervisor that hangs must not stop the others' lines */
};

struct sample {
    struct sandbox_usage first, last;
    double cpu_percent;
    bool has_network;
    gint64 in_bytes, out_bytes, in_packets, out_packets;
    gint64 closed, refused, failed; /* connections */
};

/* ---- samples ------------------------------------------------------------- */

static gint64 count_of(json_t *answer, const char *what, const char *direction)
{
    return json_integer_value(
        json_object_get(json_object_get(answer, what), direction));
}

/* A sandbox that starts, ends or has no network card has no figures. */
static void ask_network(const struct sandbox_record *record,
                        struct sample *sample)
{
    const char *path = sandbox_record_socket(record, "api_socket");
    json_t *answer = path && record->status == SANDBOX_RUNNING
                         ? api_link_ask_once(path, "network.status", NULL,
                                             ASK_MS, NULL)
                         : NULL;

    if (!answer)
        return;
    sample->has_network = true;
    sample->in_bytes = count_of(answer, "bytes", "to_guest");
    sample->out_bytes = count_of(answer, "bytes", "from_guest");
    sample->in_packets = count_of(answer, "frames", "to_guest");
    sample->out_packets = count_of(answer, "frames", "from_guest");
    sample->closed = count_of(answer, "connections", "closed");
    sample->refused = count_of(answer, "connections", "refused");
    sample->failed = count_of(answer, "connections", "failed");
    json_decref(answer);
}

static void take_samples(const GPtrArray *records, struct sample *samples)
{
    gint64 began = g_get_monotonic_time();
    double seconds;

    for (guint i = 0; i < records->len; i++) {
        const struct sandbox_record *record = records->pdata[i];

        sandbox_process_usage(record->run, &samples[i].first);
    }
    g_usleep(SAMPLE_MS * 1000);
    seconds = (double)(g_get_monotonic_time() - began) / G_USEC_PER_SEC;
    for (guint i = 0; i < records->len; i++) {
        const struct sandbox_record *record = records->pdata[i];
        struct sample *sample = &samples[i];

        sandbox_process_usage(record->run, &sample->last);
        sample->cpu_percent = MAX(sample->last.cpu_seconds -
                                      sample->first.cpu_seconds,
                                  0) *
                              100 / seconds;
    }
    for (guint i = 0; i < records->len; i++)
        ask_network(records->pdata[i], &samples[i]);
}

/* ---- output -------------------------------------------------------------- */

static char *size(gint64 bytes)
{
    return g_format_size_full((guint64)bytes, G_FORMAT_SIZE_IEC_UNITS);
}

/* The machines of the pool are paused: they use memory alone. */
static void add_pool(struct cli_table *table)
{
    struct cli_pool_summary pool;

    if (!cli_pool_summarize(&pool))
        return;
    cli_table_add(table, g_strdup(CLI_POOL_ROW), g_strdup("-"),
                  size((gint64)pool.memory_bytes), g_strdup("-"), g_strdup("-"),
                  g_strdup("-"), g_strdup("-"),
                  g_strdup_printf("%u", pool.processes));
}

static unsigned print_table(const GPtrArray *records,
                            const struct sample *samples, bool with_pool,
                            const struct cli_output *output)
{
    static const struct cli_table_column columns[] = {
        { "NAME", TABLE_END },
        { "CPU %", TABLE_RIGHT },
        { "MEMORY", TABLE_RIGHT },
        { "NET IN", TABLE_RIGHT },
        { "NET OUT", TABLE_RIGHT },
        { "READ", TABLE_RIGHT },
        { "WRITTEN", TABLE_RIGHT },
        { "PIDS", TABLE_RIGHT },
        { NULL },
    };
    g_autoptr(cli_table) table = cli_table_new(output, columns);

    for (guint i = 0; i < records->len; i++) {
        const struct sandbox_record *record = records->pdata[i];
        const struct sample *sample = &samples[i];
        const struct sandbox_usage *usage = &sample->last;

        cli_table_add(
            table, g_strdup(record->name),
            g_strdup_printf("%.1f", sample->cpu_percent),
            size(usage->memory_bytes),
            sample->has_network ? size(sample->in_bytes) : g_strdup("-"),
            sample->has_network ? size(sample->out_bytes) : g_strdup("-"),
            size(usage->read_bytes), size(usage->written_bytes),
            g_strdup_printf("%u", usage->processes));
        cli_table_paint(table, 0, PAINT_ID);
    }
    if (with_pool)
        add_pool(table);
    return cli_table_print(table);
}

static void print_json(const GPtrArray *records, const struct sample *samples)
{
    json_t *list = json_array();

    for (guint i = 0; i < records->len; i++) {
        const struct sandbox_record *record = records->pdata[i];
        const struct sample *sample = &samples[i];
        const struct sandbox_usage *usage = &sample->last;
        json_t *object = json_pack(
            "{s:s, s:f, s:f, s:I, s:I, s:I, s:i}", "name", record->name,
            "cpu_percent", sample->cpu_percent, "cpu_seconds",
            usage->cpu_seconds, "memory_bytes", (json_int_t)usage->memory_bytes,
            "read_bytes", (json_int_t)usage->read_bytes, "written_bytes",
            (json_int_t)usage->written_bytes, "processes",
            (int)usage->processes);

        if (sample->has_network)
            json_object_update_new(
                object,
                json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I}",
                          "network_in_bytes", (json_int_t)sample->in_bytes,
                          "network_out_bytes", (json_int_t)sample->out_bytes,
                          "network_in_packets", (json_int_t)sample->in_packets,
                          "network_out_packets",
                          (json_int_t)sample->out_packets, "network_closed",
                          (json_int_t)sample->closed, "network_refused",
                          (json_int_t)sample->refused, "network_failed",
                          (json_int_t)sample->failed));
        json_array_append_new(list, object);
    }
    cli_place_print_json(list);
    json_decref(list);
}

/* ---- the command --------------------------------------------------------- */

/* The named sandbox, or all that run. Returns a new array, or NULL after
 * printing the error. */
static GPtrArray *find(char **words)
{
    if (*words)
        return cli_sandbox_find_all(words, CLI_SANDBOX_LIVE);
    return cli_sandbox_load_live();
}

/* Print the figures, in the place of the lines printed before. Return the
 * number of lines, or -1 after printing an error. */
static int print_once(char **words, bool json, const struct cli_output *output,
                      int lines)
{
    g_autoptr(GPtrArray) records = find(words);
    g_autofree struct sample *samples = NULL;
    int printed = 0;

    if (!records)
        return -1;
    samples = g_new0(struct sample, records->len + 1);
    take_samples(records, samples);
    if (lines > 0)
        printf("\033[%dA\033[J", lines);
    if (json)
        print_json(records, samples);
    else
        printed = (int)print_table(records, samples, !*words, output);
    fflush(stdout);
    return printed;
}

int cli_stats(int argc, char **argv)
{
    gboolean json = FALSE, no_stream = FALSE;
    g_auto(cli_output_options) options = { 0 };
    struct cli_output output;
    const GOptionEntry entries[] = {
        { "no-stream", 0, 0, G_OPTION_ARG_NONE, &no_stream,
          "print once, also on a terminal", NULL },
        { "json", 0, 0, G_OPTION_ARG_NONE, &json, "print JSON, once", NULL },
        CLI_OUTPUT_COLOR(&options),
        { NULL },
    };
    int lines = 0;

    if (!cli_options_parse("[NAME...] - print what sandboxes use of this host",
                           entries, false, &argc, &argv) ||
        !cli_output_init(&output, "stats", &options))
        return CLI_USAGE;
    no_stream |= json || !cli_terminal_moves(STDOUT_FILENO);
    do {
        output.width = cli_terminal_fit_width(STDOUT_FILENO);
        lines = print_once(argv + 1, json, &output, lines);
    } while (lines >= 0 && !no_stream);
    return lines < 0 ? CLI_FAILED : CLI_OK;
}
