/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_run - "stepback run": one command in a sandbox over a folder.
 *
 * Uses the same session object as the agent. Output is written when it arrives,
 * and a slow reader blocks the command. Signals still work then, because the
 * handler only counts and wakes the main loop.
 */
#include <errno.h>
#include <glib-unix.h>
#include <glib.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "agent/cli/cli.h"
#include "agent/cli/cli_busy.h"
#include "agent/cli/cli_hints.h"
#include "agent/cli/cli_join.h"
#include "agent/cli/cli_lookup.h"
#include "agent/cli/cli_machine.h"
#include "agent/cli/cli_machine_config.h"
#include "agent/cli/cli_options.h"
#include "agent/cli/cli_place.h"
#include "agent/cli/cli_ports.h"
#include "agent/cli/cli_progress.h"
#include "agent/cli/cli_summary.h"
#include "agent/session/session.h"
#include "agent/machine/machine.h"
#include "common/byte_size.h"
#include "common/inherited.h"
#include "common/log.h"

enum {
    EXIT_INTERRUPTED = 128 + SIGINT,
    WRITE_CHUNK = 4096, /* PIPE_BUF: does not block after POLLOUT */
    WRITE_POLL_MS = 200,
};

struct run {
    const struct cli_machine *machine; /* borrowed */
    GMainLoop *loop;
    struct session *session;
    char *command;
    const char *cwd; /* relative to the folder; NULL: the folder itself */
    gint64 timeout;
    char *undo_hint;
    struct cli_progress *progress;
    bool verbose;
    bool output_broken;
    int seen_interrupts;
    int exit_code;
};

static volatile sig_atomic_t interrupts;
static int wake_fd = -1;

/* ---- signals ------------------------------------------------------------- */

static void on_signal(int number)
{
    int saved = errno;
    static const guint64 one = 1;

    interrupts++;
    if (write(wake_fd, &one, sizeof(one)) < 0)
        interrupts++; /* cannot fail in practice; if it does, end sooner */
    errno = saved;
}

static void stop(struct run *run);

static gboolean on_wake(int fd, GIOCondition condition, gpointer data)
{
    struct run *run = data;
    guint64 count;

    if (read(fd, &count, sizeof(count)) < 0)
        return G_SOURCE_CONTINUE;
    if (run->seen_interrupts > 0 || interrupts > 1) {
        session_kill(run->session);
        stop(run);
    } else if (!session_cancel(run->session)) {
        run->exit_code = EXIT_INTERRUPTED;
        stop(run);
    }
    run->seen_interrupts = interrupts;
    return G_SOURCE_CONTINUE;
}

static bool catch_signals(struct run *run)
{
    static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
    struct sigaction action = { .sa_handler = on_signal,
                                .sa_flags = SA_RESTART };

    wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (wake_fd < 0)
        return false;
    for (size_t i = 0; i < G_N_ELEMENTS(signals); i++) {
        if (!inherited_signal_is_ignored(signals[i]))
            sigaction(signals[i], &action, NULL);
    }
    g_unix_fd_add(wake_fd, G_IO_IN, on_wake, run);
    return true;
}

/* ---- output -------------------------------------------------------------- */

/* Write all data, however slow the reader is, unless a signal arrives. */
static bool write_output(struct run *run, int fd, const char *data, size_t len)
{
    while (len > 0 && interrupts == run->seen_interrupts) {
        struct pollfd p = { .fd = fd, .events = POLLOUT };
        ssize_t n;

        if (poll(&p, 1, WRITE_POLL_MS) <= 0)
            continue;
        n = write(fd, data, MIN(len, (size_t)WRITE_CHUNK));
        if (n < 0 && errno != EINTR && errno != EAGAIN)
            return false;
        if (n > 0) {
            data += n;
            len -= (size_t)n;
        }
    }
    return true;
}

static void take_output(struct run *run, const struct command_output *output)
{
    int fd = output->is_stderr ? STDERR_FILENO : STDOUT_FILENO;

    if (run->output_broken || write_output(run, fd, output->data, output->len))
        return;
    /* The reader has ended ("| head"): a local command would get SIGPIPE. */
    run->output_broken = true;
    run->exit_code = 128 + SIGPIPE;
    session_cancel(run->session);
}

static void take_recovery(json_t *payload)
{
    g_autofree char *text = cli_summary_recovery(payload);

    fprintf(stderr, CLI_PROGRAM ": %s\n", text);
}

/* "doctor" reports a slow machine; a warning on every command would be a
 * nuisance. */
static void take_warning(const struct folder_warning *warning)
{
    if (warning->message && !log_enabled(LOG_LEVEL_WARN) &&
        g_strcmp0(warning->code, MACHINE_SLOW) != 0)
        cli_place_warn(warning->message);
}

static bool on_event(const struct session_event *event, void *opaque)
{
    struct run *run = opaque;

    cli_progress_hide();
    if (event->type == SESSION_EVENT_OUTPUT) {
        take_output(run, event->output);
    } else if (event->type == SESSION_EVENT_STEP_COMPLETED) {
        g_autofree char *line = cli_summary_step(event->report, run->undo_hint);

        fprintf(stderr, CLI_PROGRAM ": %s\n", line);
    } else if (event->type == SESSION_EVENT_WARNING) {
        take_warning(event->warning);
    } else if (event->type == SESSION_EVENT_RELAYED &&
               strcmp(event->name, "event.recovery") == 0) {
        take_recovery(event->payload);
    }
    return true;
}

static const struct session_callbacks callbacks = { .event = on_event };

/* ---- the run ------------------------------------------------------------- */

static void on_stopped(const struct answer *answer, const GError *error,
                       void *opaque)
{
    struct run *run = opaque;

    /* Busy: a stop is already under way and will answer. */
    if (!error || error_code_of(error) != ERROR_BUSY)
        g_main_loop_quit(run->loop);
}

static void stop(struct run *run)
{
    session_stop(run->session, on_stopped, run);
}

static void on_executed(const struct answer *answer, const GError *error,
                        void *opaque)
{
    struct run *run = opaque;

    if (!error && !run->output_broken)
        run->exit_code = answer->report->exit_code;
    else if (error && error_code_of(error) == ERROR_TIMEOUT)
        run->exit_code = CLI_TIMED_OUT;
    else if (error && error_code_of(error) == ERROR_CANCELLED)
        run->exit_code = run->output_broken ? 128 + SIGPIPE : EXIT_INTERRUPTED;
    else if (error)
        run->exit_code = interrupts > 0 ? EXIT_INTERRUPTED : CLI_RUN_FAILED;
    if (error && run->exit_code != 128 + SIGPIPE &&
        run->exit_code != EXIT_INTERRUPTED)
        cli_options_failed("%s", error->message);
    if (!error) {
        cli_summary_tell_oom(answer->report->oom_kills);
        cli_hints_tell_not_found(run->machine, run->exit_code);
    }
    stop(run);
}

static const char *how_it_started(const struct session_status *status)
{
    if (status->config->isolation == ISOLATION_LOCAL)
        return "";
    return status->pooled     ? ", from the pool"
           : status->restored ? ", from its template"
                              : ", booted";
}

static void print_start(const struct run *run)
{
    struct session_status status;

    session_get_status(run->session, &status);
    fprintf(stderr, CLI_PROGRAM ": the sandbox is up after %.1f s%s\n",
            (double)status.boot_ms / 1000, how_it_started(&status));
}

/* Even without --verbose: the host may have chosen a port. */
static void print_ports(const struct run *run)
{
    struct session_status status;

    session_get_status(run->session, &status);
    cli_ports_report(status.config->ports);
}

static void on_started(const struct answer *answer, const GError *error,
                       void *opaque)
{
    struct run *run = opaque;
    struct command *command;

    g_clear_pointer(&run->progress, cli_progress_free);
    if (error) {
        run->exit_code = interrupts > 0 ? EXIT_INTERRUPTED : CLI_RUN_FAILED;
        if (interrupts == 0)
            cli_options_failed("%s", error->message);
        g_main_loop_quit(run->loop);
        return;
    }
    if (run->verbose)
        print_start(run);
    print_ports(run);
    command = command_new(run->command);
    command->cwd = g_strdup(run->cwd);
    command->timeout_seconds = (unsigned)run->timeout;
    session_execute(run->session, command, on_executed, run);
}

/* ---- the command line ---------------------------------------------------- */

struct run_options {
    struct cli_machine machine;
    gint64 timeout;
    char *max_step_size; /* as given, owned; or NULL */
    int64_t max_step_bytes;
    gboolean verbose, separate_log, own;
};

/* A single word is shell text; several are the words of one command. */
static char *build_command(int count, char **words)
{
    GString *command = g_string_new(count == 1 ? words[0] : NULL);

    for (int i = 0; count > 1 && i < count; i++) {
        g_autofree char *word = cli_place_quote(words[i]);

        g_string_append_printf(command, "%s%s", i ? " " : "", word);
    }
    return g_string_free(command, FALSE);
}

/* A limit of the log that is smaller than the step's would limit the step,
 * too. */
static struct session_config *make_config(const struct run_options *options,
                                          GError **error)
{
    struct session_config *config = cli_machine_config(&options->machine,
                                                       error);

    if (config && network_policy_asks(&config->network)) {
        session_config_free(config);
        g_set_error_literal(
            error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
            "--network: ask: needs a sandbox that a user can answer; start one "
            "with '" CLI_PROGRAM " up', and use '" CLI_PROGRAM " exec -it'");
        return NULL;
    }
    if (config && options->max_step_bytes > 0) {
        config->limits = g_new(struct undo_limits, 1);
        *config->limits = UNDO_LIMITS_KEEP;
        config->limits->max_single_step_size = options->max_step_bytes;
        config->limits->max_log_size = -1;
    }
    return config;
}

static const char *what_starts(void *opaque)
{
    const struct run *run = opaque;
    struct session_status status;

    session_get_status(run->session, &status);
    return status.waits_for;
}

/* With --undo-dir, the file server finds whether the log is in use. */
static bool check_new(const struct run_options *options)
{
    const struct cli_place *place = &options->machine.place;

    return !options->own || place->undo_dir ||
           cli_busy_check_new("run", place->dir ? place->dir : ".",
                              place->undo_dir);
}

static int run_command(struct run *run, const struct run_options *options)
{
    g_autoptr(GError) error = NULL;
    struct session_config *config = make_config(options, &error);

    if (!config) {
        cli_options_failed("%s", error->message);
        return CLI_RUN_FAILED;
    }
    if (!check_new(options)) {
        session_config_free(config);
        return CLI_RUN_FAILED;
    }
    if (!catch_signals(run)) {
        session_config_free(config);
        cli_options_failed("cannot make an eventfd: %s", g_strerror(errno));
        return CLI_RUN_FAILED;
    }
    cli_lookup_warn_of_inner(&options->machine.place);
    cli_hints_watch_input();
    run->machine = &options->machine;
    run->loop = g_main_loop_new(NULL, FALSE);
    run->session = session_new(options->verbose ? "info" : "error", &callbacks,
                               run);
    run->undo_hint = cli_place_command(&options->machine.place, "undo");
    run->verbose = options->verbose;
    run->timeout = options->timeout;
    run->cwd = options->machine.place.below;
    if (run->verbose) /* its messages would break into the line */
        fprintf(stderr, CLI_PROGRAM ": starting the sandbox...\n");
    else
        run->progress = cli_progress_new(what_starts, run);
    session_start(run->session, config, on_started, run);
    g_main_loop_run(run->loop);
    cli_progress_free(run->progress);
    session_free(run->session);
    g_main_loop_unref(run->loop);
    g_free(run->undo_hint);
    return run->exit_code;
}

static bool check_options(struct run_options *options)
{
    if (options->max_step_size &&
        !byte_size_parse(options->max_step_size, &options->max_step_bytes)) {
        cli_options_wrong("run: --undo-max-step-size must be a number of "
                          "bytes, such as 500M or 20G, not '%s'",
                          options->max_step_size);
        return false;
    }
    if (options->timeout >= 0 && options->timeout <= SESSION_TIMEOUT_MAX_S)
        return cli_machine_check(&options->machine, "run");
    cli_options_wrong("run: --timeout must be a number of seconds, at most %d",
                      SESSION_TIMEOUT_MAX_S);
    return false;
}

/* Run the command in the sandbox that runs over the folder, if there is one.
 * With -C or --separate-log, only a sandbox of that very folder counts. Return
 * false if there is none. */
static bool join(const struct run_options *options, int count, char **words,
                 int *ret_exit_code)
{
    const char *dir = options->machine.place.dir;
    bool exact = dir || options->separate_log;
    g_autofree char *undo = NULL, *command = NULL;
    g_autoptr(sandbox_record) record = NULL;
    struct cli_join join = { .dir = dir ? dir : ".",
                             .timeout_seconds = options->timeout };

    *ret_exit_code = CLI_RUN_FAILED;
    if (!cli_join_find(join.dir, exact, &record))
        return true;
    if (!record)
        return false;
    if (!cli_join_check(record, &options->machine, false,
                        options->max_step_bytes > 0 ? "--undo-max-step-size"
                                                    : NULL))
        return true;
    if (dir || options->machine.place.undo_dir)
        undo = cli_place_command(&options->machine.place, "undo");
    command = build_command(count, words);
    join.undo_hint = undo;
    join.command = command;
    *ret_exit_code = cli_join_run(record, &options->machine, &join);
    return true;
}

static int parse_and_run(int argc, char **argv, struct run_options *options)
{
    const GOptionEntry entries[] = {
        CLI_MACHINE_OPTIONS(&options->machine),
        { "timeout", 0, 0, G_OPTION_ARG_INT64, &options->timeout,
          "stop the command after S seconds (exit code 124)", "S" },
        { "undo-max-step-size", 0, 0, G_OPTION_ARG_STRING,
          &options->max_step_size,
          "keep up to SIZE of what the command overwrites, such as 20G",
          "SIZE" },
        { "new", 0, 0, G_OPTION_ARG_NONE, &options->own,
          "start a machine, although a sandbox runs over the folder", NULL },
        { "verbose", 'v', 0, G_OPTION_ARG_NONE, &options->verbose,
          "print what stepback does", NULL },
        { "separate-log", 0, 0, G_OPTION_ARG_NONE, &options->separate_log,
          "use a log of this folder alone, although a folder above has one",
          NULL },
        { NULL },
    };
    static const char details[] =
        "One argument after -- is a line for the guest's shell, as in\n"
        "  stepback run -- 'date && uname -a > log'\n"
        "Several arguments are the words of one command, without a shell.\n\n"
        "The exit code is the command's; or 124 (--timeout), 125 (stepback "
        "failed),\n130 (interrupted), 2 (wrong command line).";
    struct run run = { 0 };
    int exit_code;

    if (!cli_options_parse_with("-- CMD [ARG...] - run a command in a virtual "
                                "machine over a folder",
                                details, entries, true, &argc, &argv))
        return CLI_USAGE;
    if (argc < 2)
        return cli_options_wrong("run: the command is missing; for example: "
                                 "stepback run -- ls");
    if (!check_options(options))
        return CLI_USAGE;
    if (!options->own && join(options, argc - 1, argv + 1, &exit_code))
        return exit_code;
    if (!cli_lookup_for_run(&options->machine.place, options->separate_log))
        return CLI_RUN_FAILED;
    log_set_human(CLI_PROGRAM);
    log_set_level(options->verbose ? LOG_LEVEL_INFO : LOG_LEVEL_NONE);
    run.command = build_command(argc - 1, argv + 1);
    exit_code = run_command(&run, options);
    g_free(run.command);
    return exit_code;
}

int cli_run(int argc, char **argv)
{
    struct run_options options = { 0 };
    int exit_code = parse_and_run(argc, argv, &options);

    cli_machine_clear(&options.machine);
    g_free(options.max_step_size);
    return exit_code;
}
