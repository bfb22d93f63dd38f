/* SPDX-License-Identifier: Apache-2.0
 *
 * network_process - see network_process.h.
 */
#include "agent/machine/network_process.h"

#include "agent/base/install_paths.h"
#include "common/errors.h"

static gboolean complain(const struct network_process *process, GError **error)
{
    g_autofree char *missing = install_paths_describe_missing(process->name);

    g_set_error(error, STEPBACK_ERROR, ERROR_VM_LAUNCH_FAILED,
                "the guest's network: %s", missing);
    return FALSE;
}

struct child *network_process_spawn(const struct network_process *process,
                                    const struct child_callbacks *callbacks,
                                    void *opaque, GError **error)
{
    g_autoptr(GPtrArray) argv = g_ptr_array_new_with_free_func(g_free);
    int fds[NETWORK_PROCESS_FDS];
    size_t count = 0;

    if (!process->path && !complain(process, error))
        return NULL;
    g_ptr_array_add(argv, g_strdup(process->path));
    for (; count < NETWORK_PROCESS_FDS && process->fds[count].option; count++) {
        fds[count] = process->fds[count].fd;
        g_ptr_array_add(
            argv,
            g_strdup_printf("--%s=%d", process->fds[count].option, fds[count]));
    }
    g_ptr_array_add(argv,
                    g_strdup_printf("--log-level=%s", process->log_level));
    g_ptr_array_add(argv, NULL);
    return child_spawn((const char *const *)argv->pdata, fds, count, callbacks,
                       opaque, error);
}
