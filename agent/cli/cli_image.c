/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_image - "stepback image": run the script that builds guest images, list
 * and remove them, and remove what their cache has besides them.
 */
#include <errno.h>
#include <signal.h>
#include <glib.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/base/install_paths.h"
#include "agent/cli/cli.h"
#include "agent/cli/cli_image.h"
#include "agent/cli/cli_image_list.h"
#include "agent/cli/cli_image_rm.h"
#include "agent/cli/cli_options.h"
#include "agent/vm/template_store.h"
#include "agent/vm/vm_disk_store.h"
#include "common/host_environ.h"

/* Variables for reaching mirrors, and for the paths of the image and of
 * temporary files. */
static const char *const variables[] = {
    "STEPBACK_SYSTEM_IMAGES",
    "HOME",
    "TMPDIR",
    "XDG_CACHE_HOME",
    "ALL_PROXY",
    "FTP_PROXY",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "all_proxy",
    "ftp_proxy",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    NULL,
};

bool cli_image_can_build(char **ret_problem, char **ret_remedy)
{
    g_autofree char *builder = install_paths_find_image_builder();
    const char *const argv[] = { builder, "--check", "--flavour=standard",
                                 NULL };
    g_auto(GStrv) env = host_environ_new(variables);
    g_autofree char *text = NULL;
    g_auto(GStrv) lines = NULL;
    int status = 0;

    *ret_problem = *ret_remedy = NULL;
    if (!builder) {
        *ret_problem = g_strdup("the image builder is not installed");
        *ret_remedy = g_strdup("install stepback-guest, or make install");
        return false;
    }
    env = g_environ_setenv(env, "STEPBACK_BUILD_NAME", "build", TRUE);
    if (g_spawn_sync("/", (char **)argv, env, G_SPAWN_STDOUT_TO_DEV_NULL, NULL,
                     NULL, NULL, &text, &status, NULL) &&
        g_spawn_check_wait_status(status, NULL))
        return true;
    lines = g_strsplit(text ? text : "", "\n", 3);
    if (lines[0] && g_str_has_prefix(lines[0], "build: "))
        *ret_problem = g_strdup(lines[0] + strlen("build: "));
    if (*ret_problem && lines[1] && strstr(lines[1], "fix it: "))
        *ret_remedy = g_strdup(strstr(lines[1], "fix it: ") +
                               strlen("fix it: "));
    if (!*ret_problem)
        *ret_problem = g_strdup_printf("cannot run %s", builder);
    return false;
}

static bool is_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

/* The build replaces the root disk that disks of older versions are over. */
static bool keep_bases(char **argv, GError **error)
{
    for (char **word = argv + 1; *word; word++) {
        if (is_help(*word) || strcmp(*word, "--check") == 0)
            return true;
    }
    return vm_disk_store_keep_bases(error) == 0;
}

static int build(char **argv)
{
    g_autofree char *builder = install_paths_find_image_builder();
    g_autofree char *shim = install_paths_find_helper("stepback-shim");
    g_auto(GStrv) env = host_environ_new(variables);
    g_autoptr(GError) error = NULL;

    if (!builder)
        return cli_options_failed(
            "the image builder is not installed; install "
            "stepback-guest, or let STEPBACK_DATADIR name "
            "the folder that has it as guest/build");
    if (!keep_bases(argv, &error))
        return cli_options_failed("image build: a disk of --persist cannot "
                                  "keep its system: %s; 'stepback prune "
                                  "--disks' removes unused disks",
                                  error->message);
    if (shim)
        env = g_environ_setenv(env, "STEPBACK_SHIM", shim, FALSE);
    env = g_environ_setenv(env, "STEPBACK_BUILD_NAME",
                           CLI_PROGRAM " image build", TRUE);
    argv[0] = builder;
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_DFL);
    execve(builder, argv, env);
    return cli_options_failed("cannot run %s: %s", builder, g_strerror(errno));
}

/* The next machines boot, and make templates again. */
static int prune(int argc, char **argv)
{
    guint64 bytes;
    guint count;

    if (argc == 2 && is_help(argv[1])) {
        puts("Usage: " CLI_PROGRAM " image prune\n\n"
             "Remove the templates, from which machines start faster; they are "
             "made again.\n");
        return CLI_OK;
    }
    if (argc > 1)
        return cli_options_wrong("image prune: unexpected argument '%s'",
                                 argv[1]);
    count = template_store_clear(&bytes);
    printf("removed %u template%s, %.1f MiB\n", count, count == 1 ? "" : "s",
           (double)bytes / (1 << 20));
    return CLI_OK;
}

static struct {
    const char *verb;
    int (*run)(int argc, char **argv);
    char name[16]; /* for messages */
} verbs[] = {
    { "list", cli_image_list, "image list" },
    { "rm", cli_image_rm, "image rm" },
    { "prune", prune, "image prune" },
};

int cli_image(int argc, char **argv)
{
    if (argc >= 2 && strcmp(argv[1], "build") == 0)
        return build(argv + 1);
    for (size_t i = 0; argc >= 2 && i < G_N_ELEMENTS(verbs); i++) {
        if (strcmp(argv[1], verbs[i].verb) == 0) {
            argv[1] = verbs[i].name;
            return verbs[i].run(argc - 1, argv + 1);
        }
    }
    if (argc == 2 && is_help(argv[1])) {
        puts("Usage: " CLI_PROGRAM " image build [OPTION...]\n"
             "       " CLI_PROGRAM " image list [OPTION...]\n"
             "       " CLI_PROGRAM " image rm [OPTION...] NAME...\n"
             "       " CLI_PROGRAM " image prune\n\n"
             "Build a guest image ('" CLI_PROGRAM
             " image build --help' lists the options),\nlist or remove images, "
             "or remove the templates of machines.");
        return CLI_OK;
    }
    return cli_options_wrong("image: try '" CLI_PROGRAM
                             " image build', '" CLI_PROGRAM
                             " image list', '" CLI_PROGRAM
                             " image rm' or '" CLI_PROGRAM " image prune'");
}
