/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_up - "stepback up": start a sandbox in the background.
 *
 * "up" also starts a sandbox again that has ended, and leaves one that runs
 * alone: by its name, or the one of the folders. Options must agree with its
 * configuration, as for "run" in a running sandbox.
 */
#include <glib.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/cli/cli.h"
#include "agent/cli/cli_bus.h"
#include "agent/cli/cli_lookup.h"
#include "agent/cli/cli_machine.h"
#include "agent/cli/cli_machine_config.h"
#include "agent/cli/cli_options.h"
#include "agent/cli/cli_ports.h"
#include "agent/cli/cli_sandbox.h"
#include "agent/cli/cli_start.h"
#include "agent/sandbox/sandbox_name.h"
#include "agent/wire/port_json.h"
#include "common/errors.h"
#include "common/real_path.h"

#define IDLE_UNSET G_MININT64

enum { IDLE_MAX_S = 30 * 24 * 3600 };

struct up {
    struct cli_machine machine;
    char **dirs;
    gint64 idle_timeout;
    bool has_options;
    const char *name; /* or NULL */
};

static bool is_chatty(void)
{
    return isatty(STDERR_FILENO);
}

/* record is taken; NULL: error. */
static int report(struct sandbox_record *record, const GError *error)
{
    if (!record)
        return cli_options_failed("%s", error->message);
    printf("%s\n", record->name);
    sandbox_record_free(record);
    return CLI_OK;
}

/* The host may have chosen a port. */
static void print_ports(json_t *session)
{
    g_autoptr(GArray)
        ports = g_array_new(FALSE, FALSE, sizeof(struct port_spec));

    if (ports_from_json(json_object_get(session, "ports"), ports, NULL))
        cli_ports_report(ports);
}

/* record and session are taken; NULL: error. */
static int report_start(struct sandbox_record *record, json_t *session,
                        const GError *error, gint64 began)
{
    if (record && is_chatty())
        fprintf(stderr, CLI_PROGRAM ": the sandbox is up after %.1f s\n",
                (double)(g_get_monotonic_time() - began) / G_USEC_PER_SEC);
    if (record) {
        print_ports(session);
        cli_bus_warn(json_object_get(record->config, "session"));
    }
    json_decref(session);
    return report(record, error);
}

static int report_running(struct sandbox_record *record)
{
    fprintf(stderr, CLI_PROGRAM ": sandbox %s: already running\n",
            record->name);
    return report(record, NULL);
}

static void warn_of_logs(const struct cli_machine *machine)
{
    if (!machine->place.undo_dir)
        cli_lookup_warn_of_outer(machine->place.dir ? machine->place.dir : ".");
    for (char **dir = machine->more_dirs; dir && *dir; dir++)
        cli_lookup_warn_of_outer(*dir);
}

static int start_new(const struct up *up)
{
    g_autoptr(GError) error = NULL;
    struct session_config *config = cli_machine_config(&up->machine, &error);
    gint64 began = g_get_monotonic_time();
    struct sandbox_record *record;
    json_t *session = NULL;

    if (!config)
        return cli_options_failed("%s", error->message);
    warn_of_logs(&up->machine);
    record = cli_start_new(up->name, config, MAX(up->idle_timeout, 0), &session,
                           &error);
    session_config_free(config);
    return report_start(record, session, error, began);
}

/* ---- a sandbox that exists ----------------------------------------------- */

/* Return whether its folders are exactly those of --directory. */
static bool has_folders(const struct sandbox_record *record,
                        const struct up *up)
{
    g_autoptr(GPtrArray) folders = sandbox_record_folders(record);
    unsigned count = up->machine.more_dirs
                         ? g_strv_length(up->machine.more_dirs)
                         : 0;

    if (!up->machine.place.dir)
        return true;
    for (unsigned i = 0; i <= count && folders->len == count + 1; i++) {
        g_autofree char *real = real_path_of(
            i == 0 ? up->machine.place.dir : up->machine.more_dirs[i - 1]);

        if (!g_ptr_array_find_with_equal_func(folders, real, g_str_equal, NULL))
            return false;
    }
    return folders->len == count + 1;
}

/* Of the options that matter only when a machine starts. */
static const char *start_conflict(json_t *session,
                                  const struct cli_machine *machine)
{
    json_t *vm = json_object_get(session, "vm");

    if (machine->no_template && !json_is_false(json_object_get(vm, "template")))
        return "--no-template";
    if (machine->no_pool && !json_is_false(json_object_get(vm, "pool")))
        return "--no-pool";
    return NULL;
}

/* Return the option that its configuration does not have, or NULL. */
static const char *conflict(const struct sandbox_record *record,
                            const struct up *up)
{
    json_t *session = json_object_get(record->config, "session");
    json_int_t idle = json_integer_value(
        json_object_get(record->config, "idle_timeout_seconds"));
    const char *option = cli_machine_conflict(&up->machine, session);

    if (!option)
        option = cli_guest_conflict(&up->machine.guest, session, true);
    if (!option && !sandbox_record_is_live(record))
        option = start_conflict(session, &up->machine);
    if (!option && up->idle_timeout != IDLE_UNSET && up->idle_timeout != idle)
        option = "--idle-timeout";
    if (!option && !has_folders(record, up))
        option = "--directory";
    if (!option && up->machine.force_share &&
        !json_is_true(json_object_get(session, "force_share")))
        option = "--force-share";
    return option;
}

static void print_conflict(const struct sandbox_record *record,
                           const char *option)
{
    if (sandbox_record_is_live(record))
        cli_options_failed("sandbox %s: already runs without this %s; leave "
                           "the option out, or remove the sandbox with "
                           "'stepback rm -f %s'",
                           record->name, option, record->name);
    else
        cli_options_failed("sandbox %s: already exists without this %s; leave "
                           "the option out to start it again, remove it with "
                           "'stepback rm %s', or start another one with "
                           "'stepback up NAME'",
                           record->name, option, record->name);
}

/* Return whether it can be used as it is; otherwise print why not. */
static bool check_existing(const struct sandbox_record *record,
                           const struct up *up)
{
    const char *option = record->problem ? NULL : conflict(record, up);

    if (record->problem)
        cli_options_failed("sandbox %s: %s; remove it with 'stepback rm %s'",
                           record->name, record->problem, record->name);
    else if (record->status == SANDBOX_STOPPING)
        cli_options_failed("sandbox %s: stopping; wait until it has stopped "
                           "('stepback stop %s' does), and try again",
                           record->name, record->name);
    else if (option)
        print_conflict(record, option);
    else
        return true;
    return false;
}

/* Start an existing sandbox (taken), if it does not run. */
static int start_again(struct sandbox_record *record, const struct up *up)
{
    g_autoptr(GError) error = NULL;
    gint64 began = g_get_monotonic_time();
    json_t *session = NULL;

    if (!check_existing(record, up)) {
        sandbox_record_free(record);
        return CLI_FAILED;
    }
    if (sandbox_record_is_live(record))
        return report_running(record);
    if (is_chatty())
        fprintf(stderr,
                CLI_PROGRAM ": starting sandbox %s again; 'stepback up NAME' "
                            "starts another one\n",
                record->name);
    record = cli_start_again(record, &session, &error);
    return report_start(record, session, error, began);
}

/* Return the sandboxes of the folders: a new array, or NULL. */
static GPtrArray *find(const struct up *up, bool live, bool exact,
                       GError **error)
{
    const char *dir = up->machine.place.dir ? up->machine.place.dir : ".";
    GPtrArray *found = cli_sandbox_of_folder(dir, live, exact, error);

    for (guint i = found ? found->len : 0; i > 0; i--) {
        if (!has_folders(found->pdata[i - 1], up))
            g_ptr_array_remove_index(found, i - 1);
    }
    return found;
}

/* Without a name: the sandbox that runs over the folders, or has ended there,
 * or a new one. Without options one of a folder above counts, if it runs. */
static int start_here(const struct up *up)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) live = find(up, true, up->has_options, &error);
    g_autoptr(GPtrArray) ended = live ? find(up, false, true, &error) : NULL;
    const GPtrArray *found;
    g_autofree char *names = NULL;

    if (!ended)
        return cli_options_failed("%s", error->message);
    found = live->len > 0 ? live : ended;
    if (found->len == 0)
        return start_new(up);
    if (found->len == 1)
        return start_again(g_ptr_array_steal_index((GPtrArray *)found, 0), up);
    names = cli_sandbox_names(found);
    return cli_options_failed("several sandboxes have this folder; name one of "
                              "%s, or a new one",
                              names);
}

static int start(const struct up *up)
{
    g_autoptr(GError) error = NULL;
    struct sandbox_record *record;

    if (!up->name)
        return start_here(up);
    record = sandbox_record_load(up->name, &error);
    if (record)
        return start_again(record, up);
    if (error->code != ERROR_NOT_FOUND)
        return cli_options_failed("%s", error->message);
    return start_new(up);
}

/* The first folder is the machine's own, the others are more. */
static bool take_folders(struct up *up)
{
    for (char **dir = up->dirs; dir && *dir; dir++) {
        if (**dir)
            continue;
        cli_options_wrong("up: --directory: the name is empty; give a path");
        return false;
    }
    if (!up->dirs)
        return true;
    up->machine.place.dir = up->dirs[0];
    up->machine.more_dirs = g_strdupv(up->dirs + 1);
    g_free(g_steal_pointer(&up->dirs));
    return true;
}

static bool check(struct up *up)
{
    if (up->name && !sandbox_name_is_valid(up->name))
        cli_options_wrong("up: a sandbox's name must begin with a-z or 0-9 and "
                          "have at most %d characters of a-z, 0-9, '.', '_' "
                          "and '-', not '%s'",
                          SANDBOX_NAME_MAX, up->name);
    else if (up->idle_timeout != IDLE_UNSET &&
             (up->idle_timeout < 0 || up->idle_timeout > IDLE_MAX_S))
        cli_options_wrong("up: --idle-timeout must be a number of seconds, at "
                          "most %d",
                          IDLE_MAX_S);
    else
        return take_folders(up) && cli_machine_check(&up->machine, "up");
    return false;
}

static int parse_and_start(int argc, char **argv, struct up *up)
{
    const GOptionEntry entries[] = {
        { "directory", 'C', 0, G_OPTION_ARG_FILENAME_ARRAY, &up->dirs,
          "a working folder (default: the current one); repeat it for more",
          "DIR" },
        CLI_MACHINE_OPTIONS_BUT_FOLDER(&up->machine),
        CLI_MACHINE_COPY_FOLDER(&up->machine),
        { "idle-timeout", 0, 0, G_OPTION_ARG_INT64, &up->idle_timeout,
          "end when no client and no command was there for S seconds", "S" },
        { NULL },
    };

    for (int i = 1; i < argc; i++)
        up->has_options |= argv[i][0] == '-' && argv[i][1] != '\0' &&
                           strcmp(argv[i], "--") != 0;
    if (!cli_options_parse("[NAME] - start a sandbox in the background, and "
                           "print its name",
                           entries, false, &argc, &argv))
        return CLI_USAGE;
    if (argc > 2)
        return cli_options_surplus("up", argv[2]);
    up->name = argc > 1 ? argv[1] : NULL;
    return check(up) ? start(up) : CLI_USAGE;
}

int cli_up(int argc, char **argv)
{
    struct up up = { .idle_timeout = IDLE_UNSET };
    int status = parse_and_start(argc, argv, &up);

    cli_machine_clear(&up.machine);
    g_strfreev(up.dirs);
    return status;
}
