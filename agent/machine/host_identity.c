/* SPDX-License-Identifier: Apache-2.0
 *
 * host_identity - see host_identity.h.
 *
 * git reads the files that a configuration includes before anything can be said
 * about them, even with --no-includes. So it is given one file at a time, which
 * the guest cannot write, and reads no other: it runs in "/", without global
 * and system configuration, and with an environment that names no repository.
 */
#include "agent/machine/host_identity.h"

#include <stdbool.h>
#include <string.h>

#include "agent/machine/share_check.h"
#include "common/host_environ.h"
#include "common/host_program.h"
#include "common/log.h"

/* Return git's output, lines "KEY VALUE"; NULL: it failed. */
static char *run_git(const char *program, const char *file)
{
    static const char *const variables[] = { NULL };
    char **env = host_environ_new(variables);
    char *output = NULL;
    const char *const argv[] = {
        program,
        "config",
        "--file",
        file,
        "--no-includes",
        "--get-regexp",
        "^user\\.(name|email)$",
        NULL,
    };
    int status;

    env = g_environ_setenv(env, "GIT_CONFIG_NOSYSTEM", "1", TRUE);
    env = g_environ_setenv(env, "GIT_CONFIG_GLOBAL", "/dev/null", TRUE);
    env = g_environ_setenv(env, "GIT_DIR", "/dev/null", TRUE);
    if (g_spawn_sync("/", (char **)argv, env, G_SPAWN_STDERR_TO_DEV_NULL, NULL,
                     NULL, &output, NULL, &status, NULL) &&
        !g_spawn_check_wait_status(status, NULL))
        g_clear_pointer(&output, g_free);
    g_strfreev(env);
    return output;
}

/* A later line replaces an earlier one, as in git. */
static void take_line(const char *line, struct git_identity *identity)
{
    const char *value = strchr(line, ' ');
    char **target = g_str_has_prefix(line, "user.name ") ? &identity->name
                                                         : &identity->email;

    if (!value || !git_identity_is_valid(value + 1))
        return;
    g_free(*target);
    *target = g_strdup(value + 1);
}

static void read_file(const char *program, const char *file,
                      const char *const *folders, struct git_identity *identity)
{
    g_autofree char *output = NULL;
    g_auto(GStrv) lines = NULL;

    if (!g_file_test(file, G_FILE_TEST_IS_REGULAR))
        return;
    if (share_check_find(folders, file)) {
        log_warn(LOG_SESSION,
                 "%s: the guest can write this file; the identity in it is not "
                 "passed on",
                 file);
        return;
    }
    output = run_git(program, file);
    lines = output ? g_strsplit(output, "\n", -1) : NULL;
    for (char **line = lines; line && *line; line++)
        take_line(*line, identity);
}

void host_identity_read(const char *const *folders,
                        struct git_identity *ret_identity)
{
    g_autofree char *program = host_program_find("git");
    g_autofree char *xdg = g_build_filename(g_get_user_config_dir(), "git",
                                            "config", NULL);
    g_autofree char *own = g_build_filename(g_get_home_dir(), ".gitconfig",
                                            NULL);

    *ret_identity = (struct git_identity){ 0 };
    if (!program || share_check_find(folders, program))
        return;
    read_file(program, xdg, folders, ret_identity);
    read_file(program, own, folders, ret_identity);
}
