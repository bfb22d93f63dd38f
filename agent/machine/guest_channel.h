/* SPDX-License-Identifier: Apache-2.0
 *
 * guest_channel - the host end of the shim's port (shim/wire.h).
 *
 * The guest is treated as hostile. Every message is validated here, so
 * callbacks receive well-formed messages only; malformed ones are ignored and
 * logged, up to a limit. The callbacks decide whether a message fits the
 * current state.
 *
 * Threads: a channel belongs to the thread that runs its GMainContext.
 */
#ifndef AGENT_MACHINE_GUEST_CHANNEL_H
#define AGENT_MACHINE_GUEST_CHANNEL_H

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

#include "agent/base/command.h"
#include "agent/machine/git_identity.h"
#include "agent/machine/guest_ports.h"
#include "agent/machine/guest_processes.h"

struct guest_channel;

/* Output that a command may send without further credit, in bytes. */
#define GUEST_OUTPUT_WINDOW (128 * 1024)

struct guest_hello {
    gint64 version;
    const char *shim_version, *kernel;
    bool plugs_folders; /* "mount" waits for the folder's device */
    bool renews;        /* guest_channel_renew() is supported */
    gint64 init_ms, shim_ms, uptime_ms; /* wire.h; 0: not reported */
};

enum guest_step_op {
    GUEST_STEP_BEGIN,
    GUEST_STEP_END,
    GUEST_STEP_WITHDRAW,
    GUEST_STEP_LIST,
    GUEST_STEP_DIFF,
    GUEST_STEP_UNDO,
    GUEST_STEP_GRANT,
};

/* A request of a process in the guest about steps (wire.h). */
struct guest_step_request {
    gint64 request, exec_id;
    enum guest_step_op op;
    const char *scope;
    const char *text;   /* bytes; of a grant the path, not empty */
    bool wants_write;   /* of a grant */
    const char *reason; /* of a grant: UTF-8, or NULL */
    gint64 number;
    int exit_code;      /* -1: unknown */
    bool has_processes; /* some may run besides the one that asks */
};

/* All pointers are borrowed for the call. A callback may free the channel. */
struct guest_channel_callbacks {
    void (*hello)(const struct guest_hello *hello, void *opaque);
    /* error: NULL on success. */
    void (*mounted)(const char *tag, const char *error, void *opaque);
    /* The answer to guest_channel_unmount(). error: NULL on success. */
    void (*left)(const char *tag, const char *error, void *opaque);
    /* A mounted folder has lost its connection. */
    void (*unmounted)(const char *tag, const char *reason, void *opaque);
    /* The answer to guest_channel_setup(). error: what the guest could not do;
     * NULL on success. */
    void (*set_up)(const char *error, void *opaque);
    /* The answer to guest_channel_renew(). error: NULL on success. */
    void (*renewed)(const char *error, void *opaque);
    /* The answer to guest_channel_refresh(). error: NULL on success. */
    void (*refreshed)(const char *tag, gint64 id, const char *error,
                      void *opaque);
    void (*output)(const struct command_output *output, void *opaque);
    void (*completed)(gint64 id, const struct command_end *end, void *opaque);
    /* This much of a command's streamed input was read or dropped. */
    void (*input_taken)(gint64 id, size_t bytes, void *opaque);
    /* The shim refused the command with this id; it never ran. */
    void (*refused)(gint64 id, const char *message, void *opaque);
    /* A program listens at a port of the guest, or no longer. */
    void (*port)(const struct guest_port_news *news, void *opaque);
    void (*step_request)(const struct guest_step_request *request,
                         void *opaque);
    /* The answer to guest_channel_find_processes(). */
    void (*processes)(const struct guest_processes *processes, void *opaque);
    /* The guest's process for the bulk port has ended. */
    void (*bulk_ended)(void *opaque);
    void (*closed)(void *opaque);
};

/* Take a connected socket. */
struct guest_channel *
guest_channel_new(int fd, const struct guest_channel_callbacks *callbacks,
                  void *opaque);
void guest_channel_free(struct guest_channel *channel);

/* Log a message that the callbacks found out of place, up to a limit. */
void guest_channel_complain(struct guest_channel *channel, const char *format,
                            ...) G_GNUC_PRINTF(2, 3);

/* Return how many messages were ignored. */
guint64 guest_channel_complaints(const struct guest_channel *channel);

/* Check that the guest can run a command. Fails with ERROR_TOO_LARGE, or
 * ERROR_VM_LAUNCH_FAILED if its shim is too old. */
gboolean guest_channel_check_command(struct guest_channel *channel,
                                     const struct command *command,
                                     GError **error);

/* Return how many commands may run at a time, and whether output is limited to
 * GUEST_OUTPUT_WINDOW and credit (otherwise the shim is too old). */
unsigned guest_channel_max_commands(const struct guest_channel *channel);
bool guest_channel_has_credit(const struct guest_channel *channel);

/* Run a checked command; messages about it carry this id. */
void guest_channel_exec(struct guest_channel *channel, gint64 id,
                        const struct command *command);

/* A command's output was consumed: as much more may come. */
void guest_channel_credit(struct guest_channel *channel, gint64 id,
                          size_t bytes);

/* Stream standard input: at most WIRE_INPUT_WINDOW bytes may be on their way,
 * that is, not yet reported by input_taken. */
void guest_channel_input(struct guest_channel *channel, gint64 id,
                         const void *data, size_t len, bool eof);

void guest_channel_resize(struct guest_channel *channel, gint64 id,
                          unsigned rows, unsigned columns);
void guest_channel_signal(struct guest_channel *channel, gint64 id, int number);

/* Ask the guest to report the ports at which programs listen, if its shim can.
 */
void guest_channel_watch_ports(struct guest_channel *channel);
/* Answer a step_request. step_id: 0 if it does not apply. text, error: UTF-8,
 * or NULL. */
void guest_channel_answer_step(struct guest_channel *channel, gint64 request,
                               gint64 step_id, const char *text,
                               const char *error);

/* Ask for the executions of processes (of guint32, at most WIRE_FIND_MAX).
 * Returns false if the shim is too old. */
bool guest_channel_find_processes(struct guest_channel *channel, gint64 request,
                                  const GArray *pids);

void guest_channel_mount(struct guest_channel *channel, const char *tag,
                         const char *path, const char *fstype, bool read_only);
/* force: also if a process uses the folder. */
void guest_channel_unmount(struct guest_channel *channel, const char *tag,
                           bool force);
/* Have the guest's kernel look again at names of this folder; message has
 * "id", "unused" and "names" (wire.h). Only if guest_channel_refreshes(). */
void guest_channel_refresh(struct guest_channel *channel, const char *tag,
                           json_t *message);
bool guest_channel_refreshes(const struct guest_channel *channel);
/* Have the guest trust these certificates (PEM) and use this identity; what is
 * NULL is removed from a machine's disk. Return false if the shim is too old.
 */
bool guest_channel_setup(struct guest_channel *channel,
                         const char *certificates,
                         const struct git_identity *git);
/* Return whether guest_channel_renew() is supported. */
bool guest_channel_renews(const struct guest_channel *channel);
/* Ask for another hello. */
void guest_channel_request_hello(struct guest_channel *channel);
/* Give the guest random numbers, the time, and a machine id if it has none;
 * mac, dns: of the network, which is then started; NULL: it is up, or there is
 * none. "renewed" follows. */
void guest_channel_renew(struct guest_channel *channel, const char *mac,
                         const char *dns);
void guest_channel_cancel(struct guest_channel *channel, gint64 id);

/* Ask for a process that serves the bulk port, after "bulk_ended". */
void guest_channel_start_bulk(struct guest_channel *channel, const char *mark);
void guest_channel_shutdown(struct guest_channel *channel);

#endif
