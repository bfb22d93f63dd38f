/* SPDX-License-Identifier: Apache-2.0
 *
 * qmp - QEMU's own control connection.
 *
 * Asks for little: that QEMU ends, and that the guest stands still. What QEMU
 * reports is logged.
 *
 * Threads: a connection belongs to the thread that runs its GMainContext.
 */
#ifndef AGENT_QMP_H
#define AGENT_QMP_H

#include <stdbool.h>

struct qmp;

/* Talk QMP over a connected socket (taken). port_closed is called when the
 * guest closes a virtio-serial port that it had opened; it may free the
 * connection. */
struct qmp *qmp_new(int fd, void (*port_closed)(void *opaque), void *opaque);
void qmp_free(struct qmp *qmp);

/* Ask QEMU to end at once, without the guest. */
void qmp_quit(struct qmp *qmp);

/* Stop the guest's processors, or let them go on. */
void qmp_hold(struct qmp *qmp, bool hold);

/* Whether QEMU has reported that they stand. */
bool qmp_is_held(const struct qmp *qmp);

#endif
