/* SPDX-License-Identifier: Apache-2.0
 *
 * http2_body - see http2_body.h.
 */
#include "proxy/http2_body.h"

#include <glib.h>
#include <string.h>

/* Below it a body keeps the memory that it has. */
enum { BODY_SMALL = 4096 };

/* Move the bytes to memory with room for half as many more. */
static void body_move(struct http2_body *body, size_t needed)
{
    size_t room = MAX(BODY_SMALL, needed + needed / 2);
    uint8_t *data = g_malloc(room);

    if (body->length > 0)
        memcpy(data, body->data + body->start, body->length);
    g_free(body->data);
    body->data = data;
    body->start = 0;
    body->room = room;
}

void http2_body_append(struct http2_body *body, const void *data, size_t length)
{
    if (length == 0)
        return;
    if (length > body->room - body->start - body->length)
        body_move(body, body->length + length);
    memcpy(body->data + body->start + body->length, data, length);
    body->length += length;
}

size_t http2_body_take(struct http2_body *body, void *buf, size_t length)
{
    length = MIN(length, body->length);
    if (length == 0)
        return 0;
    memcpy(buf, body->data + body->start, length);
    body->start += length;
    body->length -= length;
    if (body->length == 0)
        http2_body_clear(body);
    else if (body->room > BODY_SMALL && body->length < body->room / 4)
        body_move(body, body->length);
    return length;
}

size_t http2_body_clear(struct http2_body *body)
{
    size_t length = body->length;

    g_free(body->data);
    *body = (struct http2_body){ 0 };
    return length;
}
