/* SPDX-License-Identifier: Apache-2.0
 *
 * qmp - the control connection to QEMU's monitor.
 *
 * QEMU's events are logged, and the cause of its end is recorded.
 *
 * Threads: a connection belongs to the thread that runs its GMainContext.
 */
#ifndef AGENT_VM_QMP_H
#define AGENT_VM_QMP_H

#include <jansson.h>
#include <stdbool.h>

struct qmp;

/* Each callback may free the connection. */
struct qmp_callbacks {
    /* The guest closed the virtio-serial port of this device. */
    void (*port_closed)(const char *device, void *opaque);
    /* QEMU has removed a device, as qmp_request("device_del") asks. */
    void (*device_deleted)(const char *device, void *opaque);
    /* The saving of the machine's state has ended, with QEMU's word for it:
     * "completed", "failed", "cancelled". */
    void (*migrated)(const char *status, void *opaque);
    /* QEMU has hung up; all its messages were processed. */
    void (*closed)(void *opaque);
};

/* Speak QMP over a connected socket (taken). negotiated: another object has
 * spoken over it before, and each of its commands was answered. */
struct qmp *qmp_new(int fd, bool negotiated,
                    const struct qmp_callbacks *callbacks, void *opaque);
void qmp_free(struct qmp *qmp);

/* Return whether QEMU has sent anything: it is up, and the guest boots. */
bool qmp_has_answered(const struct qmp *qmp);

/* Make QEMU end at once, without a guest shutdown. */
void qmp_quit(struct qmp *qmp);

/* Stop or resume the guest's processors. */
void qmp_hold(struct qmp *qmp, bool hold);

/* The answer to a command; error is NULL on success. Borrowed. */
typedef void (*qmp_done)(const char *error, void *opaque);

/* Send a command with its arguments (taken; or NULL). done is called once,
 * unless the connection ends or is freed before; NULL: the answer is of no
 * interest. Answers come in the order of the commands. */
void qmp_request(struct qmp *qmp, const char *command, json_t *arguments,
                 qmp_done done, void *opaque);

/* Let a character device append to this file, instead of the one before. */
void qmp_move_file(struct qmp *qmp, const char *device, const char *path);

/* Write the machine's state to a UNIX socket that listens at this path, and
 * stop the guest's processors. They run until then: QEMU continues from the
 * state as it was, and would stay stopped. done is called for each of several
 * commands; "migrated" follows if none has failed. */
void qmp_save(struct qmp *qmp, const char *socket, qmp_done done, void *opaque);

/* Return whether QEMU has reported that the processors are stopped. */
bool qmp_is_held(const struct qmp *qmp);

/* The guest's action that ended QEMU. */
enum qmp_guest_end {
    QMP_GUEST_NONE,    /* none */
    QMP_GUEST_RESET,   /* reboot */
    QMP_GUEST_STOPPED, /* power off */
};

enum qmp_guest_end qmp_guest_end(const struct qmp *qmp);

#endif
