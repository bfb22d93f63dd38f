/* SPDX-License-Identifier: Apache-2.0
 *
 * local_plugs - see local_plugs.h.
 */
#include "agent/local/local_plugs.h"

#include "agent/local/local_check.h"
#include "agent/local/local_machine_state.h"
#include "agent/machine/guest_image.h"
#include "agent/machine/machine_core.h"
#include "agent/machine/share_check.h"

gboolean local_plugs_check_shares(const struct local_machine *own,
                                  const struct session_config *config,
                                  GError **error)
{
    g_autofree char *templates = guest_image_templates();

    return local_check_config(config, error) &&
           share_check_file(config, "bubblewrap", own->bwrap, error) &&
           share_check_file(config, "stepback-local", own->helper, error) &&
           share_check_file(config, "stepback-shim", own->shim, error) &&
           share_check_file(config, "newuidmap", own->ids.newuidmap, error) &&
           share_check_file(config, "newgidmap", own->ids.newgidmap, error) &&
           share_check_file(config, "the folder of templates", templates,
                            error) &&
           local_bus_check_shares(own->bus, config, error) &&
           share_check_file(config, "the image's root file system",
                            own->rootfs.path, error);
}

static gboolean check(const struct machine *machine, GError **error)
{
    return local_plugs_check_shares(machine->state, machine->config, error);
}

static int find_slot(const struct machine *machine)
{
    unsigned taken = 0;

    for (unsigned i = 0; i < machine->n_folders; i++)
        taken |= 1u << machine->folders[i]->slot;
    for (int slot = 0; slot < SESSION_MAX_DIRECTORIES; slot++) {
        if (!(taken & 1u << slot))
            return slot;
    }
    return -1;
}

/* The sandbox runs, and so does bubblewrap. */
static struct local_attach *get_attach(struct machine *machine)
{
    struct local_machine *own = machine->state;

    if (!own->attach)
        own->attach = local_attach_new(own->helper, child_pid(own->child));
    return own->attach;
}

static void open_device(struct machine *machine, unsigned index,
                        machine_plugged done, void *opaque)
{
    const struct session_directory *directory =
        machine->config->directories[index];
    struct local_machine *own = machine->state;

    local_attach_open(get_attach(machine), directory->guest_path,
                      directory->read_only, &machine->launch->fuse_fds[index],
                      &own->devices[machine->folders[index]->slot], done,
                      opaque);
}

static void plug(struct machine *machine, unsigned slot, unsigned index,
                 machine_plugged done, void *opaque)
{
    local_attach_finish(get_attach(machine), done, opaque);
}

static void unplug(struct machine *machine, unsigned slot, machine_plugged done,
                   void *opaque)
{
    local_attach_close(get_attach(machine));
    if (done)
        done(NULL, opaque);
}

static void detach(struct machine *machine, unsigned slot, unsigned index,
                   bool force, machine_plugged done, void *opaque)
{
    const struct local_machine *own = machine->state;

    local_attach_remove(get_attach(machine), own->devices[slot], slot, force,
                        done, opaque);
}

const struct machine_plugs local_plugs = {
    .check = check,
    .find_slot = find_slot,
    .open = open_device,
    .plug = plug,
    .unplug = unplug,
    .detach = detach,
};
