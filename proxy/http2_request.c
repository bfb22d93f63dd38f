/* SPDX-License-Identifier: Apache-2.0
 *
 * http2_request - see http2_request.h.
 */
#include "proxy/http2_request.h"

#include <string.h>

#include "proxy/host_name.h"
#include "proxy/http_override.h"

enum { RECORD_MAX = 1 << 10 };

static bool refuse(struct http2_refusal *refusal, const char *reason)
{
    refusal->status = 403;
    refusal->reason = reason;
    return false;
}

static bool refuse_length(struct http2_refusal *refusal)
{
    refuse(refusal, "the request's header fields are longer than 64 KiB");
    refusal->status = 431;
    return false;
}

static bool is_text(const char *text, const char *value, size_t len)
{
    return len == strlen(text) && memcmp(text, value, len) == 0;
}

/* ---- texts for a record -------------------------------------------------- */

static char *record_of(const struct http2_fields *head, const char *name,
                       const char *end)
{
    const char *value = "";
    size_t len = 0;
    char *text;

    http2_fields_find(head, name, &value, &len);
    len = MIN(MIN(len, RECORD_MAX), strcspn(value, end));
    text = g_strndup(value, len);
    for (char *at = text; *at; at++) {
        if (!g_ascii_isgraph(*at))
            *at = '?';
    }
    return text;
}

char *http2_request_method(const struct http2_fields *head)
{
    return record_of(head, ":method", "");
}

char *http2_request_path(const struct http2_fields *head)
{
    return record_of(head, ":path", "?");
}

/* ---- pseudo-header fields ------------------------------------------------ */

static bool refuse_host(const char *text, size_t len,
                        struct http2_refusal *refusal)
{
    struct refusal other;

    host_name_refuse(&other, HOST_NAME_OTHER, text, len);
    refusal->own = host_name_describe(&other);
    return refuse(refusal, refusal->own);
}

static bool check_authority(const struct http_context *context,
                            const char *text, size_t len,
                            struct http2_refusal *refusal)
{
    const char *colon = memchr(text, ':', len);
    size_t name = colon ? (size_t)(colon - text) : len;
    char port[8];

    g_snprintf(port, sizeof(port), "%u", context->port);
    if (!host_name_equals(context->name, text, name))
        return refuse_host(text, name, refusal);
    return !colon || is_text(port, colon + 1, len - name - 1) ||
           refuse(refusal, "the request is for another port");
}

static bool check_path(const char *method, const char *path, size_t len,
                       struct http2_refusal *refusal)
{
    for (size_t i = 0; i < len; i++) {
        if (path[i] <= ' ' || path[i] >= 0x7f || path[i] == '#')
            return refuse(refusal, "the request has a malformed path");
    }
    return (len > 0 && path[0] == '/') ||
           (is_text("*", path, len) && strcmp(method, "OPTIONS") == 0) ||
           refuse(refusal, "the request has a malformed path");
}

/* Check the pseudo-header fields but for the authority. */
static bool check_pseudo(const struct http_context *context,
                         const struct http2_fields *head,
                         struct http2_refusal *refusal)
{
    const char *method, *scheme, *path;
    size_t len;

    if (!http2_fields_find(head, ":method", &method, &len))
        return refuse(refusal, "the request has no method");
    if (g_ascii_strcasecmp(method, "CONNECT") == 0 ||
        http2_fields_find(head, ":protocol", &path, &len))
        return refuse(refusal, "CONNECT is not allowed");
    /* The response would have the request's secrets. */
    if (g_ascii_strcasecmp(method, "TRACE") == 0 ||
        g_ascii_strcasecmp(method, "TRACK") == 0)
        return refuse(refusal, "TRACE is not allowed");
    if (!http2_fields_find(head, ":scheme", &scheme, &len) ||
        !is_text(context->tls ? "https" : "http", scheme, len))
        return refuse(refusal, "the request has another scheme");
    if (!http2_fields_find(head, ":path", &path, &len))
        return refuse(refusal, "the request has no path");
    return check_path(method, path, len, refusal);
}

void http2_request_get_overrides(const struct http2_fields *head,
                                 struct http_override *ret_override)
{
    *ret_override = (struct http_override){ 0 };
    for (size_t i = 0; i < http2_fields_count(head); i++) {
        nghttp2_nv field = http2_fields_get(head, i);

        http_override_take(ret_override, (const char *)field.name,
                           field.namelen, (const char *)field.value,
                           field.valuelen);
    }
}

static bool judge_by_policy(const struct http_context *context,
                            const struct http2_fields *head,
                            struct http2_refusal *refusal)
{
    const char *method = "", *path = "";
    g_autofree char *plain = NULL;
    struct http_override override;
    size_t len;
    bool allowed;

    http2_request_get_overrides(head, &override);
    http2_fields_find(head, ":method", &method, &len);
    http2_fields_find(head, ":path", &path, &len);
    plain = g_strndup(path, strcspn(path, "?"));
    allowed = http_override_judge(&override, context->policy, context->name,
                                  context->port, method, plain, &refusal->allow,
                                  &refusal->own);
    http_override_clear(&override);
    return allowed || refuse(refusal, refusal->own);
}

/* ---- the other fields ---------------------------------------------------- */

/* Some servers take '_' for '-', and so see a field that this one does not. */
static bool is_alike(const char *name)
{
    static const char *const fields[] = { "content-length",
                                          "transfer-encoding" };

    if (!strchr(name, '_'))
        return false;
    for (size_t i = 0; i < G_N_ELEMENTS(fields); i++) {
        size_t at = 0;

        while (name[at] && (name[at] == fields[i][at] ||
                            (name[at] == '_' && fields[i][at] == '-')))
            at++;
        if (!name[at] && !fields[i][at])
            return true;
    }
    return false;
}

/* Add a field with values for placeholders. A value gets into no table of
 * header compression. */
static bool put_in(const struct http_context *context, const nghttp2_nv *field,
                   struct http2_fields *fields, struct http2_refusal *refusal)
{
    const char *name = (const char *)field->name;
    const char *value = (const char *)field->value;
    g_autoptr(GString) text = NULL;
    const char *reason = NULL;
    enum secrets_verdict verdict = SECRETS_NONE;

    if (context->secrets) {
        text = g_string_new(NULL);
        verdict = secrets_put_in(context->secrets, context->name, context->tls,
                                 name, value, field->valuelen, text, &reason);
    }
    if (verdict == SECRETS_REFUSED)
        return refuse(refusal, reason);
    if (verdict == SECRETS_NONE) {
        http2_fields_add(fields, name, field->namelen, value, field->valuelen,
                         field->flags);
    } else {
        http2_fields_add(fields, name, field->namelen, text->str, text->len,
                         NGHTTP2_NV_FLAG_NO_INDEX);
        explicit_bzero(text->str, text->allocated_len);
    }
    return true;
}

/* The head has one authority, from ":authority" or else from "host". */
static bool add_pseudo(const struct http_context *context,
                       const struct http2_fields *head,
                       struct http2_fields *ret_head,
                       struct http2_refusal *refusal)
{
    static const char *const names[] = { ":method", ":scheme", ":authority",
                                         ":path" };
    const char *value;
    size_t len;

    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        if (!http2_fields_find(head, names[i], &value, &len) &&
            (i != 2 || !http2_fields_find(head, "host", &value, &len)))
            return refuse(refusal, "the request has no authority");
        if (i == 2 && !check_authority(context, value, len, refusal))
            return false;
        http2_fields_add(ret_head, names[i], strlen(names[i]), value, len, 0);
    }
    return true;
}

static bool add_fields(const struct http_context *context,
                       const struct http2_fields *head,
                       struct http2_fields *ret_head,
                       struct http2_refusal *refusal)
{
    bool has_host = false;

    for (size_t i = 0; i < http2_fields_count(head); i++) {
        nghttp2_nv field = http2_fields_get(head, i);
        const char *name = (const char *)field.name;

        if (name[0] == ':')
            continue;
        if (is_alike(name))
            return refuse(refusal,
                          "a field's name has an underscore for a hyphen");
        if (strcmp(name, "host") == 0) {
            if (has_host)
                return refuse(refusal, "the request has two Host fields");
            has_host = true;
            if (!check_authority(context, (const char *)field.value,
                                 field.valuelen, refusal))
                return false;
            continue;
        }
        if (!put_in(context, &field, ret_head, refusal))
            return false;
    }
    return true;
}

bool http2_request_judge(const struct http_context *context,
                         const struct http2_fields *head,
                         struct http2_fields *ret_head,
                         struct http2_refusal *refusal)
{
    bool ok;

    if (head->is_too_long)
        return refuse_length(refusal);
    ok = check_pseudo(context, head, refusal) &&
         add_pseudo(context, head, ret_head, refusal) &&
         judge_by_policy(context, head, refusal) &&
         add_fields(context, head, ret_head, refusal) &&
         (!ret_head->is_too_long || refuse_length(refusal));
    if (!ok)
        http2_fields_clear(ret_head);
    return ok;
}

bool http2_request_judge_trailers(const struct http_context *context,
                                  const struct http2_fields *trailers,
                                  struct http2_refusal *refusal)
{
    if (trailers->is_too_long)
        return refuse_length(refusal);
    for (size_t i = 0; i < http2_fields_count(trailers); i++) {
        nghttp2_nv field = http2_fields_get(trailers, i);
        g_autoptr(GString) text = g_string_new(NULL);
        const char *reason;

        if (http_override_has((const char *)field.name, field.namelen))
            return refuse(refusal, "a field after the body asks for another "
                                   "method or path");
        if (context->secrets &&
            secrets_put_in(context->secrets, context->name, context->tls,
                           (const char *)field.name, (const char *)field.value,
                           field.valuelen, text, &reason) != SECRETS_NONE) {
            explicit_bzero(text->str, text->allocated_len);
            return refuse(refusal, "a placeholder of a secret is in a field "
                                   "after the body");
        }
    }
    return true;
}

void http2_response_copy(const struct http_context *context,
                         const struct http2_fields *fields,
                         struct http2_fields *ret_fields)
{
    struct secrets *secrets = context ? context->secrets : NULL;
    g_autoptr(GString) text = g_string_new(NULL);

    for (size_t i = 0; i < http2_fields_count(fields); i++) {
        nghttp2_nv field = http2_fields_get(fields, i);
        const char *value = (const char *)field.value;
        size_t len = field.valuelen;

        /* A name has no place for a placeholder. */
        if (secrets &&
            secrets_take_out(secrets, context->name, (const char *)field.name,
                             field.namelen, text))
            continue;
        if (secrets &&
            secrets_take_out(secrets, context->name, value, len, text)) {
            value = text->str;
            len = text->len;
        }
        http2_fields_add(ret_fields, (const char *)field.name, field.namelen,
                         value, len, field.flags);
    }
}

void http2_refusal_clear(struct http2_refusal *refusal)
{
    g_free(refusal->own);
    g_free(refusal->allow);
    *refusal = (struct http2_refusal){ 0 };
}

char *http2_refusal_text(const struct http_context *context,
                         const struct http2_refusal *refusal)
{
    GString *text = g_string_new(NULL);

    g_string_printf(text, "Stepback refused this request to %s: %s.\n",
                    context->name, refusal->reason);
    if (refusal->allow)
        g_string_append_printf(text, "Add %s to --network to allow it.\n",
                               refusal->allow);
    return g_string_free(text, FALSE);
}
