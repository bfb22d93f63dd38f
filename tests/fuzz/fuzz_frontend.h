/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_frontend - a vhost-user front-end that follows a script.
 *
 * The script is the driver's acts (fuzz_guest.h), and then, by a byte each:
 * 255, kick the first queue and wait a moment for its reply; 254, acts of the
 * driver, while the device reads; else a message of that number: flags, fields
 * of its payload, and fds. Flags: bit 2, need_reply; bit 3, the size is wrong;
 * bit 4, sent in two parts; bit 7, another version. Fds: how many in the low
 * half, and which one in the high half (fuzz_frontend.c).
 */
#ifndef TESTS_FUZZ_FRONTEND_H
#define TESTS_FUZZ_FRONTEND_H

#include "tests/fuzz/fuzz_guest.h"
#include "virtiofs/fuse/fuse_server.h"

/* Connect a back-end to the server, run the script, hang up. The back-end runs
 * in its own thread until then. */
void fuzz_frontend_run(struct fuse_server *server, struct fuzz_guest *guest,
                       struct fuzz_input *input);

#endif
