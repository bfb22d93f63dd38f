/* SPDX-License-Identifier: Apache-2.0
 *
 * qmp - QEMU's own control connection.
 *
 * Asks for little: that QEMU ends. What QEMU reports is logged.
 *
 * Threads: a connection belongs to the thread that runs its GMainContext.
 */
#ifndef AGENT_QMP_H
#define AGENT_QMP_H

struct qmp;

/* Talk QMP over a connected socket (taken). port_closed is called when the
 * guest closes a virtio-serial port that it had opened; it may free the
 * connection. */
struct qmp *qmp_new(int fd, void (*port_closed)(void *opaque), void *opaque);
void qmp_free(struct qmp *qmp);

/* Ask QEMU to end at once, without the guest. */
void qmp_quit(struct qmp *qmp);

#endif
