/* SPDX-License-Identifier: Apache-2.0
 *
 * qmp - QEMU's own control connection.
 *
 * Asks for little: that QEMU ends, that the guest stands still, and that a
 * port of it gets a new connection. What QEMU reports is logged, and by whose
 * doing it ends is kept.
 *
 * Threads: a connection belongs to the thread that runs its GMainContext.
 */
#ifndef AGENT_VM_QMP_H
#define AGENT_VM_QMP_H

#include <stdbool.h>

struct qmp;

/* Each may free the connection. */
struct qmp_callbacks {
    /* The guest closed a virtio-serial port that it had opened. */
    void (*port_closed)(void *opaque);
    /* qmp_reconnect() is done; error (borrowed) is NULL or says why not. */
    void (*reconnected)(const char *chardev, const char *error, void *opaque);
    /* QEMU has hung up: all that it had to say was taken. */
    void (*closed)(void *opaque);
};

/* Talk QMP over a connected socket (taken). */
struct qmp *qmp_new(int fd, const struct qmp_callbacks *callbacks,
                    void *opaque);
void qmp_free(struct qmp *qmp);

/* Ask QEMU to end at once, without the guest. */
void qmp_quit(struct qmp *qmp);

/* Stop the guest's processors, or let them go on. */
void qmp_hold(struct qmp *qmp, bool hold);

/* Give a chardev a new connection to a Unix socket. Whatever was under way, in
 * either direction, is dropped with the old one, so no message is torn. */
void qmp_reconnect(struct qmp *qmp, const char *chardev, const char *path);

/* Whether QEMU has reported that they stand. */
bool qmp_is_held(const struct qmp *qmp);

/* What the guest has done that QEMU ends by. */
enum qmp_guest_end {
    QMP_GUEST_NONE,    /* nothing */
    QMP_GUEST_RESET,   /* it was to start again */
    QMP_GUEST_STOPPED, /* it was switched off */
};

enum qmp_guest_end qmp_guest_end(const struct qmp *qmp);

#endif
