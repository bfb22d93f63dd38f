/* SPDX-License-Identifier: Apache-2.0
 *
 * fuse_request - one FUSE request: a bounded reader of what the client sent,
 * and a builder of the reply.
 *
 *     readable:  fuse_in_header | arguments | data (WRITE only)
 *     writable:  fuse_out_header | reply
 *
 * Both sides are iovecs over memory that the client may change at any time.
 * So the header and the arguments are copied out once, into the worker's
 * scratch, and only the copy is looked at; the data of WRITE and READ go
 * between the iovecs and the file by the kernel, unseen.
 *
 * Threads: a request and its scratch belong to one thread.
 */
#ifndef VIRTIOFS_FUSE_FUSE_REQUEST_H
#define VIRTIOFS_FUSE_FUSE_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/uio.h>

#include "virtiofs/fuse/fuse_abi.h"

/* The longest request without data that Linux makes is SETXATTR: 64 KiB. */
#define FUSE_ARGS_MAX    (80u << 10)
#define FUSE_BUFFER_SIZE (128u << 10)

/* No side of a request has more pieces (IOV_MAX). */
#define FUSE_MAX_IOV 1024u

/* How much time the thread has: the server refuses to begin what takes more. */
enum fuse_pace {
    FUSE_PACE_AT_ONCE, /* for little data, which is in memory */
    FUSE_PACE_SOON,    /* for any data that is in memory */
    FUSE_PACE_ANY,     /* for all, also what has to wait for a disk */
};

/* What a thread needs to handle requests, made once. */
struct fuse_scratch {
    struct iovec data[FUSE_MAX_IOV];
    enum fuse_pace pace; /* set by the thread; new: ANY */
    uint64_t unique; /* the client's number of the request that was parked */
    bool is_lock;    /* that one waits for a lock */
    char args[FUSE_ARGS_MAX] __attribute__((aligned(8)));
    char buffer[FUSE_BUFFER_SIZE] __attribute__((aligned(8)));
};

struct fuse_scratch *fuse_scratch_new(void);
void fuse_scratch_free(struct fuse_scratch *scratch);

struct fuse_request {
    struct fuse_in_header head;
    struct fuse_scratch *scratch;

    char *args;        /* in scratch */
    size_t args_start; /* in the request, of what is loaded */
    size_t args_len, args_pos;

    const struct iovec *in;
    unsigned n_in;
    size_t in_len; /* of the whole request, as the header says */

    const struct iovec *out;
    unsigned n_out;
    size_t out_len;   /* room, with the header */
    size_t reply_len; /* built so far, without the header */
};

/* Start on a request; everything is borrowed until fuse_request_finish().
 * -EINVAL if there is no header or it lies about the length; the request can
 * be finished with an error even then. */
int fuse_request_begin(struct fuse_request *request,
                       struct fuse_scratch *scratch, const struct iovec *in,
                       unsigned n_in, const struct iovec *out, unsigned n_out);

/* Copy the arguments in; where has_data, only the first min bytes are
 * arguments. -EINVAL if there are less than min, -E2BIG if too many. */
int fuse_request_load_args(struct fuse_request *request, size_t min,
                           bool has_data);

/* In place of these arguments (all taken), copy in what follows them, at most
 * so much (a multiple of 8, up to FUSE_ARGS_MAX). False: there is nothing. */
bool fuse_request_load_next(struct fuse_request *request, size_t size);

/* Take the next bytes of the arguments: NULL if there are less. A struct can
 * be taken only first (alignment). */
const void *fuse_request_take(struct fuse_request *request, size_t size);

/* Take a string up to its NUL: -EINVAL if there is no NUL in the request. */
int fuse_request_take_string(struct fuse_request *request,
                             const char **ret_string);

/* Take a name: a string that is not empty, ".", ".." and has no '/'. */
int fuse_request_take_name(struct fuse_request *request, const char **ret_name);

/* Bytes of arguments not taken yet. */
size_t fuse_request_args_left(const struct fuse_request *request);

/* The iovecs of the data behind the arguments, or of the reply behind its
 * header, size bytes in all: in the scratch, until the next such call. The
 * caller may change the array. -EINVAL if there is not so much. */
int fuse_request_data_in(struct fuse_request *request, size_t size,
                         struct iovec **ret_iov, unsigned *ret_n);
int fuse_request_data_out(struct fuse_request *request, size_t size,
                          struct iovec **ret_iov, unsigned *ret_n);

/* Room left for the reply. */
size_t fuse_request_room(const struct fuse_request *request);

/* Append to the reply. -ERANGE if there is no room for all of it. */
int fuse_request_reply(struct fuse_request *request, const void *data,
                       size_t size);

/* That many bytes were put into fuse_request_data_out(). */
void fuse_request_replied(struct fuse_request *request, size_t size);

/* Write the reply's header; with an error (-errno) the reply is the header
 * alone. Returns the reply's length; 0 if there is no room for a header. */
size_t fuse_request_finish(struct fuse_request *request, int error);

#endif
