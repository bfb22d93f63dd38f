/* SPDX-License-Identifier: Apache-2.0
 *
 * launch - see launch.h.
 */
#include "agent/machine/launch.h"

#include "agent/base/install_paths.h"
#include "agent/base/pager.h"
#include "agent/machine/backend_kind.h"
#include "agent/machine/network.h"
#include "agent/machine/share_check.h"
#include "common/fd.h"
#include "common/host_program.h"

/* Refuse shares that contain programs that every session uses. */
static gboolean check_shares(const struct launch *launch,
                             const struct session_config *config,
                             GError **error)
{
    g_autofree char *diff = host_program_find("diff"), *problem = NULL;
    g_auto(GStrv) pager = pager_find(&problem);
    const struct {
        const char *what, *path;
    } files[] = {
        { "the file system daemon", launch->daemon },
        { "the program for the guest's network", launch->net },
        { "diff(1)", diff },
        { "the pager", pager ? pager[0] : NULL },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
        if (!share_check_file(config, files[i].what, files[i].path, error))
            return FALSE;
    }
    return share_check_self(config, error);
}

static gboolean find_parts(struct launch *launch,
                           const struct session_config *config, GError **error)
{
    launch->daemon = install_paths_find_helper(
        backend_kind_program(config->backend));
    launch->net = config->network.kind == NETWORK_DISABLED
                      ? NULL
                      : install_paths_find_helper(NETWORK_PROGRAM);
    return check_shares(launch, config, error);
}

static struct runtime_dir *make_dir(const struct session_config *config,
                                    GError **error)
{
    const char *shared[SESSION_MAX_DIRECTORIES + 1] = { NULL };

    for (unsigned i = 0; i < config->n_directories; i++)
        shared[i] = config->directories[i]->path;
    return runtime_dir_new(shared, error);
}

struct launch *launch_new(const struct session_config *config, GError **error)
{
    struct launch *launch = g_new0(struct launch, 1);

    for (unsigned i = 0; i < SESSION_MAX_DIRECTORIES; i++)
        launch->fuse_fds[i] = -1;
    if (find_parts(launch, config, error))
        launch->dir = make_dir(config, error);
    if (!launch->dir) {
        launch_free(launch);
        return NULL;
    }
    for (unsigned i = 0; i < config->n_directories; i++)
        launch_add_folder(launch, i);
    launch->console = config->console
                          ? g_strdup(config->console)
                          : runtime_dir_path(launch->dir, "console.log");
    return launch;
}

gboolean launch_check_added(const struct launch *launch,
                            const struct session_config *config, GError **error)
{
    g_autofree char *runtime = runtime_dir_path(launch->dir, "");
    g_autofree char *state = g_build_filename(g_get_user_state_dir(),
                                              "stepback", NULL);

    return check_shares(launch, config, error) &&
           share_check_file(config, "the machine's runtime folder", runtime,
                            error) &&
           share_check_state(config, "the state directory of sandboxes", state,
                             error);
}

void launch_add_folder(struct launch *launch, unsigned index)
{
    unsigned serial = launch->serial++;
    g_autofree char *fs = g_strdup_printf("fs%u.sock", serial);
    g_autofree char *control = g_strdup_printf("control%u.sock", serial);

    launch->fs_sockets[index] = runtime_dir_path(launch->dir, fs);
    launch->control_sockets[index] = runtime_dir_path(launch->dir, control);
}

void launch_drop_folder(struct launch *launch, unsigned index, unsigned count)
{
    g_free(launch->fs_sockets[index]);
    g_free(launch->control_sockets[index]);
    for (; index + 1 < count; index++) {
        launch->fs_sockets[index] = launch->fs_sockets[index + 1];
        launch->control_sockets[index] = launch->control_sockets[index + 1];
    }
    launch->fs_sockets[index] = launch->control_sockets[index] = NULL;
}

void launch_free(struct launch *launch)
{
    if (!launch)
        return;
    runtime_dir_free(launch->dir);
    g_free(launch->daemon);
    g_free(launch->net);
    for (unsigned i = 0; i < SESSION_MAX_DIRECTORIES; i++) {
        fd_close(&launch->fuse_fds[i]);
        g_free(launch->fs_sockets[i]);
        g_free(launch->control_sockets[i]);
    }
    g_free(launch->console);
    g_free(launch);
}
