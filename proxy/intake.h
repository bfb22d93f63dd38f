/* SPDX-License-Identifier: Apache-2.0
 *
 * intake - new connections of the guest, from stepback-net.
 *
 * Each message of the SOCK_SEQPACKET socket is JSON (at most 1 KiB) with one
 * file descriptor (SCM_RIGHTS), a connected stream of AF_UNIX, the guest's
 * side:
 *
 *     {"id":17, "name":"api.example.org", "port":443, "check":"web"}
 *
 * check is one of guest_check.h, or "ask". Ids count up. A guest could have
 * taken stepback-net over: a message that is not of this form is dropped.
 */
#ifndef PROXY_INTAKE_H
#define PROXY_INTAKE_H

#include "proxy/connections.h"

struct intake;

/* Takes fd. closed is called when stepback-net has exited. */
struct intake *intake_new(int fd, struct connections *connections,
                          void (*closed)(void *opaque), void *opaque);
void intake_free(struct intake *intake);

#endif
