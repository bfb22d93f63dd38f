/* SPDX-License-Identifier: Apache-2.0
 *
 * upstream_answer - see upstream_answer.h.
 */
#include "proxy/upstream_answer.h"

#include <glib.h>
#include <string.h>

enum { PHRASE_MAX = 64 };

enum {
    STATUS_SWITCHED = 101,
    STATUS_OK = 200,
    STATUS_OK_END = 300,
    STATUS_FORBIDDEN = 403,
    STATUS_AUTHENTICATE = 407,
};

static bool fail(struct upstream_answer *answer, const char *problem)
{
    answer->problem = g_strdup_printf("the upstream proxy's answer is "
                                      "malformed: %s",
                                      problem);
    return false;
}

/* ---- the status ---------------------------------------------------------- */

static const char *find_remedy(unsigned status)
{
    switch (status) {
    case STATUS_AUTHENTICATE:
        return "; set HTTPS_PROXY to a URL with the right user and password";
    case STATUS_FORBIDDEN:
        return "; its rules do not allow this name and port";
    default:
        return "";
    }
}

/* The phrase is a peer's text. */
static void refuse_status(struct upstream_answer *answer, const char *phrase,
                          size_t length)
{
    g_autofree char *shown = g_strndup(phrase, MIN(length, PHRASE_MAX));

    for (char *at = shown; *at; at++) {
        if (!g_ascii_isprint(*at))
            *at = '?';
    }
    answer->problem = g_strdup_printf("the upstream proxy answered %u%s%s%s",
                                      answer->head.status, *shown ? " " : "",
                                      shown, find_remedy(answer->head.status));
}

static bool take_status_line(struct upstream_answer *answer, const char *line,
                             size_t len)
{
    struct http_response *head = &answer->head;
    struct refusal refusal = { NULL };
    const char *phrase;
    size_t phrase_len;

    if (!http_response_take_status_line(head, line, len, &phrase, &phrase_len,
                                        &refusal))
        return fail(answer, refusal.reason);
    if ((head->status < STATUS_OK && head->status != STATUS_SWITCHED) ||
        (head->status >= STATUS_OK && head->status < STATUS_OK_END))
        return true;
    refuse_status(answer, phrase, phrase_len);
    return false;
}

/* ---- lines --------------------------------------------------------------- */

/* Return whether the answer goes on, or has ended well. */
static bool take_line(struct upstream_answer *answer, bool *ret_tunnel)
{
    struct http_response *head = &answer->head;
    struct refusal refusal = { NULL };
    struct http_field field;
    const char *problem;
    size_t len;
    const char *line = http_lines_text(&answer->lines, &len, &problem);

    if (!line)
        return fail(answer, problem);
    if (!head->has_status_line)
        return take_status_line(answer, line, len);
    if (len > 0)
        return http_fields_divide(line, len, &field, &refusal) ||
               fail(answer, refusal.reason);
    *ret_tunnel = !http_response_is_interim(head);
    *head = (struct http_response){ 0 };
    return true;
}

enum upstream_answer_verdict
upstream_answer_read(struct upstream_answer *answer, const char *data,
                     size_t length, size_t *ret_used)
{
    struct http_input input = { .data = data, .length = length };
    bool tunnel = false, ok = true;

    while (ok && !tunnel &&
           http_lines_read(&answer->lines, &input, UPSTREAM_ANSWER_MAX) ==
               HTTP_ON) {
        ok = take_line(answer, &tunnel);
        http_lines_next(&answer->lines);
    }
    *ret_used = input.used;
    if (!ok)
        return UPSTREAM_ANSWER_REFUSED;
    return tunnel ? UPSTREAM_ANSWER_TUNNEL : UPSTREAM_ANSWER_MORE;
}

void upstream_answer_clear(struct upstream_answer *answer)
{
    http_lines_clear(&answer->lines);
    g_clear_pointer(&answer->problem, g_free);
}
