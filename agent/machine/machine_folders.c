/* SPDX-License-Identifier: Apache-2.0
 *
 * machine_folders - see machine_folders.h.
 */
#include "agent/machine/machine_folders.h"

#include <string.h>

#include "agent/machine/machine.h"
#include "agent/machine/machine_change.h"
#include "common/log.h"

/* Limit on lost connections per period. A guest that exceeds it breaks them on
 * purpose. */
enum { LOSSES_MAX = 16, LOSSES_S = 60 };

static struct session_directory *directory_of(const struct machine_folder *of)
{
    return of->machine->config->directories[of->index];
}

static bool is_up(const struct machine *machine)
{
    return machine->stage == RUNNING || machine->stage == MOUNTING;
}

/* Return the folder with this tag, or NULL. */
static struct machine_folder *find(struct machine *machine, const char *tag)
{
    for (unsigned i = 0; i < machine->n_folders; i++) {
        if (strcmp(tag, directory_of(machine->folders[i])->tag) == 0)
            return machine->folders[i];
    }
    return NULL;
}

static void fail_to_mount(struct machine_folder *folder, enum error_code code,
                          const char *reason)
{
    g_autofree char *text = g_strdup_printf(
        "the guest could not mount the working folder %s: %.300s",
        directory_of(folder)->path, reason);

    if (machine_change_is_of(folder))
        machine_change_fail(folder->machine, reason);
    else
        machine_fail_guest(folder->machine, code, text);
}

/* ---- mount --------------------------------------------------------------- */

static void mount_folder(struct machine_folder *folder)
{
    struct machine *machine = folder->machine;
    const struct session_directory *directory = directory_of(folder);

    guest_channel_mount(
        machine_guest(machine), directory->tag, directory->guest_path,
        backend_kind_name(machine->config->backend), directory->read_only);
}

/* Mount the next folder, one at a time, so that the guest's answer belongs to
 * the last request. */
static void mount_next(struct machine *machine)
{
    unsigned i = 0;

    while (i < machine->n_folders &&
           machine->folders[i]->state == FOLDER_MOUNTED)
        i++;
    if (i == machine->n_folders) {
        machine->mounted(machine);
        return;
    }
    if (machine->folders[i]->state != FOLDER_PLUGGED)
        return;
    machine->folders[i]->state = FOLDER_MOUNTING;
    mount_folder(machine->folders[i]);
}

static void on_plugged(const char *error, void *opaque)
{
    struct machine_folder *folder = opaque;

    if (!is_up(folder->machine))
        return;
    if (error) {
        fail_to_mount(folder, ERROR_VM_LAUNCH_FAILED, error);
        return;
    }
    if (folder->machine->kind->plugs->detach) {
        folder->state = FOLDER_MOUNTED;
        machine_change_mounted(folder->machine);
        return;
    }
    folder->state = FOLDER_PLUGGED;
    mount_next(folder->machine);
}

struct machine_folder *machine_folders_add(struct machine *machine,
                                           unsigned slot)
{
    struct machine_folder *folder = g_new0(struct machine_folder, 1);

    folder->machine = machine;
    folder->index = machine->n_folders++;
    folder->slot = slot;
    machine->folders[folder->index] = folder;
    return folder;
}

void machine_folders_plug(struct machine_folder *folder)
{
    struct machine *machine = folder->machine;

    backends_note_used(machine->backends, folder->index);
    machine->kind->plugs->plug(machine, folder->slot, folder->index, on_plugged,
                               folder);
}

void machine_folders_mount(struct machine *machine,
                           void (*mounted)(struct machine *machine))
{
    machine->mounted = mounted;
    for (unsigned i = 0; i < machine->config->n_directories; i++)
        machine_folders_plug(machine_folders_add(machine, i));
}

void machine_folders_note_mounted(struct machine *machine)
{
    for (unsigned i = 0; i < machine->config->n_directories; i++)
        machine_folders_add(machine, i)->state = FOLDER_MOUNTED;
}

void machine_folders_drop(struct machine_folder *folder)
{
    struct machine *machine = folder->machine;

    launch_drop_folder(machine->launch, folder->index, machine->n_folders);
    machine->n_folders--;
    for (unsigned i = folder->index; i < machine->n_folders; i++) {
        machine->folders[i] = machine->folders[i + 1];
        machine->folders[i]->index = i;
    }
    g_free(folder);
}

void machine_folders_clear(struct machine *machine)
{
    while (machine->n_folders > 0)
        g_free(machine->folders[--machine->n_folders]);
}

void machine_folders_on_mounted(const char *tag, const char *error,
                                void *opaque)
{
    struct machine *machine = opaque;
    struct machine_folder *folder = find(machine, tag);

    if (folder && folder->lost && is_up(machine)) {
        folder->lost = false;
        if (error)
            fail_to_mount(folder, ERROR_BACKEND_FAILED, error);
        return;
    }
    if (!folder || !is_up(machine) || folder->state != FOLDER_MOUNTING) {
        guest_channel_complain(machine_guest(machine), "mounted out of place");
        return;
    }
    if (error) {
        fail_to_mount(folder, ERROR_VM_LAUNCH_FAILED, error);
        return;
    }
    folder->state = FOLDER_MOUNTED;
    if (guest_channel_refreshes(machine_guest(machine)))
        backends_keep_names(machine->backends, folder->index);
    if (machine_change_is_of(folder))
        machine_change_mounted(machine);
    else
        mount_next(machine);
}

/* ---- changed names ------------------------------------------------------- */

void machine_folders_refresh(struct machine *machine, unsigned index, gint64 id,
                             json_t *message)
{
    const struct session_directory *directory =
        machine->config->directories[index];
    struct machine_folder *folder = find(machine, directory->tag);

    if (is_up(machine) && folder &&
        (folder->state == FOLDER_MOUNTED ||
         folder->state == FOLDER_UNMOUNTING) &&
        guest_channel_refreshes(machine_guest(machine)))
        guest_channel_refresh(machine_guest(machine), directory->tag, message);
    else
        backends_told_names(machine->backends, index, id, false);
}

void machine_folders_on_refreshed(const char *tag, gint64 id, const char *error,
                                  void *opaque)
{
    struct machine *machine = opaque;
    struct machine_folder *folder = find(machine, tag);

    if (!folder || !backends_told_names(machine->backends, folder->index, id,
                                        error == NULL)) {
        guest_channel_complain(machine_guest(machine),
                               "refreshed out of place");
        return;
    }
    if (error)
        log_warn(LOG_SESSION, "the guest cannot look at names again: %.300s",
                 error);
}

/* ---- unmount ------------------------------------------------------------- */

void machine_folders_on_left(const char *tag, const char *error, void *opaque)
{
    struct machine *machine = opaque;
    struct machine_folder *folder = find(machine, tag);

    if (!folder || machine->stage != RUNNING ||
        folder->state != FOLDER_UNMOUNTING)
        guest_channel_complain(machine_guest(machine),
                               "unmounted out of place");
    else
        machine_change_unmounted(folder, error);
}

/* ---- lost connections ---------------------------------------------------- */

/* Return whether a folder's connection breaks too often. */
static bool is_hopeless(struct machine *machine)
{
    gint64 now = g_get_monotonic_time();

    if (now - machine->first_loss > LOSSES_S * G_TIME_SPAN_SECOND) {
        machine->first_loss = now;
        machine->losses = 0;
    }
    return ++machine->losses > LOSSES_MAX;
}

static void on_reconnected(const char *error, void *opaque)
{
    struct machine_folder *folder = opaque;

    if (!is_up(folder->machine) || !folder->lost)
        return;
    if (error)
        fail_to_mount(folder, ERROR_BACKEND_FAILED, error);
    else
        mount_folder(folder);
}

/* The guest's pump was killed, or the daemon refused its data. The old
 * connection may have ended within a message, so the port gets a new connection
 * before the remount. If the daemon has ended, its own event reports it. */
void machine_folders_on_unmounted(const char *tag, const char *reason,
                                  void *opaque)
{
    struct machine *machine = opaque;
    struct machine_folder *folder = find(machine, tag);
    g_autofree char *text = NULL;

    if (!is_up(machine))
        return;
    if (machine->config->backend != BACKEND_9P || !folder || folder->lost ||
        folder->state != FOLDER_MOUNTED) {
        guest_channel_complain(machine_guest(machine),
                               "unmounted out of place");
        return;
    }
    if (is_hopeless(machine)) {
        fail_to_mount(folder, ERROR_BACKEND_FAILED,
                      "its connection breaks repeatedly");
        return;
    }
    folder->lost = true;
    text = g_strdup_printf("the guest has lost its connection to the working "
                           "folder %s (%.300s); remounting it",
                           directory_of(folder)->path, reason);
    machine_warn(machine, MACHINE_RECONNECTS, text);
    machine->kind->plugs->reconnect(machine, folder->slot, folder->index,
                                    on_reconnected, folder);
}
