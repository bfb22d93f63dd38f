/* SPDX-License-Identifier: Apache-2.0
 *
 * wire - between the supervisor and stepback-local, over a SOCK_SEQPACKET
 * socket.
 *
 * stepback-local sends one message. LOCAL_READY has the fds as SCM_RIGHTS: the
 * /dev/fuse of each folder, then the tap device if there is one; the device
 * numbers of the mounts follow, as uint64_t. Any other type
 * says what failed, and the rest of the message is a text for people. The
 * supervisor answers LOCAL_READY with one byte, once the folders are served.
 * Whichever end closes the socket ends the start.
 *
 * For a folder that is attached to a running sandbox, LOCAL_READY has its
 * /dev/fuse, the byte follows once its file server is ready, and LOCAL_DONE
 * ends the exchange. A folder that is detached has LOCAL_DONE alone.
 */
#ifndef LOCAL_WIRE_H
#define LOCAL_WIRE_H

enum local_message {
    LOCAL_READY = 'r',
    LOCAL_DONE = 'd',
    LOCAL_NO_NAMESPACES = 'n', /* the host forbids user namespaces */
    LOCAL_NO_IDS = 'i',        /* newuidmap or newgidmap has failed */
    LOCAL_NO_FUSE = 'f',
    LOCAL_NO_NETWORK = 't',
    LOCAL_FAILED = 'e',
};

enum {
    LOCAL_MAX_FOLDERS = 8,
    LOCAL_MAX_TEXT = 512,
    LOCAL_IDS = 65536,    /* most users of a sandbox: 0 to 65535 */
    LOCAL_MAX_RANGES = 8, /* of subordinate ids */
};

/* Where the folders are mounted in the namespaces: NUMBER below this. */
#define LOCAL_MOUNTS "/tmp/folders"

/* Where the root file system of an image is mounted, if there is one. */
#define LOCAL_ROOT "/tmp/root"

/* Where the socket of the session bus's proxy is mounted, if there is one. */
#define LOCAL_BUS "/tmp/bus"

#endif
