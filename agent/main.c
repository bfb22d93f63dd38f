/* SPDX-License-Identifier: Apache-2.0
 *
 * stepback - the agent, and the command line for people.
 */
#include <config.h>

#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include <glib.h>

#include "agent/cli.h"
#include "agent/cli_options.h"

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *summary;
} commands[] = {
    { "run", cli_run, "run a command in a virtual machine over a folder" },
    { "history", cli_history, "list the steps that can be undone" },
    { "undo", cli_undo, "take back the newest steps" },
    { "redo", cli_redo, "bring back what was undone last" },
    { "agent", cli_agent, "serve a frontend on stdin and stdout" },
    { "image", cli_image, "build a guest image: stepback image build" },
    { "doctor", cli_doctor, "check that everything needed is there" },
};

static void print_usage(FILE *out)
{
    fprintf(out,
            "Usage: " CLI_PROGRAM " COMMAND [OPTIONS]\n"
            "       " CLI_PROGRAM " --help | --version\n\n"
            "Runs commands in a virtual machine over a folder of yours, and "
            "takes back what\nthey did to it.\n\nCommands:\n");
    for (size_t i = 0; i < G_N_ELEMENTS(commands); i++)
        fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].summary);
    fprintf(out, "\n'" CLI_PROGRAM " COMMAND --help' lists a command's "
                 "options.\n");
}

int main(int argc, char **argv)
{
    setlocale(LC_ALL, "");
    signal(SIGPIPE, SIG_IGN);
    if (argc < 2) {
        print_usage(stderr);
        return CLI_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        print_usage(stdout);
        return CLI_OK;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf(CLI_PROGRAM " " PACKAGE_VERSION "\n");
        return CLI_OK;
    }
    for (size_t i = 0; i < G_N_ELEMENTS(commands); i++) {
        if (strcmp(argv[1], commands[i].name) == 0)
            return commands[i].run(argc - 1, argv + 1);
    }
    return cli_options_wrong(
        "unknown command '%s'; try '" CLI_PROGRAM " --help'", argv[1]);
}
