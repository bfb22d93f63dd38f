/* SPDX-License-Identifier: Apache-2.0
 *
 * vm_folders - see vm_folders.h.
 *
 * Plugging: chardev-add, device_add. Unplugging: device_del, QEMU's event
 * DEVICE_DELETED once the guest has released a PCI device, chardev-remove. The
 * monitor is idle while QEMU connects to a daemon, and a guest may never
 * release a device, so each request has a time limit.
 */
#include "agent/vm/vm_folders.h"

#include <glib.h>
#include <string.h>

#include "shim/wire.h"

/* The length of the daemon's request queue; QEMU's default of 128 makes the
 * guest wait. */
#define FS_QUEUE_SIZE 1024

enum { LIMIT_S = 10 };

enum state { IDLE, PLUGGING, UNPLUGGING, RECONNECTING };

struct slot {
    struct vm_folders *all;
    char *chardev, *device;
    enum state state;
    char *error;   /* the first one of this request, or NULL */
    bool taken;    /* it has a device, or may get one */
    bool deleted;  /* QEMU has removed the device */
    bool accepted; /* QEMU has accepted device_del */
    guint timer;
    vm_folder_done done; /* NULL: no request, or it has been answered */
    void *opaque;
};

struct vm_folders {
    struct qmp *qmp;
    enum backend_kind kind;
    struct slot slots[VM_FOLDER_SLOTS];
};

struct vm_folders *vm_folders_new(struct qmp *qmp, enum backend_kind kind)
{
    struct vm_folders *folders = g_new0(struct vm_folders, 1);

    folders->qmp = qmp;
    folders->kind = kind;
    for (unsigned i = 0; i < VM_FOLDER_SLOTS; i++) {
        folders->slots[i].all = folders;
        folders->slots[i].chardev = g_strdup_printf("fs%u", i);
        folders->slots[i].device = g_strdup_printf("folder%u", i);
    }
    return folders;
}

void vm_folders_free(struct vm_folders *folders)
{
    if (!folders)
        return;
    for (unsigned i = 0; i < VM_FOLDER_SLOTS; i++) {
        struct slot *slot = &folders->slots[i];

        g_clear_handle_id(&slot->timer, g_source_remove);
        g_free(slot->chardev);
        g_free(slot->device);
        g_free(slot->error);
    }
    g_free(folders);
}

int vm_folders_find_slot(const struct vm_folders *folders)
{
    for (int i = 0; i < VM_FOLDER_SLOTS; i++) {
        if (!folders->slots[i].taken && folders->slots[i].state == IDLE)
            return i;
    }
    return -1;
}

/* ---- requests ------------------------------------------------------------ */

static void answer(struct slot *slot, const char *error)
{
    vm_folder_done done = slot->done;

    g_clear_handle_id(&slot->timer, g_source_remove);
    slot->done = NULL;
    if (done)
        done(error, slot->opaque);
}

/* QEMU's last answer to the request has come. */
static void finish(struct slot *slot)
{
    g_autofree char *error = g_steal_pointer(&slot->error);

    slot->state = IDLE;
    answer(slot, error);
}

static gboolean on_late(gpointer data)
{
    static const char *const texts[] = {
        [PLUGGING] = "QEMU did not connect to the file server in time",
        [UNPLUGGING] = "the guest did not release the device in time",
        [RECONNECTING] = "QEMU did not connect to the file server in time",
    };
    struct slot *slot = data;

    slot->timer = 0;
    answer(slot, texts[slot->state]);
    return G_SOURCE_REMOVE;
}

/* Return false, and answer, if the slot has an unfinished request. */
static bool begin(struct slot *slot, enum state state, vm_folder_done done,
                  void *opaque)
{
    if (slot->state != IDLE) {
        done("an earlier request for its device did not end", opaque);
        return false;
    }
    slot->state = state;
    slot->deleted = slot->accepted = false;
    slot->done = done;
    slot->opaque = opaque;
    slot->timer = g_timeout_add_seconds(LIMIT_S, on_late, slot);
    return true;
}

static void note_error(struct slot *slot, const char *error)
{
    if (error && !slot->error)
        slot->error = g_strdup(error);
}

static json_t *socket_backend(const char *path, enum backend_kind kind)
{
    json_t *data = json_pack("{s:{s:s, s:{s:s}}, s:b}", "addr", "type", "unix",
                             "data", "path", path, "server", 0);

    if (kind == BACKEND_9P)
        json_object_set_new(data, "reconnect", json_integer(1));
    return json_pack("{s:s, s:o}", "type", "socket", "data", data);
}

static void remove_chardev(struct slot *slot, qmp_done done)
{
    qmp_request(slot->all->qmp, "chardev-remove",
                json_pack("{s:s}", "id", slot->chardev), done, slot);
}

/* ---- plug ---------------------------------------------------------------- */

static void on_chardev_added(const char *error, void *opaque)
{
    note_error(opaque, error);
}

static void on_device_added(const char *error, void *opaque)
{
    struct slot *slot = opaque;

    if (error && !slot->error)
        remove_chardev(slot, NULL);
    note_error(slot, error);
    slot->taken = !slot->error;
    finish(slot);
}

static json_t *device_arguments(const struct slot *slot, unsigned index,
                                const char *tag)
{
    g_autofree char *port = g_strdup_printf(VM_FOLDER_PORT, index);
    g_autofree char *name = g_strconcat(WIRE_9P_PORT_PREFIX, tag, NULL);

    if (slot->all->kind == BACKEND_VIRTIOFS)
        return json_pack("{s:s, s:s, s:s, s:s, s:s, s:i}", "driver",
                         "vhost-user-fs-pci", "id", slot->device, "bus", port,
                         "chardev", slot->chardev, "tag", tag, "queue-size",
                         FS_QUEUE_SIZE);
    /* One port carries one mount (doc/design.md, 4). */
    return json_pack("{s:s, s:s, s:s, s:s}", "driver", "virtserialport", "id",
                     slot->device, "chardev", slot->chardev, "name", name);
}

void vm_folders_plug(struct vm_folders *folders, unsigned index,
                     const char *socket, const char *tag, vm_folder_done done,
                     void *opaque)
{
    struct slot *slot = &folders->slots[index];

    if (!begin(slot, PLUGGING, done, opaque))
        return;
    slot->taken = true;
    qmp_request(folders->qmp, "chardev-add",
                json_pack("{s:s, s:o}", "id", slot->chardev, "backend",
                          socket_backend(socket, folders->kind)),
                on_chardev_added, slot);
    qmp_request(folders->qmp, "device_add", device_arguments(slot, index, tag),
                on_device_added, slot);
}

/* ---- unplug -------------------------------------------------------------- */

static void on_chardev_removed(const char *error, void *opaque)
{
    struct slot *slot = opaque;

    note_error(slot, error);
    slot->taken = slot->error != NULL;
    finish(slot);
}

static void remove_if_deleted(struct slot *slot)
{
    if (slot->deleted && slot->accepted)
        remove_chardev(slot, on_chardev_removed);
}

static void on_device_del(const char *error, void *opaque)
{
    struct slot *slot = opaque;

    note_error(slot, error);
    slot->accepted = !error;
    if (error)
        finish(slot);
    else
        remove_if_deleted(slot);
}

void vm_folders_unplug(struct vm_folders *folders, unsigned index,
                       vm_folder_done done, void *opaque)
{
    struct slot *slot = &folders->slots[index];

    if (begin(slot, UNPLUGGING, done, opaque))
        qmp_request(folders->qmp, "device_del",
                    json_pack("{s:s}", "id", slot->device), on_device_del,
                    slot);
}

/* The event can precede the answer to device_del. */
void vm_folders_note_deleted(struct vm_folders *folders, const char *device)
{
    for (unsigned i = 0; i < VM_FOLDER_SLOTS; i++) {
        struct slot *slot = &folders->slots[i];

        if (slot->state != UNPLUGGING || slot->deleted ||
            strcmp(slot->device, device) != 0)
            continue;
        slot->deleted = true;
        remove_if_deleted(slot);
    }
}

/* ---- reconnect ----------------------------------------------------------- */

static void on_reconnected(const char *error, void *opaque)
{
    note_error(opaque, error);
    finish(opaque);
}

void vm_folders_reconnect(struct vm_folders *folders, unsigned index,
                          const char *socket, vm_folder_done done, void *opaque)
{
    struct slot *slot = &folders->slots[index];

    if (begin(slot, RECONNECTING, done, opaque))
        qmp_request(folders->qmp, "chardev-change",
                    json_pack("{s:s, s:o}", "id", slot->chardev, "backend",
                              socket_backend(socket, folders->kind)),
                    on_reconnected, slot);
}
