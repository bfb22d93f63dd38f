/* SPDX-License-Identifier: Apache-2.0
 *
 * launch - see launch.h.
 */
#include "agent/launch.h"

#include "agent/vm_command.h"
#include "interceptor/interceptor.h"

static gboolean find_parts(struct launch *launch,
                           const struct session_config *config, GError **error)
{
    launch->qemu = vm_command_find_qemu(error);
    if (!launch->qemu)
        return FALSE;
    launch->image = guest_image_find(config->image, config->kernel,
                                     config->initrd, config->disk, error);
    if (!launch->image)
        return FALSE;
    if (config->read_only)
        return TRUE;
    launch->undo_dir = config->undo_dir
                           ? g_strdup(config->undo_dir)
                           : ic_default_undo_dir(config->path, error);
    return launch->undo_dir != NULL;
}

struct launch *launch_new(const struct session_config *config, GError **error)
{
    struct launch *launch = g_new0(struct launch, 1);

    if (find_parts(launch, config, error))
        launch->dir = runtime_dir_new(error);
    if (!launch->dir) {
        launch_free(launch);
        return NULL;
    }
    launch->fs_socket = runtime_dir_path(launch->dir, "fs.sock");
    launch->control_socket = runtime_dir_path(launch->dir, "control.sock");
    launch->console = runtime_dir_path(launch->dir, "console.log");
    return launch;
}

void launch_free(struct launch *launch)
{
    if (!launch)
        return;
    runtime_dir_free(launch->dir);
    guest_image_free(launch->image);
    g_free(launch->qemu);
    g_free(launch->undo_dir);
    g_free(launch->fs_socket);
    g_free(launch->control_socket);
    g_free(launch->console);
    g_free(launch);
}
