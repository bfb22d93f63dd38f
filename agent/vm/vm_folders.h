/* SPDX-License-Identifier: Apache-2.0
 *
 * vm_folders - the devices of shared folders, plugged into a running QEMU.
 *
 * A folder takes one of VM_FOLDER_SLOTS slots: for virtio-fs an empty
 * pcie-root-port that QEMU has from its start, for 9P a port of the
 * virtio-serial controller. A slot whose request failed is lost until the
 * machine ends, because QEMU may still carry the request out.
 *
 * Threads: all on the main thread.
 */
#ifndef AGENT_VM_VM_FOLDERS_H
#define AGENT_VM_VM_FOLDERS_H

#include "agent/machine/backend_kind.h"
#include "agent/machine/session_directory.h"
#include "agent/vm/qmp.h"

enum { VM_FOLDER_SLOTS = SESSION_MAX_DIRECTORIES };

/* The name of the slot's pcie-root-port in QEMU, as a format. */
#define VM_FOLDER_PORT "folderport%u"

struct vm_folders;

/* The monitor's connection is borrowed. */
struct vm_folders *vm_folders_new(struct qmp *qmp, enum backend_kind kind);

/* Free the object; no request is answered any more. NULL is allowed. */
void vm_folders_free(struct vm_folders *folders);

/* The answer to a request; error is NULL on success. The callback must not free
 * the object. */
typedef void (*vm_folder_done)(const char *error, void *opaque);

/* Return an empty slot, or -1. */
int vm_folders_find_slot(const struct vm_folders *folders);

/* Plug a folder's device into an empty slot: the daemon's socket, and the tag
 * of the mount. One request per slot at a time. */
void vm_folders_plug(struct vm_folders *folders, unsigned slot,
                     const char *socket, const char *tag, vm_folder_done done,
                     void *opaque);

/* Unplug the device that the guest no longer uses, and wait until QEMU has
 * closed its connection to the daemon. */
void vm_folders_unplug(struct vm_folders *folders, unsigned slot,
                       vm_folder_done done, void *opaque);

/* Give the port of a 9P folder a new connection to the daemon's socket. All
 * data in flight, in both directions, is dropped with the old connection, so no
 * message is torn. */
void vm_folders_reconnect(struct vm_folders *folders, unsigned slot,
                          const char *socket, vm_folder_done done,
                          void *opaque);

/* QEMU has reported that it has removed this device. */
void vm_folders_note_deleted(struct vm_folders *folders, const char *device);

#endif
