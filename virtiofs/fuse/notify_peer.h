/* SPDX-License-Identifier: Apache-2.0
 *
 * notify_peer - a notifier's way to a guest: over a socket, to a program that
 * has someone in the guest look at the changed names again.
 *
 * JSON Lines. From the daemon:
 *
 *   {"id":7,"unused":true,"names":[[1,"a",false,21],[18,"/w==",true,0],[21]]}
 *       unused: first drop what the guest's kernel keeps and no process uses.
 *       Then look at each of the names again, [DIR,"NAME",BASE64,NODE]: NAME,
 *       which is base64 with BASE64, as it is not UTF-8, in the folder with the
 *       FUSE node id DIR; then the attributes of NODE, if it is not 0. [NODE]
 *       stands for attributes alone. Elements of one folder follow each other.
 *       The ids are unsigned integers of 64 bits, written as signed ones. What
 *       the guest's kernel does not have needs no look; nor does NODE if it
 *       does not have DIR.
 *
 * From the program:
 *
 *   {"keep":true}
 *       The guest can do so: from now on it may keep what is watched for long.
 *       Before that nothing is sent.
 *   {"told":7}
 *       The lookups for 7 are done. The next line is sent after that.
 *   {"failed":7}
 *       They cannot be done: no more is kept for long, nor is more sent.
 *   {"paused":true}
 *       The guest is paused, or with false, runs again. No undo waits for it,
 *       and the time does not count.
 *
 * While a line takes more than NOTIFIER_PATIENCE_MS, no more is kept for long,
 * nor is more sent. When it is answered, the guest has to look at everything,
 * and may then keep it for long again. The tenth such line is the last.
 * When the program closes the socket, no more is kept for long.
 */
#ifndef VIRTIOFS_FUSE_NOTIFY_PEER_H
#define VIRTIOFS_FUSE_NOTIFY_PEER_H

#include "virtiofs/fuse/fuse_server.h"

struct notify_peer;

/* For a server with leases. fd, a connected socket, is taken; server is
 * borrowed. Return NULL and -errno in *ret_rc if no thread can be started. Call
 * it before requests are served. */
struct notify_peer *notify_peer_new(struct fuse_server *server, int fd,
                                    int *ret_rc);

/* Release the callers that wait, and tell the guest no more. */
void notify_peer_stop(struct notify_peer *peer);

/* After notify_peer_stop(), when the server is gone. NULL is allowed. */
void notify_peer_free(struct notify_peer *peer);

#endif
