/* SPDX-License-Identifier: Apache-2.0
 *
 * machine_kind - what differs between the kinds of machines.
 *
 * machine.c drives a start and an end, the file servers, the network and the
 * guest's messages; a kind provides what the guest runs in. Its functions
 * belong to one machine each and keep their state in machine->state.
 */
#ifndef AGENT_MACHINE_MACHINE_KIND_H
#define AGENT_MACHINE_MACHINE_KIND_H

#include <glib.h>
#include <stdbool.h>

#include "agent/machine/accel.h"

struct bulk_port;
struct guest_channel;
struct machine;

/* The answer to a request; error is NULL on success. */
typedef void (*machine_plugged)(const char *error, void *opaque);

struct machine_plugs {
    /* Refuse added folders that contain what this kind uses. */
    gboolean (*check)(const struct machine *machine, GError **error);
    /* Return an empty slot, or -1. */
    int (*find_slot)(const struct machine *machine);
    /* Before the folder's daemon starts: open its launch->fuse_fds. NULL: the
     * daemon has a socket. */
    void (*open)(struct machine *machine, unsigned index, machine_plugged done,
                 void *opaque);
    /* Plug in the device of the folder with this index; with "detach", attach
     * it in the guest. */
    void (*plug)(struct machine *machine, unsigned slot, unsigned index,
                 machine_plugged done, void *opaque);
    void (*unplug)(struct machine *machine, unsigned slot, machine_plugged done,
                   void *opaque);
    /* Take the folder out of the guest; force: even if a process uses it. NULL:
     * the guest mounts and unmounts folders. */
    void (*detach)(struct machine *machine, unsigned slot, unsigned index,
                   bool force, machine_plugged done, void *opaque);
    /* Give the device of a folder of backend 9p a new connection. NULL: there
     * are none. */
    void (*reconnect)(struct machine *machine, unsigned slot, unsigned index,
                      machine_plugged done, void *opaque);
};

struct machine_kind {
    const char *what; /* what the guest runs in, for messages: "QEMU" */

    /* The guest is a system of its own: it mounts the folders, and is set up
     * (wire.h). Otherwise it finds both done. */
    bool is_system;

    /* Find what only this kind needs, and set machine->state. The errors are
     * those of machine_new(). */
    gboolean (*prepare)(struct machine *machine, GError **error);
    /* Free machine->state, which may be NULL; a running guest is killed. */
    void (*free)(struct machine *machine);

    /* Start the file servers, by machine_start_backends(), now or later. */
    gboolean (*begin)(struct machine *machine, GError **error);
    /* The file servers are ready, and the network's process will start. A kind
     * whose guest exists already puts the host's end of its network in
     * machine->tap. May be NULL. */
    void (*choose)(struct machine *machine);
    /* Start the guest. network_fd (borrowed): the
     * guest's end of the network, or -1. */
    gboolean (*start)(struct machine *machine, int network_fd, GError **error);
    /* The guest has started, and its hello is awaited. May be NULL. */
    void (*watch)(struct machine *machine);
    /* The guest has failed before the machine was ready, for this reason.
     * Return true if it will be restarted in another way. May be NULL. */
    bool (*recover)(struct machine *machine, const char *reason);
    /* In the stage RESTARTING, a file server has ended. NULL: there is no such
     * stage. */
    void (*restart)(struct machine *machine);

    /* The guest continues from a state that other machines have had, and must
     * be renewed; *ret_mac (borrowed): the new address of its network card, or
     * NULL. NULL: it never does. */
    bool (*is_restored)(const struct machine *machine, const char **ret_mac);
    /* The guest was taken from the pool. NULL: it never is. */
    bool (*is_pooled)(const struct machine *machine);
    /* Return the pid of the process whose child the guest's process is, if that
     * is another one than this; or 0. NULL: it is this process. */
    GPid (*holder)(const struct machine *machine);
    /* The machine is ready. May be NULL. */
    void (*note_ready)(struct machine *machine);

    /* End a running guest: by a message to it (by_guest), or from outside.
     * machine_ended() follows. */
    void (*stop)(struct machine *machine, bool by_guest);
    void (*kill)(struct machine *machine);

    void (*hold)(struct machine *machine, bool hold);
    bool (*is_held)(const struct machine *machine);

    /* As machine_oom_kills(); NULL: not known. */
    guint64 (*oom_kills)(const struct machine *machine);
    /* As machine_ids(); NULL: not counted. */
    guint64 (*count_ids)(const struct machine *machine);

    /* Borrowed; NULL before the guest has started. */
    struct guest_channel *(*guest)(const struct machine *machine);
    struct bulk_port *(*bulk)(const struct machine *machine);

    /* The devices of folders that are added and removed. A device takes one of
     * at most SESSION_MAX_DIRECTORIES slots. Each request is answered within a
     * limit of time. */
    const struct machine_plugs *plugs;

    /* In the stage BOOTING: what the start waits for; or NULL. */
    const char *(*waits_for)(const struct machine *machine);
    /* Return the end of what the guest has written before it was up: a new
     * string, which may be empty. */
    char *(*console_tail)(const struct machine *machine);
    /* As machine_disk() and machine_accel(); NULL: none. */
    const char *(*disk)(const struct machine *machine);
    enum accel (*accel)(const struct machine *machine);
};

#endif
