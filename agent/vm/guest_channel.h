/* SPDX-License-Identifier: Apache-2.0
 *
 * guest_channel - the agent's end of the shim's port (shim/wire.h).
 *
 * The guest is hostile as far as this file knows. Every message is checked
 * here, so that what the callbacks get is well-formed; what is not is logged
 * (a bounded number of times) and ignored. Whether a message fits the moment
 * is for the callbacks to judge.
 *
 * Threads: a channel belongs to the thread that runs its GMainContext.
 */
#ifndef AGENT_VM_GUEST_CHANNEL_H
#define AGENT_VM_GUEST_CHANNEL_H

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct guest_channel;

struct guest_hello {
    gint64 version;
    const char *shim_version, *kernel;
    gint64 takes_input; /* not 0: its commands can have some */
    gint64 init_ms, shim_ms, uptime_ms; /* wire.h; 0: it does not say */
};

/* How a command ended. */
struct guest_end {
    int exit_code;      /* 0..255 */
    int signal;         /* that ended it, or 0 */
    bool has_processes; /* some in the background may still run */
};

/* All pointers are borrowed for the call. A callback may free the channel. */
struct guest_channel_callbacks {
    void (*hello)(const struct guest_hello *hello, void *opaque);
    /* error: NULL if the mount is there. */
    void (*mounted)(const char *tag, const char *error, void *opaque);
    /* A folder that was mounted has lost its connection. */
    void (*unmounted)(const char *tag, const char *reason, void *opaque);
    void (*output)(gint64 id, const char *stream, const char *data, size_t len,
                   void *opaque);
    void (*completed)(gint64 id, const struct guest_end *end, void *opaque);
    /* The shim refused the command with this id; it never ran. */
    void (*refused)(gint64 id, const char *message, void *opaque);
    void (*closed)(void *opaque);
};

/* Take a connected socket. */
struct guest_channel *
guest_channel_new(int fd, const struct guest_channel_callbacks *callbacks,
                  void *opaque);
void guest_channel_free(struct guest_channel *channel);

/* A message the callbacks found out of place: log it, a bounded number of
 * times. */
void guest_channel_complain(struct guest_channel *channel, const char *format,
                            ...) G_GNUC_PRINTF(2, 3);

/* How many messages were ignored. */
guint64 guest_channel_complaints(const struct guest_channel *channel);

/* The exec message; env (borrowed) is an object of strings or NULL, input may
 * be NULL. A new reference, or NULL if it is longer than the wire allows. */
json_t *guest_channel_exec_message(gint64 id, const char *command,
                                   const char *cwd, json_t *env,
                                   const char *input);

/* Send a message (taken). */
void guest_channel_send(struct guest_channel *channel, json_t *message);

void guest_channel_mount(struct guest_channel *channel, const char *tag,
                         const char *path, const char *fstype, bool read_only);
void guest_channel_cancel(struct guest_channel *channel, gint64 id);
void guest_channel_rollback_notify(struct guest_channel *channel,
                                   gint64 step_id);
void guest_channel_shutdown(struct guest_channel *channel);

#endif
