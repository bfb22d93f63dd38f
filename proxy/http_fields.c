/* SPDX-License-Identifier: Apache-2.0
 *
 * http_fields - see http_fields.h.
 */
#include "proxy/http_fields.h"

#include <glib.h>
#include <string.h>

#include "proxy/http_length.h"

static bool refuse(struct refusal *refusal, const char *reason)
{
    return host_name_refuse(refusal, reason, NULL, 0);
}

static bool is_word(const char *word, const char *text, size_t len)
{
    return len == strlen(word) && g_ascii_strncasecmp(word, text, len) == 0;
}

/* Characters of a token (RFC 9110, 5.6.2). */
static bool is_token(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (!g_ascii_isalnum(text[i]) &&
            (text[i] == '\0' || !strchr("!#$%&'*+-.^_`|~", text[i])))
            return false;
    }
    return len > 0;
}

/* ---- the authority ------------------------------------------------------- */

/* Check "name" or "name:port". */
static bool check_authority(const struct http_target *target, const char *text,
                            size_t len, struct refusal *refusal)
{
    const char *colon = memchr(text, ':', len);
    size_t name = colon ? (size_t)(colon - text) : len;
    char port[8];

    g_snprintf(port, sizeof(port), "%u", target->port);
    if (!host_name_equals(target->name, text, name))
        return host_name_refuse(refusal, HOST_NAME_OTHER, text, name);
    return !colon || is_word(port, colon + 1, len - name - 1) ||
           refuse(refusal, "the request is for another port");
}

/* ---- the request line ---------------------------------------------------- */

static bool check_method(struct http_head *head, const char *method, size_t len,
                         struct refusal *refusal)
{
    if (!is_token(method, len))
        return refuse(refusal, "the request has a malformed method");
    if (is_word("CONNECT", method, len))
        return refuse(refusal, "CONNECT is not allowed");
    /* The response would have the request's secrets. */
    if (is_word("TRACE", method, len) || is_word("TRACK", method, len))
        return refuse(refusal, "TRACE is not allowed");
    head->is_get = len == 3 && memcmp(method, "GET", len) == 0;
    return true;
}

/* Take a path, "*", or a URL with the same authority. */
static bool check_target(const struct http_target *target, const char *text,
                         size_t len, struct refusal *refusal)
{
    static const char scheme[] = "http://";
    size_t skipped = sizeof(scheme) - 1, authority = 0;

    for (size_t i = 0; i < len; i++) {
        if (text[i] <= ' ' || text[i] >= 0x7f)
            return refuse(refusal, "the request has a malformed target");
    }
    if (len > 0 && (text[0] == '/' || (text[0] == '*' && len == 1)))
        return true;
    if (len <= skipped || g_ascii_strncasecmp(text, scheme, skipped) != 0)
        return refuse(refusal, "the request's target must be a path");
    text += skipped;
    len -= skipped;
    while (authority < len && !strchr("/?#", text[authority]))
        authority++;
    return check_authority(target, text, authority, refusal);
}

bool http_fields_take_request_line(struct http_head *head,
                                   const struct http_target *target,
                                   const char *line, size_t len,
                                   struct refusal *refusal)
{
    const char *first = memchr(line, ' ', len);
    const char *last = memrchr(line, ' ', len);
    size_t version;

    head->has_request_line = true;
    if (!first || first == last)
        return refuse(refusal, "the request line is malformed");
    version = len - (size_t)(last + 1 - line);
    if (is_word("HTTP/2.0", last + 1, version))
        return refuse(refusal, "HTTP/2 without TLS is not allowed");
    if (version != 8 || (memcmp(last + 1, "HTTP/1.1", 8) != 0 &&
                         memcmp(last + 1, "HTTP/1.0", 8) != 0))
        return refuse(refusal, "the request line is malformed");
    head->is_old = last[version] == '0';
    return check_method(head, line, (size_t)(first - line), refusal) &&
           check_target(target, first + 1, (size_t)(last - first - 1), refusal);
}

/* ---- fields -------------------------------------------------------------- */

bool http_fields_is(const struct http_field *field, const char *name)
{
    return is_word(name, field->name, field->name_len);
}

bool http_fields_lists(const struct http_field *field, const char *word)
{
    const char *at = field->value, *end = at + field->value_len;

    while (at < end) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        const char *stop = comma ? comma : end, *next = comma ? comma + 1 : end;

        while (at < stop && (*at == ' ' || *at == '\t'))
            at++;
        while (stop > at && (stop[-1] == ' ' || stop[-1] == '\t'))
            stop--;
        if (is_word(word, at, (size_t)(stop - at)))
            return true;
        at = next;
    }
    return false;
}

static bool take_host(struct http_head *head, const struct http_target *target,
                      const struct http_field *field, struct refusal *refusal)
{
    if (head->has_host)
        return refuse(refusal, "the request has two Host fields");
    head->has_host = true;
    return check_authority(target, field->value, field->value_len, refusal);
}

static bool take_length(struct http_head *head,
                        const struct http_target *target,
                        const struct http_field *field, struct refusal *refusal)
{
    if (head->has_length)
        return refuse(refusal, "the request has two Content-Length fields");
    head->has_length = true;
    return http_length_parse(field->value, field->value_len, &head->length) ||
           refuse(refusal, "the Content-Length is malformed");
}

static bool take_encoding(struct http_head *head,
                          const struct http_target *target,
                          const struct http_field *field,
                          struct refusal *refusal)
{
    if (head->is_chunked || !is_word("chunked", field->value, field->value_len))
        return refuse(refusal, "the Transfer-Encoding must be \"chunked\"");
    head->is_chunked = true;
    return true;
}

/* Other protocols could name other hosts within the connection. */
static bool take_upgrade(struct http_head *head,
                         const struct http_target *target,
                         const struct http_field *field,
                         struct refusal *refusal)
{
    if (head->upgrades || !is_word("websocket", field->value, field->value_len))
        return refuse(refusal, "only an upgrade to WebSocket is allowed");
    head->upgrades = true;
    return true;
}

/* A proxy removes the fields that a Connection field lists. */
static bool take_connection(struct http_head *head,
                            const struct http_target *target,
                            const struct http_field *field,
                            struct refusal *refusal)
{
    if (http_fields_lists(field, "host") ||
        http_fields_lists(field, "content-length") ||
        http_fields_lists(field, "transfer-encoding"))
        return refuse(refusal, "a Connection field lists a field that a "
                               "request needs");
    head->closes = head->closes || http_fields_lists(field, "close");
    return true;
}

static bool take_expect(struct http_head *head,
                        const struct http_target *target,
                        const struct http_field *field, struct refusal *refusal)
{
    head->expects = true;
    return true;
}

static const struct known {
    const char *name;
    bool (*take)(struct http_head *head, const struct http_target *target,
                 const struct http_field *field, struct refusal *refusal);
} known[] = {
    { "Host", take_host },
    { "Content-Length", take_length },
    { "Transfer-Encoding", take_encoding },
    { "Upgrade", take_upgrade },
    { "Connection", take_connection },
    { "Expect", take_expect },
};

static const struct known *find_known(const char *name, size_t len)
{
    for (size_t i = 0; i < G_N_ELEMENTS(known); i++) {
        if (is_word(known[i].name, name, len))
            return &known[i];
    }
    return NULL;
}

/* Some servers take '_' for '-', and so see a field that this one does not. */
static bool is_alike(const char *name, size_t len)
{
    g_autofree char *text = g_strndup(name, len);

    return memchr(name, '_', len) &&
           find_known(g_strdelimit(text, "_", '-'), len);
}

/* The value may have bytes above 127 (obs-text), but no control characters. */
bool http_fields_divide(const char *line, size_t len,
                        struct http_field *ret_field, struct refusal *refusal)
{
    const char *colon = memchr(line, ':', len), *end = line + len, *value;

    if (len > 0 && (line[0] == ' ' || line[0] == '\t'))
        return refuse(refusal, "a field is folded");
    if (!colon || !is_token(line, (size_t)(colon - line)))
        return refuse(refusal, "a field's name is malformed");
    if (is_alike(line, (size_t)(colon - line)))
        return refuse(refusal, "a field's name has an underscore for a hyphen");
    for (value = colon + 1; value < end; value++) {
        if (g_ascii_iscntrl(*value) && *value != '\t')
            return refuse(refusal, "a field has a control character");
    }
    value = colon + 1;
    while (value < end && (*value == ' ' || *value == '\t'))
        value++;
    while (end > value && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    *ret_field = (struct http_field){ line, value, (size_t)(colon - line),
                                      (size_t)(end - value) };
    return true;
}

bool http_fields_take_field(struct http_head *head,
                            const struct http_target *target,
                            const struct http_field *field,
                            struct refusal *refusal)
{
    const struct known *found = find_known(field->name, field->name_len);

    return !found || found->take(head, target, field, refusal);
}

bool http_fields_take(struct http_head *head, const struct http_target *target,
                      const char *line, size_t len, struct refusal *refusal)
{
    struct http_field field;

    return http_fields_divide(line, len, &field, refusal) &&
           http_fields_take_field(head, target, &field, refusal);
}

bool http_fields_take_trailer_field(const struct http_field *field,
                                    struct refusal *refusal)
{
    return !find_known(field->name, field->name_len) ||
           refuse(refusal, "a trailer has a field of the head");
}

bool http_fields_take_trailer(const char *line, size_t len,
                              struct refusal *refusal)
{
    struct http_field field;

    return http_fields_divide(line, len, &field, refusal) &&
           http_fields_take_trailer_field(&field, refusal);
}

bool http_fields_end(const struct http_head *head, struct refusal *refusal)
{
    if (!head->has_host)
        return refuse(refusal, "the request has no Host field");
    if (head->is_chunked && (head->has_length || head->is_old))
        return refuse(refusal, "the request's length is ambiguous");
    if (head->upgrades &&
        (!head->is_get || head->is_chunked || head->length > 0))
        return refuse(refusal, "an upgrade must be a GET without a body");
    return true;
}
