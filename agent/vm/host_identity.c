/* SPDX-License-Identifier: Apache-2.0
 *
 * host_identity - see host_identity.h.
 *
 * "git config --global" reads ~/.gitconfig, $XDG_CONFIG_HOME/git/config and the
 * files that they include. It runs in "/", with an environment that names no
 * repository.
 */
#include "agent/vm/host_identity.h"

#include <stdbool.h>
#include <string.h>

#include "agent/vm/share_check.h"
#include "common/host_environ.h"
#include "common/host_program.h"
#include "common/log.h"

/* Return whether the guest can write the program or a folder of the user's
 * configuration. */
static bool is_exposed(const char *const *folders, const char *program)
{
    return share_check_find(folders, program) ||
           share_check_find(folders, g_get_home_dir()) ||
           share_check_find(folders, g_get_user_config_dir());
}

/* Run git: lines "file:PATH<tab>KEY VALUE". NULL: there is no identity. */
static char *run_git(const char *const *folders)
{
    static const char *const variables[] = { "HOME", "XDG_CONFIG_HOME", NULL };
    g_autofree char *program = host_program_find("git");
    char **env = host_environ_new(variables);
    char *output = NULL;
    const char *const argv[] = {
        program,
        "config",
        "--global",
        "--includes",
        "--show-origin",
        "--get-regexp",
        "^user\\.(name|email)$",
        NULL,
    };
    int status;

    env = g_environ_setenv(env, "GIT_CONFIG_NOSYSTEM", "1", TRUE);
    env = g_environ_setenv(env, "GIT_DIR", "/dev/null", TRUE);
    if (program && !is_exposed(folders, program) &&
        g_spawn_sync("/", (char **)argv, env, G_SPAWN_STDERR_TO_DEV_NULL, NULL,
                     NULL, &output, NULL, &status, NULL) &&
        !g_spawn_check_wait_status(status, NULL))
        g_clear_pointer(&output, g_free);
    g_strfreev(env);
    return output;
}

/* A later line replaces an earlier one, as in git. */
static void take_line(char *line, const char *const *folders,
                      struct git_identity *identity)
{
    char *tab = strchr(line, '\t');
    char *space = tab ? strchr(tab, ' ') : NULL;
    const char *path = line + strlen("file:");
    char **target;

    /* git quotes a path with special characters; such a file is left out. */
    if (!space || !g_str_has_prefix(line, "file:/"))
        return;
    *tab = *space = '\0';
    target = strcmp(tab + 1, "user.name") == 0 ? &identity->name
                                               : &identity->email;
    if (share_check_find(folders, path)) {
        log_warn(LOG_SESSION,
                 "%s: the guest can write this file; its %s is not passed on",
                 path, tab + 1);
        return;
    }
    if (!git_identity_is_valid(space + 1))
        return;
    g_free(*target);
    *target = g_strdup(space + 1);
}

void host_identity_read(const char *const *folders,
                        struct git_identity *ret_identity)
{
    g_autofree char *output = run_git(folders);
    g_auto(GStrv) lines = output ? g_strsplit(output, "\n", -1) : NULL;

    *ret_identity = (struct git_identity){ 0 };
    for (char **line = lines; line && *line; line++)
        take_line(*line, folders, ret_identity);
}
