/* SPDX-License-Identifier: Apache-2.0
 *
 * qmp - the control connection to QEMU's monitor.
 *
 * Sends few commands: quit, stop and cont, and a new connection for a port.
 * QEMU's events are logged, and the cause of its end is recorded.
 *
 * Threads: a connection belongs to the thread that runs its GMainContext.
 */
#ifndef AGENT_VM_QMP_H
#define AGENT_VM_QMP_H

#include <stdbool.h>

struct qmp;

/* Each callback may free the connection. */
struct qmp_callbacks {
    /* The guest closed a virtio-serial port that it had opened. */
    void (*port_closed)(void *opaque);
    /* qmp_reconnect() is done; error (borrowed) is NULL on success. */
    void (*reconnected)(const char *chardev, const char *error, void *opaque);
    /* QEMU has hung up; all its messages were processed. */
    void (*closed)(void *opaque);
};

/* Speak QMP over a connected socket (taken). */
struct qmp *qmp_new(int fd, const struct qmp_callbacks *callbacks,
                    void *opaque);
void qmp_free(struct qmp *qmp);

/* Return whether QEMU has sent anything: it is up, and the guest boots. */
bool qmp_has_answered(const struct qmp *qmp);

/* Make QEMU end at once, without a guest shutdown. */
void qmp_quit(struct qmp *qmp);

/* Stop or resume the guest's processors. */
void qmp_hold(struct qmp *qmp, bool hold);

/* Give a chardev a new connection to a Unix socket. All data in flight, in both
 * directions, is dropped with the old connection, so no message is torn. */
void qmp_reconnect(struct qmp *qmp, const char *chardev, const char *path);

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
