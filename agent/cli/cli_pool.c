/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_pool - "stepback pool": keep machines ready that new sandboxes take.
 *
 * The command starts a process of the same name with --serve, which keeps the
 * pool (agent/vm/pool_service.h) and outlives the command. It writes one line
 * to its stdout, once it can be found: empty, or an error.
 */
#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/base/install_paths.h"
#include "agent/cli/cli.h"
#include "agent/cli/cli_machine_config.h"
#include "agent/cli/cli_options.h"
#include "agent/cli/cli_place.h"
#include "agent/cli/cli_pool_show.h"
#include "agent/machine/guest_image.h"
#include "agent/machine/session_config_check.h"
#include "agent/vm/pool_client.h"
#include "agent/vm/pool_service.h"
#include "agent/vm/pool_wire.h"
#include "common/fd.h"

enum { MAX_AGE_S = 24 * 3600, LINE_MAX_BYTES = 1024 };

struct options {
    struct cli_machine machine;
    int size, max_age; /* -1: not given */
    gboolean json, start, serve;
};

/* ---- the process of the pool --------------------------------------------- */

static void say_ready(void *opaque)
{
    fflush(stdout);
    if (!freopen("/dev/null", "w", stdout))
        fclose(stdout);
}

static int serve(const struct options *options)
{
    g_autoptr(GError) error = NULL;
    struct session_config *config = cli_machine_shape(&options->machine,
                                                      &error);
    const struct pool_plan plan = {
        .config = config,
        .size = (unsigned)options->size,
        .max_age_s = (unsigned)options->max_age,
    };

    if (config && chdir("/") == 0)
        pool_service_run(&plan, say_ready, NULL, &error);
    if (config)
        session_config_free(config);
    if (!error)
        return CLI_OK;
    printf("%s\n", error->message);
    return CLI_FAILED;
}

/* ---- the command --------------------------------------------------------- */

/* In the child. Makes only system calls. */
static void leave_terminal(gpointer data)
{
    setsid();
}

/* Read until the process has closed its stdout. */
static char *read_all(int fd)
{
    GString *text = g_string_new(NULL);
    char chunk[LINE_MAX_BYTES];
    ssize_t n;

    while ((n = read(fd, chunk, sizeof(chunk))) > 0 &&
           text->len < LINE_MAX_BYTES)
        g_string_append_len(text, chunk, n);
    return g_strchomp(g_string_free(text, FALSE));
}

/* Start the pool's process with the options of this one. */
static int start(char **words)
{
    g_autoptr(GPtrArray) argv = g_ptr_array_new();
    g_autofree char *self = install_paths_self();
    g_autofree char *problem = NULL;
    g_autoptr(GError) error = NULL;
    fd_auto int out = -1;

    g_ptr_array_add(argv, self);
    g_ptr_array_add(argv, *words);
    g_ptr_array_add(argv, (char *)"--serve");
    while (*++words)
        g_ptr_array_add(argv, *words);
    g_ptr_array_add(argv, NULL);
    if (!g_spawn_async_with_pipes(NULL, (char **)argv->pdata, NULL,
                                  G_SPAWN_STDERR_TO_DEV_NULL, leave_terminal,
                                  NULL, NULL, NULL, &out, NULL, &error))
        return cli_options_failed("cannot run %s: %s", self, error->message);
    problem = read_all(out);
    return *problem ? cli_options_failed("%s", problem) : CLI_OK;
}

static int show(bool json)
{
    g_autoptr(GError) error = NULL;
    json_t *status = pool_client_status(&error);

    if (error)
        return cli_options_failed("%s", error->message);
    if (!status && !json) {
        printf("no pool runs; start one with: " CLI_PROGRAM " pool --size=N\n");
        return CLI_OK;
    }
    if (!status)
        status = json_pack("{s:i, s:i, s:[]}", "size", 0, "waiting", 0,
                           "machines");
    if (json)
        cli_place_print_json(status);
    else
        cli_pool_print(status);
    json_decref(status);
    return CLI_OK;
}

/* Check the machines before a pool that works is replaced. */
static gboolean check_shape(const struct cli_machine *machine, GError **error)
{
    struct session_config *config = cli_machine_shape(machine, error);
    struct guest_image *image = NULL;

    if (config && session_config_check_memory(config, error))
        image = guest_image_find(config->image, config->kernel, config->initrd,
                                 config->disk, error);
    if (config)
        session_config_free(config);
    if (!image)
        return FALSE;
    guest_image_free(image);
    return TRUE;
}

/* End the pool that runs, and start another one. */
static int change(const struct options *options, char **words)
{
    g_autoptr(GError) error = NULL;

    if (options->size > 0 && !check_shape(&options->machine, &error))
        return cli_options_failed("%s", error->message);
    pool_client_end(&error);
    if (error)
        return cli_options_failed("%s", error->message);
    return options->size > 0 ? start(words) : CLI_OK;
}

/* Take what the command line does not have from config.ini, where it was
 * checked. */
static bool take_defaults(struct options *options)
{
    const struct cli_machine *defaults = options->machine.defaults;

    if (options->max_age < 0)
        options->max_age = defaults->pool_max_age ? atoi(defaults->pool_max_age)
                                                  : MAX_AGE_S;
    if (options->size < 0)
        options->size = defaults->pool_size ? atoi(defaults->pool_size) : 0;
    if (options->size > 0 || !options->start)
        return true;
    cli_options_wrong("pool: --start: config.ini has no size; write size=N "
                      "below [pool], or use --size=N");
    return false;
}

static int run(struct options *options, char **words)
{
    if (options->size < 0 && !options->start)
        return show(options->json);
    if (!cli_machine_check(&options->machine, "pool") ||
        !take_defaults(options))
        return CLI_USAGE;
    if (options->serve)
        return serve(options);
    return change(options, words);
}

/* Return whether an option of the machines was given. */
static bool has_shape(const struct cli_machine *machine)
{
    return machine->image || machine->memory || machine->cpus ||
           machine->accel || machine->backend || machine->kernel ||
           machine->initrd || machine->networks || machine->no_network;
}

static int check_and_run(struct options *options, bool sized, bool aged,
                         char **words)
{
    if (sized && (options->size < 0 || options->size > POOL_SIZE_MAX))
        return cli_options_wrong("pool: --size: must be a number from 0 to %d",
                                 POOL_SIZE_MAX);
    if (aged && options->max_age < 1)
        return cli_options_wrong("pool: --max-age: must be a number of "
                                 "seconds, from 1");
    if (sized && options->start)
        return cli_options_wrong("pool: use --size or --start, not both");
    if (!sized && !options->start &&
        (aged || options->serve || has_shape(&options->machine)))
        return cli_options_wrong("pool: the options of machines need --size=N "
                                 "or --start");
    return run(options, words);
}

int cli_pool(int argc, char **argv)
{
    struct options options = { .size = G_MININT, .max_age = G_MININT };
    struct cli_machine *machine = &options.machine;
    const GOptionEntry entries[] = {
        { "size", 0, 0, G_OPTION_ARG_INT, &options.size,
          "keep this many machines ready; 0 ends the pool", "N" },
        { "start", 0, 0, G_OPTION_ARG_NONE, &options.start,
          "keep as many machines ready as config.ini says", NULL },
        { "max-age", 0, 0, G_OPTION_ARG_INT, &options.max_age,
          "replace a machine that has waited this long (default: a day)",
          "SECONDS" },
        CLI_MACHINE_SHAPE_OPTIONS(machine),
        { "json", 0, 0, G_OPTION_ARG_NONE, &options.json, "print JSON", NULL },
        { "serve", 0, G_OPTION_FLAG_HIDDEN, G_OPTION_ARG_NONE, &options.serve,
          NULL, NULL },
        { NULL },
    };
    g_auto(GStrv) words = g_strdupv(argv);
    bool sized, aged;
    int status;

    if (!cli_options_parse("- keep machines ready for new sandboxes", entries,
                           false, &argc, &argv))
        return CLI_USAGE;
    sized = options.size != G_MININT;
    aged = options.max_age != G_MININT;
    if (argc > 1 && strcmp(argv[1], "stop") == 0)
        status = cli_options_wrong("pool: 'stop' is no argument; end the pool "
                                   "with: " CLI_PROGRAM " pool --size=0");
    else if (argc > 1)
        status = cli_options_surplus("pool", argv[1]);
    else
        status = check_and_run(&options, sized, aged, words);
    cli_machine_clear(machine);
    return status;
}
