/* SPDX-License-Identifier: Apache-2.0
 *
 * names - see names.h.
 */
#include "net/names.h"

#include <errno.h>
#include <string.h>

#include "common/fd.h"
#include "net/dns_stream.h"
#include "net/dns_udp.h"
#include "net/name_channel.h"
#include "net/name_connect.h"

enum { DNS = 53 };

G_STATIC_ASSERT((int)NAMES_FRAME_MAX >= (int)DNS_UDP_MAX);
G_STATIC_ASSERT((int)DNS_STREAM_ANSWER >= (int)DNS_ANSWER_MAX);

/* The last one that the table could give, if it had that many names. */
const uint8_t names_server[4] = { 198, 19, 255, 254 };

struct names {
    const struct network_policy *policy;
    struct refusals *refusals;
    void (*refused)(void *opaque);
    void *opaque;
    struct name_table *table;
    struct name_channel channel;
    struct dns_stream *stream;
};

/* ---- queries ------------------------------------------------------------- */

/* Why the policy does not list the name: the "reason" of event.refused. */
static const char *reason_of(const struct network_policy *policy,
                             const char *name)
{
    if (network_policy_excepts_name(policy, name))
        return "excepted";
    return network_policy_has_wildcard(policy, name) ? "above_wildcard"
                                                     : "not_listed";
}

/* Report a name that has no address for the guest. */
static void note(struct names *names, const struct dns_answer *answer)
{
    if (answer->refused &&
        refusals_add_name(names->refusals, answer->name, "dns", DNS,
                          reason_of(names->policy, answer->name)))
        names->refused(names->opaque);
}

bool names_answer(struct names *names, const struct frame *frame,
                  uint8_t ret_frame[NAMES_FRAME_MAX], size_t *ret_length)
{
    struct dns_answer answer;
    enum dns_outcome outcome;

    *ret_length = 0;
    outcome = dns_udp_answer(names->policy, names->table, frame, &answer,
                             ret_frame, ret_length);
    if (outcome == DNS_ANSWERED)
        note(names, &answer);
    return outcome != DNS_PASS_ON;
}

/* Over TCP no query is passed on: a policy with "dns" redirects the whole
 * connection to the host's server. */
static size_t answer_stream(const uint8_t *query, size_t length,
                            uint8_t ret_answer[DNS_STREAM_ANSWER], void *opaque)
{
    struct names *names = opaque;
    struct dns_answer answer;

    if (dns_answer(names->policy, names->table, query, length, &answer) !=
        DNS_ANSWERED)
        return 0;
    note(names, &answer);
    memcpy(ret_answer, answer.bytes, answer.length);
    return answer.length;
}

/* ---- connections --------------------------------------------------------- */

/* A function of name_connect.h. */
static int open_connection(const struct network_address *address, unsigned port,
                           void *opaque)
{
    struct names *names = opaque;
    const char *name = names_find(names, address);
    enum network_name_verdict verdict;

    if (!address->v6 && memcmp(address->bytes, names_server, 4) == 0)
        return port == DNS ? dns_stream_open(names->stream) : -ECONNREFUSED;
    if (!name)
        return -ENOENT;
    verdict = network_policy_judge_name(names->policy, name, port);
    if (verdict == NAME_DENIED)
        return -ECONNREFUSED;
    return name_channel_open(&names->channel, name, port, verdict);
}

const struct name_table *names_table(const struct names *names)
{
    return names->table;
}

const char *names_find(const struct names *names,
                       const struct network_address *address)
{
    return name_table_find(names->table, address);
}

struct names *names_new(int channel, const struct network_policy *policy,
                        struct refusals *refusals,
                        void (*refused)(void *opaque), void *opaque)
{
    struct names *names = g_new0(struct names, 1);

    names->policy = policy;
    names->refusals = refusals;
    names->refused = refused;
    names->opaque = opaque;
    names->table = name_table_new();
    names->channel.fd = channel;
    names->stream = dns_stream_new(answer_stream, names);
    name_connect_set(open_connection, names);
    return names;
}

void names_free(struct names *names)
{
    if (!names)
        return;
    name_connect_set(NULL, NULL);
    dns_stream_free(names->stream);
    fd_close(&names->channel.fd);
    name_table_free(names->table);
    g_free(names);
}
