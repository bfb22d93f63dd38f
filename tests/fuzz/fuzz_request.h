/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_request - make FUSE requests from an input's script.
 *
 * It also keeps what their client knows. A request is: opcode, node, shape, and
 * then the fields of the opcode's arguments (fuzz_request.c). The shape's bits:
 * 4, the length is wrong; 5, a small number of the request (for INTERRUPT); 6,
 * some user; 7, truncated. Nodes and handles are those that the server has
 * returned, or arbitrary.
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

/* Make the next request of the script. New. */
GByteArray *fuzz_request_make(struct fuzz_client *client,
                              struct fuzz_input *input);

/* Make a whole INIT that offers everything. New. */
GByteArray *fuzz_request_init(struct fuzz_client *client);

/* Read the reply of len bytes; aborts if it does not match this request. room:
 * the size of its buffer. */
void fuzz_client_learn(struct fuzz_client *client, const GByteArray *request,
                       const void *answer, size_t len, size_t room);

#endif
