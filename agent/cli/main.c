/* SPDX-License-Identifier: Apache-2.0
 *
 * stepback - the supervisor and the command line.
 */
#include <config.h>

#include <errno.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <glib.h>

#include "agent/cli/cli.h"
#include "agent/cli/cli_help.h"
#include "agent/cli/cli_options.h"
#include "agent/vm/pool_holder.h"
#include "agent/vm/template_maker.h"
#include "common/host_environ.h"
#include "common/inherited.h"
#include "common/wiped.h"

static const struct cli_command commands[] = {
    { "run", CLI_GROUP_RUN, cli_run,
      "run a command in a sandbox over a folder" },
    { "up", CLI_GROUP_SANDBOX, cli_up, "start a sandbox in the background" },
    { "exec", CLI_GROUP_SANDBOX, cli_exec,
      "run a command in a running sandbox" },
    { "shell", CLI_GROUP_SANDBOX, cli_shell,
      "a login shell in a running sandbox" },
    { "attach", CLI_GROUP_SANDBOX, cli_attach, "attach to an execution" },
    { "jobs", CLI_GROUP_SANDBOX, cli_jobs, "list the executions of a sandbox" },
    { "job", CLI_GROUP_SANDBOX, cli_job,
      "print the output of an execution, wait for it, end it" },
    { "net", CLI_GROUP_SANDBOX, cli_net,
      "print the network connections of a running sandbox" },
    { "port", CLI_GROUP_SANDBOX, cli_port,
      "list, add or remove a sandbox's published ports" },
    { "secret", CLI_GROUP_SANDBOX, cli_secret,
      "list the secrets of a sandbox, without their values" },
    { "folder", CLI_GROUP_SANDBOX, cli_folder,
      "list, add or remove a sandbox's shared folders" },
    { "approve", CLI_GROUP_SANDBOX, cli_approve,
      "list or decide what a sandbox asks for" },
    { "cp", CLI_GROUP_SANDBOX, cli_cp,
      "copy files between the host and a sandbox" },
    { "ps", CLI_GROUP_KEEP, cli_ps, "list sandboxes" },
    { "inspect", CLI_GROUP_KEEP, cli_inspect,
      "print all facts of a sandbox as JSON" },
    { "stats", CLI_GROUP_KEEP, cli_stats,
      "print what sandboxes use of this host" },
    { "logs", CLI_GROUP_KEEP, cli_logs, "print the log of a sandbox" },
    { "audit", CLI_GROUP_KEEP, cli_audit,
      "print the record of what happened in a sandbox" },
    { "stop", CLI_GROUP_KEEP, cli_stop, "end sandboxes in order" },
    { "kill", CLI_GROUP_KEEP, cli_kill, "end sandboxes at once" },
    { "rm", CLI_GROUP_KEEP, cli_rm, "remove sandboxes" },
    { "prune", CLI_GROUP_KEEP, cli_prune,
      "remove all sandboxes that do not run" },
    { "history", CLI_GROUP_UNDO, cli_history,
      "list the steps that can be undone" },
    { "diff", CLI_GROUP_UNDO, cli_diff, "show what a step changed in files" },
    { "preview", CLI_GROUP_UNDO, cli_preview, "list what undo would change" },
    { "undo", CLI_GROUP_UNDO, cli_undo,
      "undo the newest steps, or restore paths" },
    { "redo", CLI_GROUP_UNDO, cli_redo, "revert the last undo" },
    { "mcp", CLI_GROUP_SERVE, cli_mcp,
      "serve an MCP client on stdin and stdout" },
    { "agent", CLI_GROUP_SERVE, cli_agent,
      "serve a frontend on stdin and stdout" },
    { "image", CLI_GROUP_SETUP, cli_image,
      "build a guest image: stepback image build" },
    { "pool", CLI_GROUP_SETUP, cli_pool,
      "keep machines ready for new sandboxes" },
    { "config", CLI_GROUP_SETUP, cli_config,
      "show the defaults of new machines, and where they come from" },
    { "doctor", CLI_GROUP_SETUP, cli_doctor,
      "check that everything needed is installed" },
    { "supervise", CLI_GROUP_SANDBOX, cli_supervise, NULL },   /* of "up" */
    { "copy-worker", CLI_GROUP_SERVE, cli_copy_worker, NULL }, /* of MCP */
    { TEMPLATE_MAKER_VERB, CLI_GROUP_SETUP, cli_make_template, NULL },
    { POOL_HOLDER_VERB, CLI_GROUP_SETUP, cli_hold_machine, NULL },
};

static void print_usage(FILE *out)
{
    cli_help_print(out, commands, G_N_ELEMENTS(commands));
}

static int unknown_command(const char *word)
{
    const struct cli_command *guess = cli_help_guess(word, commands,
                                                     G_N_ELEMENTS(commands));

    if (guess)
        return cli_options_wrong(
            "unknown command '%s'; did you mean '" CLI_PROGRAM " %s'?", word,
            guess->name);
    return cli_options_wrong(
        "unknown command '%s'; '" CLI_PROGRAM " help' lists them", word);
}

static int run_command(int argc, char **argv)
{
    for (size_t i = 0; i < G_N_ELEMENTS(commands); i++) {
        if (strcmp(argv[0], commands[i].name) == 0)
            return commands[i].run(argc, argv);
    }
    if (argv[0][0] == '-')
        return cli_options_wrong(
            "unknown option '%s'; options come after the command: " CLI_PROGRAM
            " COMMAND [OPTIONS]",
            argv[0]);
    return unknown_command(argv[0]);
}

static bool is_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

/* "help COMMAND" is "COMMAND --help"; a command such as "image build" has two
 * words. */
static int help(int argc, char **argv)
{
    bool two = argc == 3 && strcmp(argv[1], "image") == 0;
    char *words[] = { argc > 1 ? argv[1] : NULL, two ? argv[2] : NULL, NULL,
                      NULL };

    if (argc > 2 && !two)
        return cli_options_surplus("help", argv[2]);
    if (argc >= 2 && !is_help(argv[1])) {
        words[argc - 1] = (char *)"--help";
        return run_command(argc, words);
    }
    print_usage(stdout);
    return CLI_OK;
}

/* Report output that could not be written. A reader that has ended ("| head")
 * is not an error; SIGPIPE ends a program there. */
static int end_output(int status)
{
    struct pollfd reader = { .fd = STDOUT_FILENO };
    bool failed = fflush(stdout) != 0;
    int number = errno;

    if (!failed && !ferror(stdout))
        return status;
    if (poll(&reader, 1, 0) > 0 && (reader.revents & (POLLERR | POLLHUP)))
        return status == CLI_OK ? 128 + SIGPIPE : status;
    cli_options_failed("cannot write all of the output%s%s", failed ? ": " : "",
                       failed ? g_strerror(number) : "");
    return status == CLI_OK ? CLI_FAILED : status;
}

static int start(int argc, char **argv)
{
    if (argc < 2) {
        print_usage(stderr);
        return CLI_USAGE;
    }
    if (is_help(argv[1])) {
        print_usage(stdout);
        return CLI_OK;
    }
    if (strcmp(argv[1], "help") == 0)
        return help(argc - 1, argv + 1);
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        printf(CLI_PROGRAM " " PACKAGE_VERSION "\n");
        return CLI_OK;
    }
    return run_command(argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
    if (!inherited_streams_fill())
        return CLI_FAILED;
    host_environ_restrict();
    wiped_json(); /* values of secrets */
    setlocale(LC_ALL, "");
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a write beyond the limit fails with EFBIG */
    return end_output(start(argc, argv));
}
