/* SPDX-License-Identifier: Apache-2.0
 *
 * http_response - see http_response.h.
 */
#include "proxy/http_response.h"

#include <glib.h>
#include <string.h>

#include "proxy/http_length.h"

enum {
    STATUS_SWITCHED = 101,
    STATUS_OK = 200,
    STATUS_NO_CONTENT = 204,
    STATUS_NOT_MODIFIED = 304,
};

/* "HTTP/1.1 200", and a space, which many servers leave out if no phrase
 * follows. */
enum { VERSION_LENGTH = 8, STATUS_END = 12 };

static bool refuse(struct refusal *refusal, const char *reason)
{
    return host_name_refuse(refusal, reason, NULL, 0);
}

bool http_response_take_status_line(struct http_response *response,
                                    const char *line, size_t len,
                                    const char **ret_reason,
                                    size_t *ret_reason_len,
                                    struct refusal *refusal)
{
    uint64_t status;

    response->has_status_line = true;
    if (len < STATUS_END || (memcmp(line, "HTTP/1.1", VERSION_LENGTH) != 0 &&
                             memcmp(line, "HTTP/1.0", VERSION_LENGTH) != 0))
        return refuse(refusal, "the status line is malformed");
    if (line[VERSION_LENGTH] != ' ' || line[VERSION_LENGTH + 1] == '0' ||
        !http_length_parse(line + VERSION_LENGTH + 1, 3, &status) ||
        (len > STATUS_END && line[STATUS_END] != ' '))
        return refuse(refusal, "the status line is malformed");
    for (size_t i = STATUS_END; i < len; i++) {
        if (g_ascii_iscntrl(line[i]) && line[i] != '\t')
            return refuse(refusal, "the status line has a control character");
    }
    response->status = (unsigned)status;
    response->is_old = line[VERSION_LENGTH - 1] == '0';
    *ret_reason = line + MIN(len, STATUS_END + 1);
    *ret_reason_len = len - MIN(len, STATUS_END + 1);
    return true;
}

static bool take_length(struct http_response *response,
                        const struct http_field *field, struct refusal *refusal)
{
    if (response->has_length)
        return refuse(refusal, "there are two Content-Length fields");
    response->has_length = true;
    return http_length_parse(field->value, field->value_len,
                             &response->length) ||
           refuse(refusal, "the Content-Length is malformed");
}

static bool is_value(const struct http_field *field, const char *word)
{
    return field->value_len == strlen(word) &&
           g_ascii_strncasecmp(field->value, word, field->value_len) == 0;
}

bool http_response_take(struct http_response *response,
                        const struct http_field *field, struct refusal *refusal)
{
    if (http_fields_is(field, "Content-Length"))
        return take_length(response, field, refusal);
    if (http_fields_is(field, "Transfer-Encoding")) {
        if (response->is_chunked || !is_value(field, "chunked"))
            return refuse(refusal, "the Transfer-Encoding must be \"chunked\"");
        response->is_chunked = true;
    } else if (http_fields_is(field, "Connection")) {
        response->closes = response->closes ||
                           http_fields_lists(field, "close");
        response->keeps = response->keeps ||
                          http_fields_lists(field, "keep-alive");
    } else if (http_fields_is(field, "Upgrade")) {
        response->upgrades = is_value(field, "websocket");
    }
    return true;
}

bool http_response_is_interim(const struct http_response *response)
{
    return response->status < STATUS_OK;
}

bool http_response_end(struct http_response *response, struct refusal *refusal)
{
    bool bodyless = http_response_is_interim(response) ||
                    response->status == STATUS_NO_CONTENT;

    if (response->is_chunked && (response->has_length || response->is_old))
        return refuse(refusal, "the length is ambiguous");
    if (bodyless && (response->is_chunked || response->length > 0))
        return refuse(refusal, "a status without a body has a length");
    if (response->status == STATUS_SWITCHED &&
        (!response->upgrades || response->is_old))
        return refuse(refusal, "it switches to another protocol than "
                               "WebSocket");
    if (response->is_old && !response->keeps)
        response->closes = true;
    return true;
}

enum http_response_body http_response_body(const struct http_response *response,
                                           bool to_head)
{
    if (to_head || http_response_is_interim(response) ||
        response->status == STATUS_NO_CONTENT ||
        response->status == STATUS_NOT_MODIFIED)
        return HTTP_RESPONSE_NO_BODY;
    return response->is_chunked || response->has_length ? HTTP_RESPONSE_SIZED
                                                        : HTTP_RESPONSE_TO_END;
}
