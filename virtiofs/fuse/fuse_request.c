/* SPDX-License-Identifier: Apache-2.0
 *
 * fuse_request - see fuse_request.h.
 */
#include "virtiofs/fuse/fuse_request.h"

#include <errno.h>
#include <glib.h>
#include <string.h>

struct fuse_scratch *fuse_scratch_new(void)
{
    struct fuse_scratch *scratch = g_new(struct fuse_scratch, 1);

    scratch->pace = FUSE_PACE_ANY;
    return scratch;
}

void fuse_scratch_free(struct fuse_scratch *scratch)
{
    g_free(scratch);
}

static size_t iov_length(const struct iovec *iov, unsigned n)
{
    size_t sum = 0;

    /* n is at most FUSE_MAX_IOV and a piece below 4 GiB, so the sum cannot
     * overflow. */
    for (unsigned i = 0; i < n; i++)
        sum += iov[i].iov_len;
    return sum;
}

/* Copy from (or to) memory that the peer may change concurrently. The barrier
 * keeps the compiler from reading the source again instead of the copy. Return
 * the number of bytes copied. */
static size_t copy_iov(const struct iovec *iov, unsigned n, size_t offset,
                       void *buffer, size_t size, bool to_iov)
{
    size_t done = 0;

    for (unsigned i = 0; i < n && done < size; i++) {
        char *piece = iov[i].iov_base;
        size_t len = iov[i].iov_len;

        if (offset >= len) {
            offset -= len;
            continue;
        }
        len = MIN(len - offset, size - done);
        if (to_iov)
            memcpy(piece + offset, (char *)buffer + done, len);
        else
            memcpy((char *)buffer + done, piece + offset, len);
        done += len;
        offset = 0;
    }
    __asm__ volatile("" ::: "memory");
    return done;
}

int fuse_request_begin(struct fuse_request *request,
                       struct fuse_scratch *scratch, const struct iovec *in,
                       unsigned n_in, const struct iovec *out, unsigned n_out)
{
    size_t readable = iov_length(in, n_in);

    *request = (struct fuse_request){
        .scratch = scratch,
        .args = scratch->args,
        .in = in,
        .n_in = n_in,
        .out = out,
        .n_out = n_out,
        .out_len = iov_length(out, n_out),
    };
    if (copy_iov(in, n_in, 0, &request->head, sizeof(request->head), false) !=
        sizeof(request->head)) {
        request->head = (struct fuse_in_header){ 0 };
        return -EINVAL;
    }
    request->in_len = request->head.len;
    if (request->in_len < sizeof(request->head) || request->in_len > readable)
        return -EINVAL;
    return 0;
}

static void load_args(struct fuse_request *request, size_t start, size_t size)
{
    request->args_start = start;
    request->args_len = copy_iov(request->in, request->n_in, start,
                                 request->args, size, false);
    request->args_pos = 0;
}

int fuse_request_load_args(struct fuse_request *request, size_t min,
                           bool has_data)
{
    size_t size = request->in_len - sizeof(request->head);

    if (size < min)
        return -EINVAL;
    if (has_data)
        size = min;
    if (size > FUSE_ARGS_MAX)
        return -E2BIG;
    load_args(request, sizeof(request->head), size);
    return 0;
}

bool fuse_request_load_next(struct fuse_request *request, size_t size)
{
    size_t start = request->args_start + request->args_len;

    load_args(request, start, MIN(size, request->in_len - start));
    return request->args_len > 0;
}

size_t fuse_request_args_left(const struct fuse_request *request)
{
    return request->args_len - request->args_pos;
}

const void *fuse_request_take(struct fuse_request *request, size_t size)
{
    const void *p = request->args + request->args_pos;

    if (fuse_request_args_left(request) < size)
        return NULL;
    request->args_pos += size;
    return p;
}

int fuse_request_take_string(struct fuse_request *request,
                             const char **ret_string)
{
    const char *start = request->args + request->args_pos;
    const char *end = memchr(start, 0, fuse_request_args_left(request));

    if (!end)
        return -EINVAL;
    request->args_pos += (size_t)(end - start) + 1;
    *ret_string = start;
    return 0;
}

int fuse_request_take_name(struct fuse_request *request, const char **ret_name)
{
    int r = fuse_request_take_string(request, ret_name);

    if (r < 0)
        return r;
    if (**ret_name == 0 || strcmp(*ret_name, ".") == 0 ||
        strcmp(*ret_name, "..") == 0 || strchr(*ret_name, '/'))
        return -EINVAL;
    return 0;
}

/* Put size bytes of iov, from offset on, into the scratch as a slice. */
static int slice_iov(struct fuse_request *request, const struct iovec *iov,
                     unsigned n, size_t offset, size_t size,
                     struct iovec **ret_iov, unsigned *ret_n)
{
    struct iovec *slice = request->scratch->data;
    unsigned used = 0;

    for (unsigned i = 0; i < n && size > 0; i++) {
        size_t len = iov[i].iov_len;

        if (offset >= len) {
            offset -= len;
            continue;
        }
        len = MIN(len - offset, size);
        if (used == FUSE_MAX_IOV)
            return -EINVAL;
        slice[used].iov_base = (char *)iov[i].iov_base + offset;
        slice[used++].iov_len = len;
        size -= len;
        offset = 0;
    }
    if (size > 0)
        return -EINVAL;
    *ret_iov = slice;
    *ret_n = used;
    return 0;
}

int fuse_request_data_in(struct fuse_request *request, size_t size,
                         struct iovec **ret_iov, unsigned *ret_n)
{
    size_t offset = request->args_start + request->args_len;

    if (size > request->in_len - offset)
        return -EINVAL;
    return slice_iov(request, request->in, request->n_in, offset, size, ret_iov,
                     ret_n);
}

int fuse_request_data_out(struct fuse_request *request, size_t size,
                          struct iovec **ret_iov, unsigned *ret_n)
{
    if (size > fuse_request_room(request))
        return -EINVAL;
    return slice_iov(request, request->out, request->n_out,
                     sizeof(struct fuse_out_header) + request->reply_len, size,
                     ret_iov, ret_n);
}

size_t fuse_request_room(const struct fuse_request *request)
{
    size_t used = sizeof(struct fuse_out_header) + request->reply_len;

    return request->out_len > used ? request->out_len - used : 0;
}

int fuse_request_reply(struct fuse_request *request, const void *data,
                       size_t size)
{
    if (size > fuse_request_room(request))
        return -ERANGE;
    copy_iov(request->out, request->n_out,
             sizeof(struct fuse_out_header) + request->reply_len, (void *)data,
             size, true);
    request->reply_len += size;
    return 0;
}

void fuse_request_replied(struct fuse_request *request, size_t size)
{
    request->reply_len += size;
}

size_t fuse_request_finish(struct fuse_request *request, int error)
{
    struct fuse_out_header head = { .error = error,
                                    .unique = request->head.unique };

    if (request->out_len < sizeof(head))
        return 0;
    if (error)
        request->reply_len = 0;
    head.len = (uint32_t)(sizeof(head) + request->reply_len);
    copy_iov(request->out, request->n_out, 0, &head, sizeof(head), true);
    return head.len;
}
