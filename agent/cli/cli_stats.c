/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_stats - "stepback stats": what sandboxes use of the host.
 *
 * CPU is the share of one processor during SAMPLE_MS.
 */
#include <glib.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "agent/cli/cli.h"
#include "agent/cli/cli_options.h"
#include "agent/cli/cli_place.h"
#include "agent/cli/cli_sandbox.h"
#include "agent/sandbox/sandbox_process.h"

enum { SAMPLE_MS = 500 };

struct sample {
    struct sandbox_usage first, last;
    double cpu_percent;
};

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
}

static void print_table(const GPtrArray *records, const struct sample *samples)
{
    printf("%-20s %7s %10s %10s %10s %5s\n", "NAME", "CPU %", "MEMORY", "READ",
           "WRITTEN", "PIDS");
    for (guint i = 0; i < records->len; i++) {
        const struct sandbox_record *record = records->pdata[i];
        const struct sandbox_usage *usage = &samples[i].last;
        g_autofree char *memory = g_format_size_full(
            (guint64)usage->memory_bytes, G_FORMAT_SIZE_IEC_UNITS);
        g_autofree char *read = g_format_size_full((guint64)usage->read_bytes,
                                                   G_FORMAT_SIZE_IEC_UNITS);
        g_autofree char *written = g_format_size_full(
            (guint64)usage->written_bytes, G_FORMAT_SIZE_IEC_UNITS);

        printf("%-20s %7.1f %10s %10s %10s %5u\n", record->name,
               samples[i].cpu_percent, memory, read, written, usage->processes);
    }
}

static void print_json(const GPtrArray *records, const struct sample *samples)
{
    json_t *list = json_array();

    for (guint i = 0; i < records->len; i++) {
        const struct sandbox_record *record = records->pdata[i];
        const struct sandbox_usage *usage = &samples[i].last;

        json_array_append_new(
            list, json_pack("{s:s, s:f, s:f, s:I, s:I, s:I, s:i}", "name",
                            record->name, "cpu_percent", samples[i].cpu_percent,
                            "cpu_seconds", usage->cpu_seconds, "memory_bytes",
                            (json_int_t)usage->memory_bytes, "read_bytes",
                            (json_int_t)usage->read_bytes, "written_bytes",
                            (json_int_t)usage->written_bytes, "processes",
                            (int)usage->processes));
    }
    cli_place_print_json(list);
    json_decref(list);
}

/* The named sandbox, or all that run. Returns a new array, or NULL after
 * printing the error. */
static GPtrArray *find(char **words)
{
    g_autoptr(GError) error = NULL;
    GPtrArray *records;

    if (*words)
        return cli_sandbox_find_all(words, CLI_SANDBOX_LIVE);
    records = sandbox_record_load_all(&error);
    if (!records)
        cli_options_failed("%s", error->message);
    for (guint i = records ? records->len : 0; i > 0; i--) {
        if (!sandbox_record_is_live(records->pdata[i - 1]))
            g_ptr_array_remove_index(records, i - 1);
    }
    return records;
}

int cli_stats(int argc, char **argv)
{
    gboolean json = FALSE;
    const GOptionEntry entries[] = {
        { "json", 0, 0, G_OPTION_ARG_NONE, &json, "print JSON", NULL },
        { NULL },
    };
    g_autoptr(GPtrArray) records = NULL;
    g_autofree struct sample *samples = NULL;

    if (!cli_options_parse("[NAME...] - print what sandboxes use of this host",
                           entries, false, &argc, &argv))
        return CLI_USAGE;
    records = find(argv + 1);
    if (!records)
        return CLI_FAILED;
    samples = g_new0(struct sample, records->len + 1);
    take_samples(records, samples);
    if (json)
        print_json(records, samples);
    else
        print_table(records, samples);
    return CLI_OK;
}
