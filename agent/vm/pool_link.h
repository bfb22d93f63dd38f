/* SPDX-License-Identifier: Apache-2.0
 *
 * pool_link - the connection between a waiting machine's holder and the
 * machine's owner.
 *
 * It is a SOCK_SEQPACKET pair. The holder has one end. The other end *is* the
 * machine: the pool's keeper owns it, and hands it to a supervisor with
 * SCM_RIGHTS. When the last copy of that end is closed, the holder kills QEMU.
 * So a machine has an owner at each moment, also if a process is killed.
 *
 * The first message of the holder, POOL_READY, has the connections to QEMU. The
 * keeper only looks at it (pool_link_peek()), and it stays in the queue of the
 * socket for the supervisor.
 */
#ifndef AGENT_VM_POOL_LINK_H
#define AGENT_VM_POOL_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum pool_message_type {
    /* Of the holder. */
    POOL_READY = 1, /* a, b: pids of the holder and QEMU; fds: enum pool_fd */
    POOL_FAILED,    /* text: why no machine waits */
    POOL_LINE,      /* text: a line of QEMU's stderr */
    POOL_EXITED,    /* a: whether QEMU ended by itself with status 0; text: how
                       it ended */
    /* Of the owner. */
    POOL_TERMINATE, /* send QEMU SIGTERM */
    POOL_KILL,      /* or SIGKILL */
};

enum pool_fd {
    POOL_FD_CONTROL,
    POOL_FD_BULK,
    POOL_FD_MONITOR,
    POOL_FD_NETWORK, /* the host's end of the frames; only with a network */
    POOL_FDS
};

enum { POOL_TEXT_MAX = 2048 };

struct pool_message {
    enum pool_message_type type;
    int32_t a, b;
    char text[POOL_TEXT_MAX + 1]; /* not validated */
    int fds[POOL_FDS];            /* owned by the receiver; -1: none */
    unsigned n_fds;
};

/* Send a message without waiting; text (may be NULL) is cut at POOL_TEXT_MAX.
 * fds are borrowed. Return 0 or -errno: -EAGAIN if the peer does not read. */
int pool_link_send(int link, enum pool_message_type type, int32_t a, int32_t b,
                   const char *text, const int *fds, size_t n_fds);

/* Receive a message. Return 1; 0 at the end of the connection; -errno: -EBADMSG
 * if it is malformed, and -EAGAIN if none comes within the socket's
 * SO_RCVTIMEO, or at once if it is non-blocking. */
int pool_link_receive(int link, struct pool_message *ret_message);

/* The same, but the message stays in the queue, and has no fds here. */
int pool_link_peek(int link, struct pool_message *ret_message);

/* Close the fds of a message. */
void pool_message_close(struct pool_message *message);

#endif
