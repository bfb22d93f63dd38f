/* SPDX-License-Identifier: Apache-2.0
 *
 * vm_start - see vm_start.h.
 */
#include "agent/vm/vm_start.h"

#include "agent/machine/machine_guest.h"
#include "agent/machine/share_check.h"
#include "agent/vm/pool_client.h"
#include "agent/vm/template_key.h"
#include "agent/vm/template_store.h"
#include "agent/vm/vm_machine_state.h"
#include "common/fd.h"

struct vm_config vm_start_config(const struct machine *machine, int network_fd)
{
    const struct vm_machine *own = machine->state;

    return (struct vm_config){
        .qemu = own->qemu,
        .image = own->image,
        .accel = own->accel,
        .memory_mb = session_config_memory(machine->config),
        .cpus = machine->config->cpus,
        .network_fd = network_fd,
        .keeps_disk = own->disk != NULL,
        .disk = vm_disk_path(own->disk),
        .disk_base = vm_disk_base(own->disk),
        .backend = machine->config->backend,
        .console_path = machine->launch->console,
        .append = machine->config->kernel_append,
        .state_fd = -1,
    };
}

/* ---- choices ------------------------------------------------------------- */

/* A machine with another command line of its kernel has a state of its own. A
 * guest must not write what QEMU loads, even if the user forces the share. */
static bool may_have_template(const struct machine *machine)
{
    const struct session_config *config = machine->config;
    const struct vm_machine *own = machine->state;
    g_autofree char *templates = guest_image_templates();
    g_autofree const char **folders = share_check_writable(config);

    return !config->no_template && !own->no_template &&
           !config->kernel_append && !share_check_find(folders, templates);
}

/* Note the key of the machine's template, if it may have one that works. */
static void find_key(struct machine *machine)
{
    struct vm_machine *own = machine->state;
    bool network = machine->config->network.kind != NETWORK_DISABLED;
    const struct vm_config config = vm_start_config(machine, network ? 0 : -1);

    g_clear_pointer(&own->template_key, g_free);
    if (may_have_template(machine))
        own->template_key = template_key_new(&config);
}

static bool has_key(const struct vm_machine *own)
{
    return own->template_key && !template_store_is_refused(own->template_key);
}

/* Return the open state of the machine's template, or -1. */
static int open_template(struct machine *machine)
{
    const struct vm_machine *own = machine->state;
    g_autoptr(GError) error = NULL;
    int fd;

    if (!has_key(own))
        return -1;
    fd = template_store_open(own->template_key, &error);
    if (error) {
        g_autofree char *text = g_strdup_printf(
            "the machine's template cannot be used (%s); booting without it",
            error->message);

        machine_warn(machine, MACHINE_TEMPLATE, text);
    }
    return fd;
}

/* QEMU opens a machine's disk as it starts. A guest must not be able to put
 * another socket in the place of the pool's. */
static bool may_use_pool(const struct machine *machine)
{
    const struct vm_machine *own = machine->state;
    g_autofree char *path = pool_client_path();
    g_autofree const char **folders = share_check_writable(machine->config);

    return path && !own->disk && !machine->config->no_pool && !own->no_pool &&
           has_key(own) && !share_check_find(folders, path);
}

void vm_start_choose(struct machine *machine)
{
    struct vm_machine *own = machine->state;
    bool network = machine->config->network.kind != NETWORK_DISABLED;
    g_autoptr(GError) error = NULL;

    find_key(machine);
    own->pooled = may_use_pool(machine) &&
                  pool_client_take(own->template_key, network, &own->parts,
                                   &error);
    if (own->pooled)
        machine->tap = fd_steal(&own->parts.network);
    if (error) {
        g_autofree char *text = g_strdup_printf("%s; starting without it",
                                                error->message);

        machine_warn(machine, MACHINE_POOL, text);
    }
}

/* ---- the start ----------------------------------------------------------- */

gboolean vm_start_run(struct machine *machine, int network_fd,
                      const struct vm_callbacks *callbacks, GError **error)
{
    struct vm_machine *own = machine->state;
    struct vm_config config = vm_start_config(machine, network_fd);
    fd_auto int state = own->pooled ? -1 : open_template(machine);

    fd_close(&machine->tap); /* stepback-net has it */
    own->restored = config.is_template = own->pooled || state >= 0;
    config.state_fd = state;
    if (!own->restored)
        config.mac = own->mac;
    if (own->pooled)
        own->vm = vm_adopt(&config, &own->parts, &machine_guest_callbacks,
                           callbacks, machine);
    else
        own->vm = vm_new(&config, &machine_guest_callbacks, callbacks, machine,
                         error);
    /* Its guest has said hello to another host. */
    if (own->vm && own->restored)
        guest_channel_request_hello(vm_guest(own->vm));
    return own->vm != NULL;
}
