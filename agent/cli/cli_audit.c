/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_audit - "stepback audit": print the record of a sandbox, or check its
 * chain. The sandbox may be removed.
 *
 * A guest can cause texts in it: they are printed escaped.
 */
#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/cli/cli.h"
#include "agent/cli/cli_options.h"
#include "agent/cli/cli_place.h"
#include "agent/cli/cli_sandbox.h"
#include "agent/sandbox/audit_reader.h"
#include "agent/sandbox/sandbox_name.h"
#include "agent/sandbox/sandbox_store.h"
#include "common/fd.h"

struct options {
    gboolean json, follow, verify, network;
};

/* ---- printing ------------------------------------------------------------ */

static void print_member(const char *key, json_t *value)
{
    static const char plain[] = G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS
        "._/:@%+-";
    const char *word = json_string_value(value);
    bool is_plain = word && *word && !word[strspn(word, plain)];
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
    g_autofree char *shown = cli_options_printable(is_plain ? word : text);
    g_autofree char *name = cli_options_printable(key);

    printf(" %s=%s", name, shown);
    free(text);
}

static bool is_common(const char *key)
{
    return strcmp(key, "time") == 0 || strcmp(key, "type") == 0 ||
           strcmp(key, "sandbox") == 0 || strcmp(key, "prev") == 0;
}

static void print_line(const struct audit_line *line, bool json)
{
    const char *time = json_string_value(json_object_get(line->record, "time"));
    const char *type = json_string_value(json_object_get(line->record, "type"));
    g_autofree char *shown = cli_options_printable(line->text);
    g_autofree char *when = NULL, *what = NULL;
    const char *key;
    json_t *value;

    if (json && line->record && isatty(STDOUT_FILENO)) {
        cli_place_print_json_line(line->record);
        return;
    }
    if (json || !time || !type) {
        printf("%s\n", json && !isatty(STDOUT_FILENO) ? line->text : shown);
        return;
    }
    when = cli_options_printable(time);
    what = cli_options_printable(type);
    printf("%s %s", when, what);
    json_object_foreach(line->record, key, value)
    {
        if (!is_common(key))
            print_member(key, value);
    }
    putchar('\n');
}

static bool follow(const char *name)
{
    fd_auto int fd = sandbox_store_open(name, NULL);

    return fd >= 0 && cli_sandbox_follow(fd);
}

static void print_more(struct audit_reader *reader, bool json)
{
    struct audit_line line;

    while (audit_reader_next(reader, &line))
        print_line(&line, json);
    fflush(stdout);
}

static int print(struct audit_reader *reader, const char *name,
                 const struct options *options)
{
    print_more(reader, options->json);
    while (options->follow && follow(name))
        print_more(reader, options->json);
    if (options->follow)
        print_more(reader, options->json);
    return CLI_OK;
}

/* ---- checking ------------------------------------------------------------ */

static int verify(struct audit_reader *reader)
{
    unsigned lines = 0, problems = 0;
    struct audit_line line;

    while (audit_reader_next(reader, &line)) {
        lines++;
        if (line.record && line.fits)
            continue;
        problems++;
        printf("%s:%u: %s\n", line.file, line.number,
               line.record ? "does not follow the line before" : "is damaged");
    }
    if (audit_reader_rest(reader) > 0) {
        problems++;
        printf("the last line is incomplete: %zu bytes\n",
               (size_t)audit_reader_rest(reader));
    }
    printf("%u records, %u problems\n", lines, problems);
    return problems > 0 ? CLI_FAILED : CLI_OK;
}

/* ---- the command line ---------------------------------------------------- */

/* Return the name of the sandbox, which need not exist if it is given: a new
 * string; or print an error and return NULL. */
static char *find_name(const char *given)
{
    g_autoptr(sandbox_record) record = NULL;

    if (!given) {
        record = cli_sandbox_find(NULL, CLI_SANDBOX_ANY);
        return record ? g_strdup(record->name) : NULL;
    }
    if (sandbox_name_is_valid(given))
        return g_strdup(given);
    cli_options_failed("audit: '%s' is not the name of a sandbox; '" CLI_PROGRAM
                       " ps' lists those that exist",
                       given);
    return NULL;
}

int cli_audit(int argc, char **argv)
{
    struct options options = { 0 };
    const GOptionEntry entries[] = {
        { "follow", 'f', 0, G_OPTION_ARG_NONE, &options.follow,
          "print new records until the sandbox ends", NULL },
        { "json", 0, 0, G_OPTION_ARG_NONE, &options.json,
          "print the records as they are stored, JSON Lines", NULL },
        { "network", 0, 0, G_OPTION_ARG_NONE, &options.network,
          "the connections and requests of its network", NULL },
        { "verify", 0, 0, G_OPTION_ARG_NONE, &options.verify,
          "check that no record was changed, removed or inserted", NULL },
        { NULL },
    };
    g_autoptr(GError) error = NULL;
    g_autofree char *name = NULL;
    struct audit_reader *reader;
    int status;

    if (!cli_options_parse("[NAME] - print the record of what happened in a "
                           "sandbox",
                           entries, false, &argc, &argv))
        return CLI_USAGE;
    if (argc > 2)
        return cli_options_surplus("audit", argv[2]);
    if (options.verify && (options.json || options.follow))
        return cli_options_wrong("audit: --verify prints no records: omit "
                                 "--json and --follow");
    name = find_name(argc > 1 ? argv[1] : NULL);
    if (!name)
        return CLI_FAILED;
    reader = audit_reader_new(options.network ? AUDIT_NETWORK : AUDIT_EVENTS,
                              name, &error);
    if (!reader) {
        cli_options_failed("%s", error->message);
        return CLI_FAILED;
    }
    status = options.verify ? verify(reader) : print(reader, name, &options);
    audit_reader_free(reader);
    return status;
}
