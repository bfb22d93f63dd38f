/* SPDX-License-Identifier: Apache-2.0
 *
 * fuse_request - one FUSE request: a bounded reader of the client's bytes and a
 * builder of the reply.
 *
 *     readable:  fuse_in_header | arguments | data (WRITE only)
 *     writable:  fuse_out_header | reply
 *
 * Both sides are iovecs over memory that the client may change at any time. So
 * the header and the arguments are copied once into the worker's scratch, and
 * only the copy is parsed; the data of WRITE and READ pass between the iovecs
 * and the file through the kernel, unseen.
 *
 * Threads: a request and its scratch belong to one thread.
 */
#ifndef VIRTIOFS_FUSE_FUSE_REQUEST_H
#define VIRTIOFS_FUSE_FUSE_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/uio.h>

#include "virtiofs/fuse/fuse_abi.h"

/* The longest request without data that Linux sends is SETXATTR: 64 KiB. */
#define FUSE_ARGS_MAX    (80u << 10)
#define FUSE_BUFFER_SIZE (128u << 10)

/* The maximum number of pieces on each side of a request (IOV_MAX). */
#define FUSE_MAX_IOV 1024u

/* How much time the thread has: the server refuses to begin a longer
 * request. */
enum fuse_pace {
    FUSE_PACE_AT_ONCE, /* little data, all in memory */
    FUSE_PACE_SOON,    /* any amount of data, all in memory */
    FUSE_PACE_ANY,     /* no limit: may wait for a disk */
};

/* Per-thread buffers for handling requests, allocated once. */
struct fuse_scratch {
    struct iovec data[FUSE_MAX_IOV];
    enum fuse_pace pace; /* set by the thread; initially ANY */
    uint64_t undos;      /* ic_stale_undos() when the request was read */
    uint64_t unique;     /* the client's id of the parked request */
    bool is_lock;        /* the parked request waits for a lock */
    char args[FUSE_ARGS_MAX] __attribute__((aligned(8)));
    char buffer[FUSE_BUFFER_SIZE] __attribute__((aligned(8)));
};

struct fuse_scratch *fuse_scratch_new(void);
void fuse_scratch_free(struct fuse_scratch *scratch);

struct fuse_request {
    struct fuse_in_header head;
    struct fuse_scratch *scratch;

    char *args;        /* in the scratch */
    size_t args_start; /* offset of the loaded part in the request */
    size_t args_len, args_pos;

    const struct iovec *in;
    unsigned n_in;
    size_t in_len; /* of the whole request, from the header */

    const struct iovec *out;
    unsigned n_out;
    size_t out_len;   /* capacity, with the header */
    size_t reply_len; /* so far, without the header */
};

/* Start a request; all arguments are borrowed until fuse_request_finish().
 * Return -EINVAL if the header is missing or its length is wrong; the request
 * can be finished with an error even then. */
int fuse_request_begin(struct fuse_request *request,
                       struct fuse_scratch *scratch, const struct iovec *in,
                       unsigned n_in, const struct iovec *out, unsigned n_out);

/* Load the arguments; with has_data, only the first min bytes are arguments.
 * Return -EINVAL if there are fewer than min bytes, -E2BIG if there are too
 * many. */
int fuse_request_load_args(struct fuse_request *request, size_t min,
                           bool has_data);

/* Replace the loaded arguments (all taken) by the next bytes of the request, at
 * most size (a multiple of 8, up to FUSE_ARGS_MAX). Return false if there are
 * none. */
bool fuse_request_load_next(struct fuse_request *request, size_t size);

/* Take the next bytes of the arguments; NULL if there are fewer. A struct can
 * only be taken first, because of its alignment. */
const void *fuse_request_take(struct fuse_request *request, size_t size);

/* Take a string up to its NUL. Return -EINVAL if the request has no NUL. */
int fuse_request_take_string(struct fuse_request *request,
                             const char **ret_string);

/* Take a name: a string that is not empty, "." or ".." and contains no '/'. */
int fuse_request_take_name(struct fuse_request *request, const char **ret_name);

/* Return the number of argument bytes not taken yet. */
size_t fuse_request_args_left(const struct fuse_request *request);

/* Return iovecs of size bytes of the data behind the arguments, or of the reply
 * behind its header. The array lies in the scratch, is valid until the next
 * such call, and the caller may change it. Return -EINVAL if there are fewer
 * bytes. */
int fuse_request_data_in(struct fuse_request *request, size_t size,
                         struct iovec **ret_iov, unsigned *ret_n);
int fuse_request_data_out(struct fuse_request *request, size_t size,
                          struct iovec **ret_iov, unsigned *ret_n);

/* Return the room left for the reply, in bytes. */
size_t fuse_request_room(const struct fuse_request *request);

/* Append to the reply. Return -ERANGE if not all of it fits. */
int fuse_request_reply(struct fuse_request *request, const void *data,
                       size_t size);

/* Add size bytes, already stored through fuse_request_data_out(), to the
 * reply. */
void fuse_request_replied(struct fuse_request *request, size_t size);

/* Write the reply's header; with an error (-errno) the reply is the header
 * alone. Return the reply's length, or 0 if there is no room for a header. */
size_t fuse_request_finish(struct fuse_request *request, int error);

#endif
