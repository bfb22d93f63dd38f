/* SPDX-License-Identifier: Apache-2.0
 *
 * machine_change - see machine_change.h.
 */
#include "agent/machine/machine_change.h"

#include "agent/machine/machine.h"
#include "agent/machine/machine_folders.h"
#include "common/fd.h"
#include "common/log.h"
#include "shim/wire.h"

enum {
    /* The guest's own limit, and time for its answer. */
    MOUNT_LIMIT_MS = WIRE_MOUNT_WAIT_MS + 10000,
    UNMOUNT_LIMIT_MS = 20000,
};

static const char *path_of(const struct machine_folder *folder)
{
    return folder->machine->config->directories[folder->index]->path;
}

/* Answer the request; error: borrowed, or NULL. */
static void finish(struct machine *machine, const GError *error)
{
    struct machine_change change = machine->change;

    g_clear_handle_id(&machine->change.timer, g_source_remove);
    machine->change = (struct machine_change){ 0 };
    change.done(error, change.opaque);
    g_clear_error(&change.error);
}

static gboolean begin(struct machine *machine, GError **error)
{
    if (machine->stage != RUNNING)
        g_set_error_literal(error, STEPBACK_ERROR, ERROR_BUSY,
                            "the machine is starting or stopping");
    else if (machine->change.folder)
        g_set_error_literal(error, STEPBACK_ERROR, ERROR_BUSY,
                            "another folder is being added or removed; wait "
                            "until that ends");
    else
        return TRUE;
    return FALSE;
}

bool machine_change_is_of(const struct machine_folder *folder)
{
    return folder->machine->change.folder == folder;
}

void machine_change_cancel(struct machine *machine)
{
    g_autoptr(GError) error = g_error_new_literal(
        STEPBACK_ERROR, ERROR_CANCELLED, "the machine was stopped");

    if (machine->change.folder)
        finish(machine, error);
}

/* ---- take down ----------------------------------------------------------- */

static void on_daemon_gone(const GError *error, void *opaque)
{
    struct machine_folder *folder = opaque;
    struct machine *machine = folder->machine;
    g_autoptr(GError) reason = g_steal_pointer(&machine->change.error);

    machine_folders_drop(folder);
    if (machine->change.folder)
        finish(machine, reason ? reason : error);
}

static void end_daemon(struct machine_folder *folder)
{
    backends_remove(folder->machine->backends, folder->index, on_daemon_gone,
                    folder);
}

static void on_unplugged(const char *error, void *opaque)
{
    struct machine_folder *folder = opaque;

    if (error) {
        g_autofree char *text = g_strdup_printf(
            "the device of the folder %s stays plugged in until the machine "
            "ends: %s",
            path_of(folder), error);

        machine_warn(folder->machine, NULL, text);
    }
    end_daemon(folder);
}

/* unplug: there is, or may be, a device. */
static void take_down(struct machine_folder *folder, bool unplug)
{
    struct machine *machine = folder->machine;

    g_clear_handle_id(&machine->change.timer, g_source_remove);
    backends_expect_end(machine->backends, folder->index);
    folder->state = FOLDER_LEAVING;
    if (unplug)
        machine->kind->plugs->unplug(machine, folder->slot, on_unplugged,
                                     folder);
    else
        end_daemon(folder);
}

/* Forget a folder that has no daemon. */
static void drop(struct machine_folder *folder, const GError *error)
{
    struct machine *machine = folder->machine;

    if (machine->kind->plugs->open)
        machine->kind->plugs->unplug(machine, folder->slot, NULL, NULL);
    machine_folders_drop(folder);
    finish(machine, error);
}

/* ---- add ----------------------------------------------------------------- */

void machine_change_fail(struct machine *machine, const char *reason)
{
    struct machine_folder *folder = machine->change.folder;

    machine->change.error = g_error_new(STEPBACK_ERROR, ERROR_BACKEND_FAILED,
                                        "the folder %s cannot be added: %.300s",
                                        path_of(folder), reason);
    take_down(folder,
              folder->state >= FOLDER_PLUGGED || machine->kind->plugs->open);
}

static gboolean on_not_mounted(gpointer data)
{
    struct machine *machine = data;

    machine->change.timer = 0;
    machine_change_fail(machine, "the guest did not mount it in time");
    return G_SOURCE_REMOVE;
}

void machine_change_mounted(struct machine *machine)
{
    finish(machine, NULL);
}

static void on_daemon_ready(const GError *error, void *opaque)
{
    struct machine_folder *folder = opaque;
    struct machine *machine = folder->machine;

    if (!machine->change.folder) /* cancelled */
        return;
    if (error) {
        drop(folder, error);
        return;
    }
    machine->change.timer = g_timeout_add(MOUNT_LIMIT_MS, on_not_mounted,
                                          machine);
    machine_folders_plug(folder);
}

/* The daemon alone keeps the folder's /dev/fuse, if it has one. */
static gboolean start_daemon(struct machine_folder *folder, GError **error)
{
    struct machine *machine = folder->machine;
    gboolean ok = backends_add(machine->backends, machine->config,
                               machine->launch, machine->log_level,
                               on_daemon_ready, folder, error);

    fd_close(&machine->launch->fuse_fds[folder->index]);
    return ok;
}

static void on_opened(const char *problem, void *opaque)
{
    struct machine_folder *folder = opaque;
    struct machine *machine = folder->machine;
    g_autoptr(GError) error = NULL;

    if (!machine->change.folder) /* cancelled */
        return;
    if (problem)
        error = g_error_new(STEPBACK_ERROR, ERROR_BACKEND_FAILED,
                            "the folder %s cannot be added: %.300s",
                            path_of(folder), problem);
    if (problem || !start_daemon(folder, &error))
        drop(folder, error);
}

static gboolean open_folder(struct machine_folder *folder, GError **error)
{
    struct machine *machine = folder->machine;

    if (!machine->kind->plugs->open)
        return start_daemon(folder, error);
    machine->kind->plugs->open(machine, folder->index, on_opened, folder);
    return TRUE;
}

gboolean machine_add_folder(struct machine *machine, machine_done done,
                            void *opaque, GError **error)
{
    struct machine_folder *folder;
    int slot;

    if (!begin(machine, error) ||
        !launch_check_added(machine->launch, machine->config, error) ||
        !machine->kind->plugs->check(machine, error))
        return FALSE;
    slot = machine->kind->plugs->find_slot(machine);
    if (slot < 0) {
        g_set_error(error, STEPBACK_ERROR, ERROR_TOO_MANY_DIRECTORIES,
                    "the machine has no slot left for a folder (%d at most, "
                    "and those that the guest did not release); restart it "
                    "with the folders that it needs",
                    SESSION_MAX_DIRECTORIES);
        return FALSE;
    }
    folder = machine_folders_add(machine, (unsigned)slot);
    launch_add_folder(machine->launch, folder->index);
    machine->change = (struct machine_change){
        .folder = folder,
        .done = done,
        .opaque = opaque,
    };
    if (open_folder(folder, error))
        return TRUE;
    machine->change.folder = NULL;
    machine_folders_drop(folder);
    return FALSE;
}

/* ---- remove -------------------------------------------------------------- */

static void refuse(struct machine_folder *folder, const char *reason)
{
    g_autoptr(GError) error = g_error_new(
        STEPBACK_ERROR, ERROR_BUSY,
        "the guest cannot unmount the folder %s: %.300s; end what uses it, or "
        "add --force (\"force\": true in the API)",
        path_of(folder), reason);

    if (folder->machine->kind->plugs->detach)
        backends_expect_no_end(folder->machine->backends, folder->index);
    finish(folder->machine, error);
}

static gboolean on_not_unmounted(gpointer data)
{
    struct machine *machine = data;

    machine->change.timer = 0;
    refuse(machine->change.folder, "it did not answer in time");
    return G_SOURCE_REMOVE;
}

/* Warn that what commands write there stays in the guest. */
static void warn_too_late(struct machine_folder *folder)
{
    g_autofree char *text = g_strdup_printf(
        "the guest has unmounted the folder %s after the time limit; commands "
        "no longer find it: remove it again",
        path_of(folder));

    machine_warn(folder->machine, NULL, text);
}

void machine_change_unmounted(struct machine_folder *folder, const char *error)
{
    folder->state = error ? FOLDER_MOUNTED : FOLDER_PLUGGED;
    if (!machine_change_is_of(folder)) {
        if (!error)
            warn_too_late(folder);
    } else if (error) {
        refuse(folder, error);
    } else {
        take_down(folder, true);
    }
}

/* With force the folder goes in any case: once its daemon has ended, a mount
 * that is left somewhere in the guest answers ENOTCONN. */
static void on_detached(const char *error, void *opaque)
{
    struct machine_folder *folder = opaque;
    struct machine *machine = folder->machine;

    if (machine->stage != RUNNING)
        return;
    if (error && machine_change_is_of(folder) && machine->change.force) {
        log_warn(LOG_SESSION,
                 "the folder %s cannot be unmounted (%s): ending "
                 "its file server",
                 path_of(folder), error);
        error = NULL;
    }
    machine_change_unmounted(folder, error);
}

static void leave(struct machine_folder *folder, bool force)
{
    struct machine *machine = folder->machine;
    const struct machine_plugs *plugs = machine->kind->plugs;

    if (plugs->detach) {
        /* It may end with the mount, before the answer. */
        backends_expect_end(machine->backends, folder->index);
        plugs->detach(machine, folder->slot, folder->index, force, on_detached,
                      folder);
        return;
    }
    guest_channel_unmount(machine_guest(machine),
                          machine->config->directories[folder->index]->tag,
                          force);
}

gboolean machine_remove_folder(struct machine *machine, unsigned index,
                               bool force, machine_done done, void *opaque,
                               GError **error)
{
    struct machine_folder *folder;

    if (!begin(machine, error))
        return FALSE;
    folder = machine->folders[index];
    if (folder->lost || folder->state == FOLDER_UNMOUNTING) {
        g_set_error(error, STEPBACK_ERROR, ERROR_BUSY,
                    "the guest is still remounting or unmounting the folder "
                    "%s; retry later",
                    path_of(folder));
        return FALSE;
    }
    machine->change = (struct machine_change){
        .folder = folder,
        .force = force,
        .done = done,
        .opaque = opaque,
    };
    if (folder->state == FOLDER_PLUGGED) { /* unmounted too late */
        take_down(folder, true);
        return TRUE;
    }
    folder->state = FOLDER_UNMOUNTING;
    machine->change.timer = g_timeout_add(UNMOUNT_LIMIT_MS, on_not_unmounted,
                                          machine);
    leave(folder, force);
    return TRUE;
}
