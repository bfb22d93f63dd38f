/* SPDX-License-Identifier: Apache-2.0
 *
 * relay_talk - see relay_talk.h.
 */
#include "tests/proxy/relay_talk.h"

#include <string.h>

#include "proxy/http1_relay.h"

#define SECRET(name, placeholder, value, host)                                 \
    "{\"name\":\"" name "\",\"placeholder\":\"" placeholder                    \
    "\",\"value\":\"" value "\",\"hosts\":[\"" host                            \
    "\"],\"headers\":[\"authorization\"]}"

static void on_exchange(const struct http_exchange *exchange, void *opaque)
{
    struct talk *talk = opaque;

    g_string_append_printf(talk->exchanges, "%s %s", exchange->method,
                           exchange->path);
    if (exchange->refused)
        g_string_append(talk->exchanges, " refused");
    if (exchange->status > 0)
        g_string_append_printf(talk->exchanges, " %u", exchange->status);
    if (exchange->reason)
        g_string_append_printf(talk->exchanges, " %s", exchange->reason);
    if (exchange->allow)
        g_string_append_printf(talk->exchanges, " [%s]", exchange->allow);
    g_string_append_c(talk->exchanges, '\n');
}

static json_t *read_json(const char *text)
{
    json_t *value = json_loads(text, 0, NULL);

    g_assert_nonnull(value);
    return value;
}

static void configure(struct talk *talk, const char *exceptions)
{
    g_autofree char *entries = g_strdup_printf(
        "{\"allow\":[\"intercept:" NAME "\"%s]}", exceptions);
    json_t *policy = read_json(entries);
    json_t *secrets = read_json(
        "[" SECRET("TOKEN", PLACE, VALUE, NAME) "," SECRET(
            "OTHER", OTHER, "value-of-another", "other.example.org") "]");
    GError *error = NULL;

    talk->policy = g_new0(struct network_policy, 1);
    network_policy_parse(policy, talk->policy, &error);
    g_assert_no_error(error);
    talk->context.secrets = secrets_new();
    secrets_configure(talk->context.secrets, secrets, &error);
    g_assert_no_error(error);
    json_decref(policy);
    json_decref(secrets);
}

static struct talk *make(bool tls, const char *exceptions)
{
    struct talk *talk = g_new0(struct talk, 1);

    talk->context.name = NAME;
    talk->context.port = tls ? 443 : 80;
    talk->context.tls = tls;
    talk->context.exchanged = on_exchange;
    talk->context.opaque = talk;
    configure(talk, exceptions);
    talk->context.policy = talk->policy;
    talk->relay = http1_relay_new(&talk->context);
    talk->exchanges = g_string_new(NULL);
    for (int side = 0; side < 2; side++) {
        talk->sent[side] = g_string_new(NULL);
        talk->received[side] = g_string_new(NULL);
    }
    return talk;
}

struct talk *talk_new(bool tls)
{
    return make(tls, ",\"deny:DELETE:" NAME "\",\"deny:" NAME "/private\"");
}

struct talk *talk_new_whole(bool tls)
{
    return make(tls, "");
}

void talk_free(struct talk *talk)
{
    if (talk->relay)
        talk->relay->ops->free(talk->relay);
    secrets_free(talk->context.secrets);
    g_free(talk->policy);
    g_string_free(talk->exchanges, TRUE);
    for (int side = 0; side < 2; side++) {
        g_string_free(talk->sent[side], TRUE);
        g_string_free(talk->received[side], TRUE);
    }
    g_free(talk);
}

/* Return whether the relay took bytes. */
static bool offer(struct talk *talk, enum http_side side)
{
    GString *sent = talk->sent[side];
    const struct http_relay_ops *ops = talk->relay->ops;
    g_autofree uint8_t *copy = NULL;
    ssize_t n;

    if (talk->failed || sent->len == 0 || !ops->wants(talk->relay, side))
        return false;
    /* A buffer of the exact size, for the sanitizer. */
    copy = g_memdup2(sent->str, sent->len);
    n = ops->take(talk->relay, side, copy, sent->len);
    talk->failed = n < 0;
    g_assert_cmpint(n, <=, (gssize)sent->len);
    g_assert_true(talk->failed == (ops->problem(talk->relay) != NULL));
    if (n > 0)
        g_string_erase(sent, 0, n);
    return n > 0;
}

static bool write_out(struct talk *talk, enum http_side side)
{
    const struct http_relay_ops *ops = talk->relay->ops;
    const uint8_t *data;
    size_t length;

    if (talk->stalled[side])
        return false;
    data = ops->output(talk->relay, side, &length);
    if (length == 0)
        return false;
    g_string_append_len(talk->received[side], (const char *)data,
                        (gssize)length);
    ops->written(talk->relay, side, length);
    return true;
}

void talk_pump(struct talk *talk)
{
    bool moved;

    do {
        moved = false;
        for (int side = 0; side < 2; side++) {
            moved |= offer(talk, (enum http_side)side);
            moved |= write_out(talk, (enum http_side)side);
            moved |= write_out(talk, (enum http_side) !side);
        }
    } while (moved);
}

void talk_send(struct talk *talk, enum http_side side, const char *data,
               size_t length, size_t size)
{
    for (size_t at = 0; at < length; at += size) {
        g_string_append_len(talk->sent[side], data + at,
                            (gssize)MIN(size, length - at));
        talk_pump(talk);
    }
}

void talk_end(struct talk *talk, enum http_side side)
{
    if (!talk->failed)
        talk->relay->ops->end(talk->relay, side);
    talk_pump(talk);
}

void talk_run(struct talk *talk, const struct talk_step *steps, size_t size)
{
    for (unsigned i = 0; i < TALK_STEPS && steps[i].is_set; i++) {
        if (steps[i].text)
            talk_send(talk, steps[i].side, steps[i].text, strlen(steps[i].text),
                      size);
        else
            talk_end(talk, steps[i].side);
    }
}

struct talk *talk_both(struct talk *talk, const char *guest, const char *server,
                       size_t size)
{
    const struct talk_step steps[TALK_STEPS] = { G(guest), S(server) };

    talk_run(talk, steps, size);
    return talk;
}

bool talk_is_over(const struct talk *talk)
{
    return talk->relay->ops->is_over(talk->relay, HTTP_GUEST) &&
           talk->relay->ops->is_over(talk->relay, HTTP_SERVER);
}

bool talk_has(const GString *text, const char *part)
{
    return strstr(text->str, part) != NULL;
}

unsigned talk_count(const GString *text, const char *part)
{
    unsigned found = 0;

    for (const char *at = text->str; (at = strstr(at, part)); at++)
        found++;
    return found;
}
