/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz-http1-relay - a hostile guest and a strange server at both ends of a
 * relay (http1_relay.h).
 *
 * The first byte's bits: 0 TLS; 1 the guest reads only when the relay waits for
 * that; 2 all requests are allowed. Then texts, each behind the byte 255 and a
 * letter: G a guest's, S a server's; g and s: it ends. The result must not
 * depend on how the texts are divided. A separate, naive reader must find in
 * the server's input exactly the requests that were reported, all of them
 * allowed, and no value of a secret but in its field with TLS; and none in a
 * head that the guest gets.
 */
#include <glib.h>
#include <string.h>

#include "tests/proxy/relay_talk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { BIT_TLS = 1, BIT_SLOW = 2, BIT_WHOLE = 4 };

/* More than a body's bound and a head. */
enum { OUTPUT_MAX = 256 << 10 };

/* A length of 3n: its Base64 has no other bytes. */
static const char value[] = VALUE;

static bool contains(const char *text, size_t len, const char *part)
{
    return memmem(text, len, part, strlen(part)) != NULL;
}

/* ---- running ------------------------------------------------------------- */

static void check_bound(struct talk *talk)
{
    for (int side = 0; side < 2; side++) {
        size_t length;

        talk->relay->ops->output(talk->relay, (enum http_side)side, &length);
        g_assert_cmpuint(length, <=, OUTPUT_MAX);
    }
}

/* Let the relay judge a line that it has read ahead, which it does with the
 * next byte. */
static void poke(struct talk *talk)
{
    const struct http_relay_ops *ops = talk->relay->ops;

    if (talk->failed || !ops->wants(talk->relay, HTTP_GUEST))
        return;
    talk->failed = ops->take(talk->relay, HTTP_GUEST, (const uint8_t *)"", 0) <
                   0;
    talk_pump(talk);
}

static void send_text(struct talk *talk, uint8_t bits, enum http_side side,
                      const char *text, size_t len, size_t step)
{
    talk->stalled[HTTP_GUEST] = bits & BIT_SLOW;
    talk_send(talk, side, text, len, step);
    check_bound(talk);
    talk->stalled[HTTP_GUEST] = false;
    talk_pump(talk);
    poke(talk);
}

static struct talk *run(uint8_t bits, const char *data, size_t size,
                        size_t step)
{
    struct talk *talk = bits & BIT_WHOLE ? talk_new_whole(bits & BIT_TLS)
                                         : talk_new(bits & BIT_TLS);
    const char *at = memchr(data, 255, size), *end = data + size;

    while (at && at + 1 < end) {
        const char *text = at + 2;
        const char *next = memchr(text, 255, (size_t)(end - text));
        size_t len = (size_t)((next ? next : end) - text);

        switch (at[1]) {
        case 'G':
        case 'S':
            send_text(talk, bits, at[1] == 'G' ? HTTP_GUEST : HTTP_SERVER, text,
                      len, MIN(step, len + 1));
            break;
        case 'g':
        case 's':
            talk_end(talk, at[1] == 'g' ? HTTP_GUEST : HTTP_SERVER);
            break;
        }
        at = next;
    }
    return talk;
}

/* ---- a naive reader ------------------------------------------------------ */

struct message {
    const char *at; /* the rest */
    size_t left;
    char *head; /* its lines, as far as the empty one */
    size_t head_len;
    char *line; /* the first line */
};

static void next_head(struct message *message, size_t length)
{
    g_free(message->head);
    g_free(message->line);
    message->head = g_memdup2(message->at, length + 1);
    message->head[length] = '\0';
    message->head_len = length;
    message->line = g_strndup(message->at, strcspn(message->head, "\r\n"));
    message->at += length;
    message->left -= length;
}

/* Check the lines of a head or trailer, which has no NUL. */
static void check_lines(const char *head, size_t len, bool has_first)
{
    g_assert_cmpuint(strlen(head), ==, len);
    for (const char *at = head; *at != '\r'; has_first = false) {
        const char *end = strchr(at, '\n');
        size_t name = strcspn(at, ":");

        g_assert_true(end && end > at && end[-1] == '\r');
        g_assert_null(memchr(at, '\r', (size_t)(end - 1 - at)));
        if (!has_first) {
            g_assert_true(name > 0 && at + name < end);
            g_assert_true(strcspn(at, " \t\r\n\v\f") > name);
            g_assert_true(at[name + 1] == ' ');
        }
        at = end + 1;
    }
}

/* Read a head. Return false if there is no whole one. */
static bool read_head(struct message *message)
{
    const char *end = memmem(message->at, message->left, "\r\n\r\n", 4);

    if (!end)
        return false;
    next_head(message, (size_t)(end - message->at) + 4);
    check_lines(message->head, message->head_len, true);
    return true;
}

/* Return the value of a field (new), which is there at most once, or NULL. */
static char *find_field(const struct message *message, const char *name)
{
    g_auto(GStrv) lines = g_strsplit(message->head, "\r\n", -1);
    char *found = NULL;

    for (unsigned i = 1; lines[i]; i++) {
        size_t len = strlen(name);

        if (g_ascii_strncasecmp(lines[i], name, len) != 0 ||
            lines[i][len] != ':')
            continue;
        g_assert_null(found);
        found = g_strdup(lines[i] + len + 2);
    }
    return found;
}

static bool skip(struct message *message, guint64 length)
{
    if (length > message->left)
        return false;
    message->at += length;
    message->left -= length;
    return true;
}

/* Skip chunks, and read the trailer as a head. Return false if it is not
 * whole. */
static bool skip_chunks(struct message *message)
{
    guint64 length = 1;

    while (length > 0) {
        const char *end = memmem(message->at, message->left, "\r\n", 2);
        char *stop;

        if (!end)
            return false;
        length = g_ascii_strtoull(message->at, &stop, 16);
        g_assert_true(stop == end && stop > message->at);
        skip(message, (size_t)(end - message->at) + 2);
        if (length > 0 && !skip(message, length + 2))
            return false;
    }
    if (message->left >= 2 && memcmp(message->at, "\r\n", 2) == 0) {
        next_head(message, 2);
        return true;
    }
    if (!memmem(message->at, message->left, "\r\n\r\n", 4))
        return false;
    next_head(message, (size_t)((char *)memmem(message->at, message->left,
                                               "\r\n\r\n", 4) -
                                message->at) +
                           4);
    check_lines(message->head, message->head_len, false);
    return true;
}

/* Skip the body behind a head. to_end: it may end with the connection. */
static bool skip_body(struct message *message, bool to_end)
{
    g_autofree char *length = find_field(message, "Content-Length");
    g_autofree char *encoding = find_field(message, "Transfer-Encoding");

    g_assert_true(!length || !encoding);
    if (encoding) {
        g_assert_cmpint(g_ascii_strcasecmp(encoding, "chunked"), ==, 0);
        return skip_chunks(message);
    }
    if (!length)
        return !to_end;
    g_assert_cmpuint(strspn(length, "0123456789"), ==, strlen(length));
    return skip(message, g_ascii_strtoull(length, NULL, 10));
}

/* ---- checks -------------------------------------------------------------- */

/* A line of a talk's report. */
struct report {
    char *line;
    char **words; /* method, path, "refused" or status ... */
};

/* Return whether no part of the request was sent on. No path has a space. */
static bool is_kept(const struct report *report)
{
    static const char *const reasons[] = {
        "the network policy", "another host", "without TLS",
        "in a header field",  "32 KiB",
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(reasons); i++) {
        if (strstr(report->line, reasons[i]))
            return true;
    }
    return false;
}

static bool has_switched(const struct report *report)
{
    return g_strcmp0(report->words[2], "101") == 0;
}

static void clear_report(gpointer data)
{
    struct report *report = data;

    g_free(report->line);
    g_strfreev(report->words);
}

static GArray *read_reports(const struct talk *talk)
{
    g_auto(GStrv) lines = g_strsplit(talk->exchanges->str, "\n", -1);
    GArray *reports = g_array_new(FALSE, FALSE, sizeof(struct report));

    g_array_set_clear_func(reports, clear_report);
    for (unsigned i = 0; lines[i] && lines[i][0]; i++) {
        struct report report = { g_strdup(lines[i]),
                                 g_strsplit(lines[i], " ", -1) };

        g_assert_true(report.words[0][0] && report.words[1][0]);
        g_array_append_val(reports, report);
    }
    return reports;
}

/* Check a request against the policy, and against its report. */
static void check_request(const struct talk *talk,
                          const struct message *message,
                          const struct report *report)
{
    g_auto(GStrv) words = g_strsplit(message->line, " ", -1);
    g_autofree char *host = find_field(message, "Host"), *allow = NULL;
    const struct http_context *context = &talk->context;

    g_assert_cmpuint(g_strv_length(words), ==, 3);
    g_assert_true(words[1][0] == '/' || strcmp(words[1], "*") == 0);
    words[1][strcspn(words[1], "?")] = '\0';
    g_assert_cmpstr(words[0], ==, report->words[0]);
    g_assert_true(g_str_has_prefix(words[1], report->words[1]));
    g_assert_true(network_policy_judge_request(context->policy, context->name,
                                               context->port, words[0],
                                               words[1], &allow));
    g_assert_nonnull(host);
    g_assert_cmpint(g_ascii_strncasecmp(host, NAME, strlen(NAME)), ==, 0);
    g_assert_true(strchr(".:", host[strlen(NAME)]));
}

/* A value is only in its field, and only with TLS. */
static void check_values_out(const struct talk *talk,
                             const struct message *message)
{
    g_auto(GStrv) lines = g_strsplit(message->head, "\r\n", -1);

    for (unsigned i = 0; lines[i]; i++) {
        g_assert_false(strstr(lines[i], value) &&
                       (!talk->context.tls ||
                        g_ascii_strncasecmp(lines[i], "authorization:", 14)));
        g_assert_null(strstr(lines[i], "value-of-another"));
    }
}

static void check_requests(const struct talk *talk, GArray *reports,
                           bool guest_knows)
{
    const GString *input = talk->received[HTTP_SERVER];
    struct message message = { input->str, input->len };
    bool goes_on = true;
    guint at = 0;

    while (goes_on && message.left > 0) {
        const struct report *report;

        g_assert_true(read_head(&message));
        while (at < reports->len &&
               is_kept(&g_array_index(reports, struct report, at)))
            at++;
        g_assert_cmpuint(at, <, reports->len);
        report = &g_array_index(reports, struct report, at++);
        check_request(talk, &message, report);
        if (!guest_knows)
            check_values_out(talk, &message);
        goes_on = !has_switched(report) && skip_body(&message, false);
    }
    g_free(message.head);
    g_free(message.line);
}

static void check_values_in(const struct message *message)
{
    g_autofree char *base64 = g_base64_encode((const guchar *)value,
                                              strlen(value));

    g_assert_null(strstr(message->head, value));
    g_assert_null(strstr(message->head, base64));
}

static void check_responses(const struct talk *talk, GArray *reports)
{
    const GString *input = talk->received[HTTP_GUEST];
    struct message message = { input->str, input->len };
    bool goes_on = true;
    guint at = 0;

    while (goes_on && message.left > 0 && read_head(&message)) {
        const char *status = message.line + strlen("HTTP/1.1 ");
        bool to_head = at < reports->len &&
                       strcmp(
                           g_array_index(reports, struct report, at).words[0],
                           "HEAD") == 0;

        check_values_in(&message);
        g_assert_true(g_ascii_isdigit(status[2]));
        if (status[0] == '1') {
            goes_on = strncmp(status, "101", 3) != 0;
            continue;
        }
        at++;
        if (!to_head && strncmp(status, "204", 3) != 0 &&
            strncmp(status, "304", 3) != 0)
            goes_on = skip_body(&message, true);
        if (message.head)
            check_values_in(&message);
    }
    g_free(message.head);
    g_free(message.line);
}

/* A request that has no response yet is reported when the relay is freed. */
static void check(struct talk *talk, const char *data, size_t size)
{
    g_autoptr(GArray) reports = NULL;

    talk->relay->ops->free(talk->relay);
    talk->relay = NULL;
    reports = read_reports(talk);
    check_requests(talk, reports, contains(data, size, "value-of"));
    check_responses(talk, reports);
}

static void compare(const struct talk *a, const struct talk *b)
{
    const char *early = "the server sent bytes that belong to no response";
    const char *problems[2] = { a->relay->ops->problem(a->relay),
                                b->relay->ops->problem(b->relay) };

    /* A guest's next request could have come before these bytes. */
    if (g_strcmp0(problems[0], early) == 0 ||
        g_strcmp0(problems[1], early) == 0)
        return;
    g_assert_cmpstr(problems[0], ==, problems[1]);
    g_assert_cmpstr(a->exchanges->str, ==, b->exchanges->str);
    for (int side = 0; side < 2; side++) {
        g_assert_true(g_string_equal(a->received[side], b->received[side]));
        g_assert_cmpint(a->relay->ops->is_over(a->relay, (enum http_side)side),
                        ==,
                        b->relay->ops->is_over(b->relay, (enum http_side)side));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const size_t steps[] = { SIZE_MAX / 2, 1, 3 };
    struct talk *talks[G_N_ELEMENTS(steps)];

    if (size < 2)
        return 0;
    for (unsigned i = 0; i < G_N_ELEMENTS(steps); i++) {
        talks[i] = run(data[0], (const char *)data + 1, size - 1, steps[i]);
        compare(talks[0], talks[i]);
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(steps); i++) {
        check(talks[i], (const char *)data + 1, size - 1);
        talk_free(talks[i]);
    }
    return 0;
}
