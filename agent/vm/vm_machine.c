/* SPDX-License-Identifier: Apache-2.0
 *
 * vm_machine - see vm_machine.h.
 */
#include "agent/vm/vm_machine.h"

#include "agent/machine/machine_core.h"
#include "agent/machine/share_check.h"
#include "agent/vm/machine_boot.h"
#include "agent/vm/template_maker.h"
#include "agent/vm/template_store.h"
#include "agent/vm/vm_machine_state.h"
#include "agent/vm/vm_start.h"
#include "common/host_program.h"

/* ---- QEMU ---------------------------------------------------------------- */

static void on_vm_exited(struct vm *vm, void *opaque)
{
    struct machine *machine = opaque;
    const struct vm_machine *own = machine->state;
    g_autofree char *end = vm_describe_end(vm);
    g_autofree char *console = vm_console_tail(vm, VM_CONSOLE_MESSAGE);
    bool kvm = machine->stage == BOOTING && own->accel == ACCEL_KVM;
    g_autofree char *text = g_strdup_printf(
        "%s%s%s%s%s", end,
        machine->stage == RUNNING ? "" : ", before the guest was up",
        kvm ? "; the accelerator was set to KVM; 'auto' would fall back to TCG"
            : "",
        *console ? "; its console ends with:\n" : "", console);

    machine->runs = false;
    machine->times.ended = g_get_monotonic_time();
    if (machine->stage == RESTARTING)
        machine_boot_continue(machine);
    else if ((machine->stage != BOOTING && machine->stage != MOUNTING) ||
             !machine_boot_ended(machine))
        machine_ended(machine, text);
}

static void on_port_closed(struct vm *vm, void *opaque)
{
    machine_lost_guest(opaque);
}

static const struct vm_callbacks vm_callbacks = {
    .exited = on_vm_exited,
    .port_closed = on_port_closed,
};

static gboolean start(struct machine *machine, int network_fd, GError **error)
{
    return vm_start_run(machine, network_fd, &vm_callbacks, error);
}

/* ---- the template -------------------------------------------------------- */

static bool is_restored(const struct machine *machine, const char **ret_mac)
{
    const struct vm_machine *own = machine->state;

    *ret_mac = own->restored && machine->network ? own->mac : NULL;
    return own->restored;
}

/* Have the template made for the next machine. */
static void note_ready(struct machine *machine)
{
    struct vm_machine *own = machine->state;
    struct vm_config config = vm_start_config(machine,
                                              machine->network ? 0 : -1);
    g_autoptr(GError) error = NULL;
    g_autofree char *text = NULL;

    if (own->restored || !own->template_key ||
        !guest_channel_renews(vm_guest(own->vm)) ||
        template_store_is_refused(own->template_key))
        return;
    if (template_store_prepare(&error) && template_maker_spawn(&config, &error))
        return;
    text = g_strdup_printf("no template of the machine can be made, so the "
                           "next one boots as well: %s; --no-template avoids "
                           "this note",
                           error->message);
    machine_warn(machine, MACHINE_TEMPLATE, text);
}

/* An address of the locally administered ones, in QEMU's range. */
static char *new_mac(void)
{
    guint32 number = g_random_int();

    return g_strdup_printf("52:54:00:%02x:%02x:%02x", number >> 16 & 0xff,
                           number >> 8 & 0xff, number & 0xff);
}

/* ---- set-up -------------------------------------------------------------- */

/* Refuse shares that contain programs or images that QEMU uses. */
static gboolean check_shares(const struct vm_machine *own,
                             const struct session_config *config,
                             GError **error)
{
    g_autofree char *qemu_img = host_program_find("qemu-img");
    g_autofree char *templates = guest_image_templates();
    const struct {
        const char *what, *path;
    } files[] = {
        { "QEMU", own->qemu },
        { "qemu-img", config->persistent ? qemu_img : NULL },
        { "the guest's kernel", own->image->kernel },
        { "the guest's initrd", own->image->initrd },
        { "the guest's disk", own->image->rootfs },
        { "the folder of templates", templates },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
        if (!share_check_file(config, files[i].what, files[i].path, error))
            return FALSE;
    }
    return TRUE;
}

static gboolean prepare(struct machine *machine, GError **error)
{
    const struct session_config *config = machine->config;
    struct vm_machine *own = g_new0(struct vm_machine, 1);

    machine->state = own;
    own->parts = VM_PARTS_NONE;
    own->mac = new_mac();
    own->qemu = vm_command_find_qemu(error);
    if (!own->qemu)
        return FALSE;
    own->image = guest_image_find(config->image, config->kernel, config->initrd,
                                  config->disk, error);
    if (!own->image || !check_shares(own, config, error))
        return FALSE;
    if (!config->persistent)
        return TRUE;
    own->disk = vm_disk_open(config, own->image, error);
    own->no_template = own->disk && !vm_disk_fits_image(own->disk);
    return own->disk != NULL;
}

static gboolean begin(struct machine *machine, GError **error)
{
    struct vm_machine *own = machine->state;
    g_autofree char *slow = NULL;

    own->accel = accel_choose(machine->config->accel, &slow);
    machine->launch->slow_requests = own->accel == ACCEL_TCG;
    if (!machine_start_backends(machine, error))
        return FALSE;
    if (slow)
        machine_warn(machine, MACHINE_SLOW, slow);
    return TRUE;
}

static void free_state(struct machine *machine)
{
    struct vm_machine *own = machine->state;

    if (!own)
        return;
    vm_free(own->vm);
    vm_parts_close(&own->parts);
    vm_disk_free(own->disk);
    guest_image_free(own->image);
    g_free(own->qemu);
    g_free(own->mac);
    g_free(own->template_key);
    g_free(own);
}

/* ---- the running machine ------------------------------------------------- */

static void stop(struct machine *machine, bool by_guest)
{
    const struct vm_machine *own = machine->state;

    vm_stop(own->vm, by_guest);
}

static void kill_now(struct machine *machine)
{
    const struct vm_machine *own = machine->state;

    vm_kill(own->vm);
}

static void hold(struct machine *machine, bool hold)
{
    const struct vm_machine *own = machine->state;

    vm_hold(own->vm, hold);
}

static bool is_held(const struct machine *machine)
{
    const struct vm_machine *own = machine->state;

    return vm_is_held(own->vm);
}

static struct guest_channel *guest(const struct machine *machine)
{
    const struct vm_machine *own = machine->state;

    return own->vm ? vm_guest(own->vm) : NULL;
}

static struct bulk_port *bulk(const struct machine *machine)
{
    const struct vm_machine *own = machine->state;

    return own->vm ? vm_bulk(own->vm) : NULL;
}

/* ---- folders ------------------------------------------------------------- */

static gboolean check_added(const struct machine *machine, GError **error)
{
    return check_shares(machine->state, machine->config, error);
}

static struct vm_folders *folders(const struct machine *machine)
{
    const struct vm_machine *own = machine->state;

    return vm_folders(own->vm);
}

static int find_slot(const struct machine *machine)
{
    return vm_folders_find_slot(folders(machine));
}

static void plug(struct machine *machine, unsigned slot, unsigned index,
                 machine_plugged done, void *opaque)
{
    vm_folders_plug(folders(machine), slot, machine->launch->fs_sockets[index],
                    machine->config->directories[index]->tag, done, opaque);
}

static void unplug(struct machine *machine, unsigned slot, machine_plugged done,
                   void *opaque)
{
    vm_folders_unplug(folders(machine), slot, done, opaque);
}

static void reconnect(struct machine *machine, unsigned slot, unsigned index,
                      machine_plugged done, void *opaque)
{
    vm_folders_reconnect(folders(machine), slot,
                         machine->launch->fs_sockets[index], done, opaque);
}

static const struct machine_plugs plugs = {
    .check = check_added,
    .find_slot = find_slot,
    .plug = plug,
    .unplug = unplug,
    .reconnect = reconnect,
};

/* ---- facts --------------------------------------------------------------- */

static const char *waits_for(const struct machine *machine)
{
    const struct vm_machine *own = machine->state;

    if (own->pooled)
        return "waking a machine of the pool";
    if (own->restored)
        return "continuing from the machine's template";
    return own->vm && vm_is_up(own->vm) ? "booting the guest kernel"
                                        : "starting QEMU";
}

static char *console_tail(const struct machine *machine)
{
    const struct vm_machine *own = machine->state;

    return own->vm ? vm_console_tail(own->vm, VM_CONSOLE_MESSAGE)
                   : g_strdup("");
}

static const char *disk(const struct machine *machine)
{
    const struct vm_machine *own = machine->state;

    return vm_disk_path(own->disk);
}

static enum accel accel(const struct machine *machine)
{
    const struct vm_machine *own = machine->state;

    return own->accel;
}

static bool is_pooled(const struct machine *machine)
{
    const struct vm_machine *own = machine->state;

    return own->pooled;
}

static GPid holder(const struct machine *machine)
{
    const struct vm_machine *own = machine->state;

    return own->vm ? vm_holder(own->vm) : 0;
}

const struct machine_kind vm_machine_kind = {
    .what = "QEMU",
    .is_system = true,
    .prepare = prepare,
    .free = free_state,
    .begin = begin,
    .choose = vm_start_choose,
    .start = start,
    .watch = machine_boot_watch,
    .recover = machine_boot_recover,
    .restart = machine_boot_continue,
    .is_restored = is_restored,
    .note_ready = note_ready,
    .stop = stop,
    .kill = kill_now,
    .hold = hold,
    .is_held = is_held,
    .guest = guest,
    .bulk = bulk,
    .plugs = &plugs,
    .waits_for = waits_for,
    .console_tail = console_tail,
    .disk = disk,
    .accel = accel,
    .is_pooled = is_pooled,
    .holder = holder,
};
