/* SPDX-License-Identifier: Apache-2.0
 *
 * template_spawn - the process of template_maker.h: how it is started, and what
 * it gets.
 */
#include "agent/vm/template_maker.h"

#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/base/install_paths.h"
#include "common/errors.h"

/* linux/ioprio.h, which is newer than Debian 12's headers. */
enum { IOPRIO_OF_PROCESS = 1, IOPRIO_IDLE = 3 << 13 };

/* The arguments, in order. */
enum {
    QEMU = 1,
    KERNEL,
    INITRD,
    ROOTFS,
    APPEND,
    ACCEL,
    MEMORY,
    CPUS,
    BACKEND,
    NETWORK,
    KEEPS_DISK,
    ARGUMENTS
};

/* In the child, which has no other fds than 0, 1 and 2. Makes only system
 * calls. */
static void lower(gpointer data)
{
    setsid();
    setpriority(PRIO_PROCESS, 0, 19);
    syscall(SYS_ioprio_set, IOPRIO_OF_PROCESS, 0, IOPRIO_IDLE);
}

static char *text_of(const char *text)
{
    return (char *)(text ? text : "");
}

gboolean template_maker_spawn_as(const char *verb, const char *last,
                                 const struct vm_config *config,
                                 GSpawnChildSetupFunc prepare, gpointer opaque,
                                 GError **error)
{
    g_autofree char *self = install_paths_self();
    g_autofree char *memory = g_strdup_printf("%u", config->memory_mb);
    g_autofree char *cpus = g_strdup_printf("%u", config->cpus);
    g_autoptr(GError) cause = NULL;
    char *argv[1 + ARGUMENTS + 2] = {
        self,
        (char *)verb,
        [1 + QEMU] = text_of(config->qemu),
        [1 + KERNEL] = text_of(config->image->kernel),
        [1 + INITRD] = text_of(config->image->initrd),
        [1 + ROOTFS] = text_of(config->image->rootfs),
        [1 + APPEND] = text_of(config->image->append),
        [1 + ACCEL] = text_of(accel_name(config->accel)),
        [1 + MEMORY] = memory,
        [1 + CPUS] = cpus,
        [1 + BACKEND] = text_of(backend_kind_name(config->backend)),
        [1 + NETWORK] = text_of(config->network_fd >= 0 ? "1" : "0"),
        [1 + KEEPS_DISK] = text_of(config->keeps_disk ? "1" : "0"),
        [1 + ARGUMENTS] = (char *)last,
    };

    /* GLib forks twice, so nothing has to be reaped. */
    if (g_spawn_async("/", argv, NULL,
                      G_SPAWN_STDOUT_TO_DEV_NULL | G_SPAWN_STDERR_TO_DEV_NULL,
                      prepare, opaque, NULL, &cause))
        return TRUE;
    g_set_error(error, STEPBACK_ERROR, ERROR_VM_LAUNCH_FAILED,
                "cannot run %s: %s", self, cause->message);
    return FALSE;
}

gboolean template_maker_spawn(const struct vm_config *config, GError **error)
{
    return template_maker_spawn_as(TEMPLATE_MAKER_VERB, NULL, config, lower,
                                   NULL, error);
}

static char *given(char *text)
{
    return *text ? text : NULL;
}

bool template_maker_parse(int argc, char **argv, struct guest_image *ret_image,
                          struct vm_config *ret_config)
{
    if (argc != ARGUMENTS)
        return false;
    *ret_image = (struct guest_image){
        .kernel = argv[KERNEL],
        .initrd = given(argv[INITRD]),
        .rootfs = given(argv[ROOTFS]),
        .append = argv[APPEND],
    };
    *ret_config = (struct vm_config){
        .qemu = argv[QEMU],
        .image = ret_image,
        .memory_mb = (unsigned)g_ascii_strtoull(argv[MEMORY], NULL, 10),
        .cpus = (unsigned)g_ascii_strtoull(argv[CPUS], NULL, 10),
        .network_fd = strcmp(argv[NETWORK], "1") == 0 ? 0 : -1,
        .keeps_disk = strcmp(argv[KEEPS_DISK], "1") == 0,
        .state_fd = -1,
    };
    return accel_parse(argv[ACCEL], &ret_config->accel) &&
           backend_kind_parse(argv[BACKEND], &ret_config->backend);
}
