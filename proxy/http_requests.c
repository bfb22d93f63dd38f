/* SPDX-License-Identifier: Apache-2.0
 *
 * http_requests - see http_requests.h.
 */
#include "proxy/http_requests.h"

#include <glib.h>
#include <string.h>

#include "proxy/http_length.h"

/* A chunk's size, CR and LF. */
enum { CHUNK_SIZE_MAX = HTTP_CHUNK_DIGITS + 2 };

/* The bytes of one call. */
struct input {
    const char *data;
    size_t length;
    size_t passed;
    struct refusal *refusal;
};

enum step { STEP_ON, STEP_WAIT, STEP_REFUSED };

void http_requests_init(struct http_requests *requests, const char *name,
                        unsigned port)
{
    *requests = (struct http_requests){ .target = { name, port } };
}

static enum step refuse(struct input *input, const char *reason)
{
    host_name_refuse(input->refusal, reason, NULL, 0);
    return STEP_REFUSED;
}

/* Pass everything that was scanned. */
static void pass(struct http_requests *requests, struct input *input,
                 size_t length)
{
    input->passed += length;
    requests->line = requests->scanned = 0;
}

/* ---- lines --------------------------------------------------------------- */

/* Find the next line, within the first max bytes that have not passed. Set
 * ret_len without CR LF. */
static enum step find_line(struct http_requests *requests, struct input *input,
                           size_t max, size_t *ret_len)
{
    const char *data = input->data + input->passed;
    size_t length = MIN(input->length - input->passed, max);
    const char *end = length > requests->scanned
                          ? memchr(data + requests->scanned, '\n',
                                   length - requests->scanned)
                          : NULL;
    const char *line = data + requests->line;

    if (!end) {
        requests->scanned = length;
        return length < max
                   ? STEP_WAIT
                   : refuse(input,
                            "a request's head or a chunk's size is too long");
    }
    requests->scanned = (size_t)(end - data) + 1;
    *ret_len = (size_t)(end - line);
    if (memchr(line, '\r', *ret_len) != end - 1)
        return refuse(input, "a line does not end with CR LF");
    --*ret_len;
    return STEP_ON;
}

/* Check the whole head, and expect its body or the next head. */
static enum step end_head(struct http_requests *requests, struct input *input)
{
    const struct http_head *head = &requests->head;

    if (!http_fields_end(head, input->refusal))
        return STEP_REFUSED;
    if (head->upgrades && requests->count > 0)
        return refuse(input, "an upgrade must be the connection's first "
                             "request");
    requests->left = head->length;
    requests->state = head->upgrades     ? HTTP_REQUESTS_UPGRADE
                      : head->is_chunked ? HTTP_REQUESTS_CHUNK_SIZE
                      : head->length > 0 ? HTTP_REQUESTS_BODY
                                         : HTTP_REQUESTS_HEAD;
    requests->count++;
    requests->head = (struct http_head){ 0 };
    pass(requests, input, requests->scanned);
    return STEP_ON;
}

static enum step read_head(struct http_requests *requests, struct input *input)
{
    struct http_head *head = &requests->head;
    const char *line;
    size_t len;
    enum step step = find_line(requests, input, HTTP_HEAD_MAX, &len);
    bool ok;

    if (step != STEP_ON)
        return step;
    line = input->data + input->passed + requests->line;
    requests->line = requests->scanned;
    if (len == 0 && head->has_request_line)
        return end_head(requests, input);
    ok = head->has_request_line
             ? http_fields_take(head, &requests->target, line, len,
                                input->refusal)
             : http_fields_take_request_line(head, &requests->target, line, len,
                                             input->refusal);
    return ok ? STEP_ON : STEP_REFUSED;
}

/* ---- bodies -------------------------------------------------------------- */

static enum step read_chunk_size(struct http_requests *requests,
                                 struct input *input)
{
    const char *line;
    size_t len;
    enum step step = find_line(requests, input, CHUNK_SIZE_MAX, &len);

    if (step != STEP_ON)
        return step;
    line = input->data + input->passed;
    if (!http_length_parse_chunk(line, len, &requests->left))
        return refuse(input, "a chunk's size is malformed");
    requests->state = requests->left > 0 ? HTTP_REQUESTS_CHUNK
                                         : HTTP_REQUESTS_TRAILER;
    pass(requests, input, requests->scanned);
    return STEP_ON;
}

static enum step read_chunk_end(struct http_requests *requests,
                                struct input *input)
{
    size_t length = input->length - input->passed;

    if (length == 0)
        return STEP_WAIT;
    if (memcmp(input->data + input->passed, "\r\n", MIN(length, 2)) != 0)
        return refuse(input, "a chunk is longer than its size");
    if (length < 2)
        return STEP_WAIT;
    requests->state = HTTP_REQUESTS_CHUNK_SIZE;
    pass(requests, input, 2);
    return STEP_ON;
}

static enum step read_trailer(struct http_requests *requests,
                              struct input *input)
{
    const char *line;
    size_t len;
    enum step step = find_line(requests, input, HTTP_HEAD_MAX, &len);

    if (step != STEP_ON)
        return step;
    line = input->data + input->passed + requests->line;
    requests->line = requests->scanned;
    if (len > 0)
        return http_fields_take_trailer(line, len, input->refusal)
                   ? STEP_ON
                   : STEP_REFUSED;
    requests->state = HTTP_REQUESTS_HEAD;
    pass(requests, input, requests->scanned);
    return STEP_ON;
}

static enum step read_body(struct http_requests *requests, struct input *input,
                           enum http_requests_state next)
{
    uint64_t here = MIN(requests->left, input->length - input->passed);

    pass(requests, input, (size_t)here);
    requests->left -= here;
    if (requests->left > 0)
        return STEP_WAIT;
    requests->state = next;
    return STEP_ON;
}

/* ---- the connection ------------------------------------------------------ */

static enum step go_on(struct http_requests *requests, struct input *input)
{
    switch (requests->state) {
    case HTTP_REQUESTS_HEAD:
        return read_head(requests, input);
    case HTTP_REQUESTS_BODY:
        return read_body(requests, input, HTTP_REQUESTS_HEAD);
    case HTTP_REQUESTS_CHUNK_SIZE:
        return read_chunk_size(requests, input);
    case HTTP_REQUESTS_CHUNK:
        return read_body(requests, input, HTTP_REQUESTS_CHUNK_END);
    case HTTP_REQUESTS_CHUNK_END:
        return read_chunk_end(requests, input);
    case HTTP_REQUESTS_TRAILER:
        return read_trailer(requests, input);
    case HTTP_REQUESTS_OVER:
        pass(requests, input, input->length - input->passed);
        return STEP_WAIT;
    case HTTP_REQUESTS_UPGRADE:
        break;
    }
    return STEP_WAIT;
}

bool http_requests_judge(struct http_requests *requests, const char *data,
                         size_t length, size_t *ret_passed,
                         struct refusal *refusal)
{
    struct input input = { data, length, 0, refusal };
    enum step step;

    do
        step = go_on(requests, &input);
    while (step == STEP_ON);
    *ret_passed = input.passed;
    return step == STEP_WAIT;
}

void http_requests_answered(struct http_requests *requests, bool switched)
{
    requests->state = switched ? HTTP_REQUESTS_OVER : HTTP_REQUESTS_HEAD;
}

bool http_requests_is_whole(const struct http_requests *requests)
{
    return requests->state == HTTP_REQUESTS_OVER ||
           (requests->state == HTTP_REQUESTS_HEAD && requests->scanned == 0);
}
