/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_request - FUSE requests out of an input's script, and what a client
 * knows that sends them.
 *
 * A request is: opcode, node, shape, and then the fields that the opcode's
 * arguments have (fuzz_request.c). The shape's bits: 4, the length lies; 5, a
 * small number of the request (for INTERRUPT); 6, some user; 7, cut off.
 * Nodes and handles are those that the server has given out, or anything.
 *
 * One thread.
 */
#ifndef TESTS_FUZZ_REQUEST_H
#define TESTS_FUZZ_REQUEST_H

#include <glib.h>

#include "tests/fuzz/fuzz_input.h"

struct fuzz_client {
    GArray *nodes, *handles; /* uint64_t */
    uint64_t unique;
};

void fuzz_client_init(struct fuzz_client *client);
void fuzz_client_clear(struct fuzz_client *client);

/* The next request of the script. New. */
GByteArray *fuzz_request_make(struct fuzz_client *client,
                              struct fuzz_input *input);

/* A whole INIT that offers everything. New. */
GByteArray *fuzz_request_init(struct fuzz_client *client);

/* Look at the answer, len bytes; aborts if it is none to this request. Room:
 * what there was for it. */
void fuzz_client_learn(struct fuzz_client *client, const GByteArray *request,
                       const void *answer, size_t len, size_t room);

#endif
