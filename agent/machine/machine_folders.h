/* SPDX-License-Identifier: Apache-2.0
 *
 * machine_folders - plug the folders into the guest, and mount them there.
 *
 * The shim's hello starts it: a device is plugged in for each folder, and the
 * guest mounts one folder after the other. Later folders come and go in the
 * same way. Requests to the guest have its tag, and the guest's answers are
 * peer input.
 */
#ifndef AGENT_MACHINE_MACHINE_FOLDERS_H
#define AGENT_MACHINE_MACHINE_FOLDERS_H

#include "agent/machine/machine_core.h"

/* The guest is up: mount all folders. mounted: called once all are. */
void machine_folders_mount(struct machine *machine,
                           void (*mounted)(struct machine *machine));

/* The guest was started with all folders mounted. */
void machine_folders_note_mounted(struct machine *machine);

/* Append a folder, the next of the configuration, for this slot; its daemon and
 * its device follow. */
struct machine_folder *machine_folders_add(struct machine *machine,
                                           unsigned slot);
/* Plug a folder whose daemon is ready, and mount it. */
void machine_folders_plug(struct machine_folder *folder);
/* Forget a folder; later ones move down. */
void machine_folders_drop(struct machine_folder *folder);

/* Have the guest look again at names of a folder, as its file server asks
 * (backend_notify.h). */
void machine_folders_refresh(struct machine *machine, unsigned index, gint64 id,
                             json_t *message);

/* Forget all folders: the machine ends, or starts again. */
void machine_folders_clear(struct machine *machine);

/* The guest's answers to a "mount", a "refresh" and an "unmount", and its
 * report of a lost connection (guest_channel.h). */
void machine_folders_on_mounted(const char *tag, const char *error,
                                void *opaque);
void machine_folders_on_refreshed(const char *tag, gint64 id, const char *error,
                                  void *opaque);
void machine_folders_on_left(const char *tag, const char *error, void *opaque);
void machine_folders_on_unmounted(const char *tag, const char *reason,
                                  void *opaque);

#endif
