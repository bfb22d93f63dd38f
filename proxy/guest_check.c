/* SPDX-License-Identifier: Apache-2.0
 *
 * guest_check - see guest_check.h.
 */
#include "proxy/guest_check.h"

#include <glib.h>
#include <string.h>

#include "proxy/tls_hello.h"

/* A first line that is longer is judged as HTTP, whose reader does not begin
 * again with each byte. */
enum { FIRST_LINE_MAX = 4096 };

enum looks { LOOKS_OPEN, LOOKS_TLS, LOOKS_HTTP, LOOKS_OLD, LOOKS_OTHER };

/* Of TLS: record types (RFC 8446, 5.1), and the least length of a hello of
 * SSL 2.0 (RFC 5246, E.2). */
enum { RECORD_MIN = 20, RECORD_MAX = 24, HELLO_V2 = 1, HELLO_V2_MIN = 9 };

void guest_check_init(struct guest_check *check, enum guest_check_kind kind,
                      const char *name, unsigned port)
{
    *check = (struct guest_check){
        .kind = kind,
        .protocol = kind == GUEST_CHECK_RAW ? GUEST_CHECK_PASSED
                                            : GUEST_CHECK_UNKNOWN,
        .name = name,
    };
    http_requests_init(&check->http, name, port);
}

/* ---- the protocol -------------------------------------------------------- */

static bool is_method(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (!g_ascii_isgraph(text[i]) || strchr("\"(),/:;<=>?@[\\]{}", text[i]))
            return false;
    }
    return true;
}

/* Judge the start of TLS, if it is one. A hello of SSL 2.0 has no server name;
 * some servers skip other records before the ClientHello. All these are then
 * refused. */
static enum looks look_at_record(const uint8_t *data, size_t length)
{
    if (data[0] >= RECORD_MIN && data[0] <= RECORD_MAX)
        return length < 2 ? LOOKS_OPEN : data[1] == 3 ? LOOKS_TLS : LOOKS_OTHER;
    if (!(data[0] & 0x80))
        return LOOKS_OTHER;
    if (length < 2)
        return LOOKS_OPEN;
    if (((data[0] & 0x7f) << 8 | data[1]) < HELLO_V2_MIN)
        return LOOKS_OTHER;
    return length < 3            ? LOOKS_OPEN
           : data[2] == HELLO_V2 ? LOOKS_TLS
                                 : LOOKS_OTHER;
}

/* Return whether the line is a request of HTTP/0.9, which names no host, or
 * any. */
static bool is_old_request(const char *line, size_t len, size_t method)
{
    size_t target = method;

    while (target < len && (line[target] == ' ' || line[target] == '\t'))
        target++;
    return method == 3 && g_ascii_strncasecmp(line, "GET", 3) == 0 &&
           target < len &&
           (line[target] == '/' ||
            (len - target >= 5 &&
             g_ascii_strncasecmp(line + target, "http:", 5) == 0));
}

/* Some servers accept bare LF, spaces in other places, and any letters. */
static enum looks look_at_line(const char *line, size_t len, bool whole)
{
    size_t method = 0;

    while (method < len && line[method] != ' ' && line[method] != '\t')
        method++;
    if (!is_method(line, method - (method > 0 && line[method - 1] == '\r')))
        return LOOKS_OTHER;
    for (size_t i = method; i < len; i++) {
        if (g_ascii_iscntrl(line[i]) && line[i] != '\t' && line[i] != '\r')
            return LOOKS_OTHER;
    }
    if (!whole)
        return LOOKS_OPEN;
    for (size_t i = method; i + 5 <= len; i++) {
        if (g_ascii_strncasecmp(line + i, "HTTP/", 5) == 0)
            return LOOKS_HTTP;
    }
    return is_old_request(line, len, method) ? LOOKS_OLD : LOOKS_OTHER;
}

/* Some servers skip empty lines before a request, and take one whose line ends
 * with the connection. over: no byte follows. */
static enum looks look(const char *data, size_t received, bool over)
{
    size_t length = MIN(received, FIRST_LINE_MAX), start = 0;
    enum looks looks = LOOKS_OPEN;
    enum looks record;
    const char *end;

    if (length == 0)
        return LOOKS_OPEN;
    record = look_at_record((const uint8_t *)data, length);
    if (record != LOOKS_OTHER)
        return record;
    while (start < length && (data[start] == '\r' || data[start] == '\n'))
        start++;
    if (start < length) {
        end = memchr(data + start, '\n', length - start);
        looks = look_at_line(data + start,
                             (end ? (size_t)(end - data) : length) - start,
                             end != NULL || over);
    }
    return looks == LOOKS_OPEN && length == FIRST_LINE_MAX ? LOOKS_HTTP : looks;
}

static bool set_protocol(struct guest_check *check, enum looks looks)
{
    if (looks == LOOKS_TLS)
        check->protocol = GUEST_CHECK_TLS;
    else if (looks == LOOKS_HTTP)
        check->protocol = check->kind == GUEST_CHECK_INTERCEPT
                              ? GUEST_CHECK_REQUEST
                              : GUEST_CHECK_HTTP;
    else if (check->kind == GUEST_CHECK_PORT && looks == LOOKS_OLD)
        return host_name_refuse(&check->refusal, "HTTP/0.9 is not allowed",
                                NULL, 0);
    else if (check->kind == GUEST_CHECK_PORT)
        check->protocol = GUEST_CHECK_PASSED;
    else
        return host_name_refuse(&check->refusal,
                                "the protocol is neither TLS nor HTTP/1.1",
                                NULL, 0);
    return true;
}

/* ---- judging ------------------------------------------------------------- */

static bool judge_hello(struct guest_check *check, const char *data,
                        size_t length)
{
    enum tls_hello_verdict verdict = tls_hello_judge(
        (const uint8_t *)data, length, check->name, &check->refusal);

    if (verdict == TLS_HELLO_PASSED)
        check->protocol = check->kind == GUEST_CHECK_INTERCEPT
                              ? GUEST_CHECK_HELLO
                              : GUEST_CHECK_PASSED;
    return verdict != TLS_HELLO_REFUSED;
}

bool guest_check_judge(struct guest_check *check, const char *data,
                       size_t length, size_t *ret_passed)
{
    *ret_passed = 0;
    if (check->protocol == GUEST_CHECK_UNKNOWN) {
        enum looks looks = look(data, length, false);

        if (looks == LOOKS_OPEN)
            return true;
        if (!set_protocol(check, looks))
            return false;
    }
    if (check->protocol == GUEST_CHECK_TLS && !judge_hello(check, data, length))
        return false;
    if (check->protocol == GUEST_CHECK_HTTP)
        return http_requests_judge(&check->http, data, length, ret_passed,
                                   &check->refusal);
    if (check->protocol == GUEST_CHECK_PASSED)
        *ret_passed = length;
    return true;
}

bool guest_check_end(struct guest_check *check, const char *data, size_t length)
{
    if (length == 0 || guest_check_waits(check))
        return true;
    if (check->protocol == GUEST_CHECK_UNKNOWN) {
        enum looks looks = look(data, length, true);

        if (!set_protocol(check, looks == LOOKS_OPEN ? LOOKS_OTHER : looks))
            return false;
    }
    return check->protocol == GUEST_CHECK_PASSED ||
           host_name_refuse(&check->refusal,
                            check->protocol == GUEST_CHECK_TLS
                                ? "the ClientHello is incomplete"
                                : "a request is incomplete",
                            NULL, 0);
}

bool guest_check_hear(struct guest_check *check, const char *data,
                      size_t length)
{
    enum http_status_verdict verdict;

    if (check->kind == GUEST_CHECK_PORT &&
        check->protocol == GUEST_CHECK_UNKNOWN && length > 0) {
        check->protocol = GUEST_CHECK_PASSED;
        return true;
    }
    if (check->protocol != GUEST_CHECK_HTTP ||
        check->status.verdict != HTTP_STATUS_MORE)
        return false;
    verdict = http_status_read(&check->status, data, length);
    if (verdict == HTTP_STATUS_MORE || !guest_check_waits(check))
        return false;
    http_requests_answered(&check->http, verdict == HTTP_STATUS_SWITCHED);
    return true;
}

bool guest_check_waits(const struct guest_check *check)
{
    return check->protocol == GUEST_CHECK_HTTP &&
           check->http.state == HTTP_REQUESTS_UPGRADE;
}

bool guest_check_is_intercepted(const struct guest_check *check)
{
    return check->protocol == GUEST_CHECK_HELLO ||
           check->protocol == GUEST_CHECK_REQUEST;
}

bool guest_check_is_urgent(const struct guest_check *check, size_t length)
{
    if (check->protocol == GUEST_CHECK_PASSED || guest_check_waits(check))
        return false;
    return length > 0 || (check->protocol == GUEST_CHECK_UNKNOWN &&
                          (check->kind == GUEST_CHECK_WEB ||
                           check->kind == GUEST_CHECK_INTERCEPT));
}
