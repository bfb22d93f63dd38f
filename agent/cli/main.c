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
#include "agent/cli/cli_options.h"
#include "common/host_environ.h"
#include "common/inherited.h"

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *summary;
} commands[] = {
    { "run", cli_run, "run a command in a virtual machine over a folder" },
    { "up", cli_up, "start a sandbox in the background" },
    { "exec", cli_exec, "run a command in a running sandbox" },
    { "shell", cli_shell, "a login shell in a running sandbox" },
    { "attach", cli_attach, "attach to an execution" },
    { "jobs", cli_jobs, "list the executions of a sandbox" },
    { "job", cli_job, "print the output of an execution, wait for it, end it" },
    { "port", cli_port, "list, add or remove a sandbox's published ports" },
    { "cp", cli_cp, "copy files between the host and a sandbox" },
    { "ps", cli_ps, "list sandboxes" },
    { "inspect", cli_inspect, "print all facts of a sandbox as JSON" },
    { "stats", cli_stats, "print what sandboxes use of this host" },
    { "logs", cli_logs, "print the log of a sandbox" },
    { "stop", cli_stop, "end sandboxes in order" },
    { "kill", cli_kill, "end sandboxes at once" },
    { "rm", cli_rm, "remove sandboxes" },
    { "prune", cli_prune, "remove all sandboxes that do not run" },
    { "supervise", cli_supervise, NULL }, /* internal: "up" starts it */
    { "history", cli_history, "list the steps that can be undone" },
    { "diff", cli_diff, "show what a step changed in files" },
    { "preview", cli_preview, "list what undo would change" },
    { "undo", cli_undo, "undo the newest steps, or restore paths" },
    { "redo", cli_redo, "revert the last undo" },
    { "agent", cli_agent, "serve a frontend on stdin and stdout" },
    { "mcp", cli_mcp, "serve an MCP client on stdin and stdout" },
    { "image", cli_image, "build a guest image: stepback image build" },
    { "doctor", cli_doctor, "check that everything needed is installed" },
};

static void print_usage(FILE *out)
{
    fprintf(out,
            "Usage: " CLI_PROGRAM " COMMAND [OPTIONS]\n"
            "       " CLI_PROGRAM " help [COMMAND] | --help | --version\n\n"
            "Run commands in a virtual machine over a folder, and undo what "
            "they did to it.\n\nCommands:\n");
    for (size_t i = 0; i < G_N_ELEMENTS(commands); i++) {
        if (commands[i].summary)
            fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].summary);
    }
    fprintf(out,
            "\n'" CLI_PROGRAM " COMMAND --help' lists a command's "
            "options.\n\n"
            "Exit codes: 0 done; 1 failed or refused; 2 wrong command line. "
            "\"run\" exits with\nthe command's exit code, or 124: "
            "--timeout expired, 125: " CLI_PROGRAM " itself failed,\n"
            "130: interrupted.\n");
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
    return cli_options_wrong(
        "unknown command '%s'; try '" CLI_PROGRAM " --help'", argv[0]);
}

static bool is_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

/* "help COMMAND" is "COMMAND --help". */
static int help(int argc, char **argv)
{
    char *words[] = { argc > 1 ? argv[1] : NULL, (char *)"--help", NULL };

    if (argc > 2)
        return cli_options_wrong("help: '%s' is one argument too many",
                                 argv[2]);
    if (argc == 2 && !is_help(argv[1]))
        return run_command(2, words);
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
    setlocale(LC_ALL, "");
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a write beyond the limit fails with EFBIG */
    return end_output(start(argc, argv));
}
