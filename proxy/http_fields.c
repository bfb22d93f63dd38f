/* SPDX-License-Identifier: Apache-2.0
 *
 * http_fields - see http_fields.h.
 */
#include "proxy/http_fields.h"

#include <glib.h>
#include <string.h>

/* Of a Content-Length: less than 2^63. */
enum { DIGITS_MAX = 18 };

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
        return host_name_refuse(refusal, "the request is for another host",
                                text, name);
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

static bool take_host(struct http_head *head, const struct http_target *target,
                      const char *value, size_t len, struct refusal *refusal)
{
    if (head->has_host)
        return refuse(refusal, "the request has two Host fields");
    head->has_host = true;
    return check_authority(target, value, len, refusal);
}

static bool take_length(struct http_head *head,
                        const struct http_target *target, const char *value,
                        size_t len, struct refusal *refusal)
{
    if (head->has_length)
        return refuse(refusal, "the request has two Content-Length fields");
    if (len == 0 || len > DIGITS_MAX)
        return refuse(refusal, "the Content-Length is malformed");
    head->has_length = true;
    head->length = 0;
    for (size_t i = 0; i < len; i++) {
        if (!g_ascii_isdigit(value[i]))
            return refuse(refusal, "the Content-Length is malformed");
        head->length = head->length * 10 + (uint64_t)(value[i] - '0');
    }
    return true;
}

static bool take_encoding(struct http_head *head,
                          const struct http_target *target, const char *value,
                          size_t len, struct refusal *refusal)
{
    if (head->is_chunked || !is_word("chunked", value, len))
        return refuse(refusal, "the Transfer-Encoding must be \"chunked\"");
    head->is_chunked = true;
    return true;
}

/* Other protocols could name other hosts within the connection. */
static bool take_upgrade(struct http_head *head,
                         const struct http_target *target, const char *value,
                         size_t len, struct refusal *refusal)
{
    if (head->upgrades || !is_word("websocket", value, len))
        return refuse(refusal, "only an upgrade to WebSocket is allowed");
    head->upgrades = true;
    return true;
}

/* A proxy removes the fields that a Connection field lists. */
static bool take_connection(struct http_head *head,
                            const struct http_target *target, const char *value,
                            size_t len, struct refusal *refusal)
{
    g_autofree char *text = g_strndup(value, len);
    g_auto(GStrv) words = g_strsplit(text, ",", -1);

    for (unsigned i = 0; words[i]; i++) {
        const char *word = g_strstrip(words[i]);

        if (g_ascii_strcasecmp(word, "host") == 0 ||
            g_ascii_strcasecmp(word, "content-length") == 0 ||
            g_ascii_strcasecmp(word, "transfer-encoding") == 0)
            return refuse(refusal, "a Connection field lists a field that a "
                                   "request needs");
    }
    return true;
}

static const struct field {
    const char *name;
    bool (*take)(struct http_head *head, const struct http_target *target,
                 const char *value, size_t len, struct refusal *refusal);
} fields[] = {
    { "Host", take_host },
    { "Content-Length", take_length },
    { "Transfer-Encoding", take_encoding },
    { "Upgrade", take_upgrade },
    { "Connection", take_connection },
};

static const struct field *find_field(const char *name, size_t len)
{
    for (size_t i = 0; i < G_N_ELEMENTS(fields); i++) {
        if (is_word(fields[i].name, name, len))
            return &fields[i];
    }
    return NULL;
}

/* Some servers take '_' for '-', and so see a field that this one does not. */
static bool is_alike(const char *name, size_t len)
{
    g_autofree char *text = g_strndup(name, len);

    return memchr(name, '_', len) &&
           find_field(g_strdelimit(text, "_", '-'), len);
}

/* Divide "name: value"; the value may have bytes above 127 (obs-text), but no
 * control characters. */
static bool divide(const char *line, size_t len, size_t *ret_name,
                   const char **ret_value, size_t *ret_len,
                   struct refusal *refusal)
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
    *ret_name = (size_t)(colon - line);
    *ret_value = value;
    *ret_len = (size_t)(end - value);
    return true;
}

bool http_fields_take(struct http_head *head, const struct http_target *target,
                      const char *line, size_t len, struct refusal *refusal)
{
    const struct field *field;
    const char *value;
    size_t name, value_len;

    if (!divide(line, len, &name, &value, &value_len, refusal))
        return false;
    field = find_field(line, name);
    return !field || field->take(head, target, value, value_len, refusal);
}

bool http_fields_take_trailer(const char *line, size_t len,
                              struct refusal *refusal)
{
    const char *value;
    size_t name, value_len;

    return divide(line, len, &name, &value, &value_len, refusal) &&
           (!find_field(line, name) ||
            refuse(refusal, "a trailer has a field of the head"));
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
