/* SPDX-License-Identifier: Apache-2.0
 *
 * network_certificates - see network_certificates.h.
 */
#include "agent/machine/network_certificates.h"

#include <string.h>

#include "common/errors.h"

enum { TURN_MS = 1000 / CERTIFICATES_BURST };

struct network_certificates {
    struct guest_trust *trust;
    void (*answer)(json_t *payload, void *opaque);
    void *opaque;
    unsigned turns; /* that may be taken now */
    guint timer;    /* gives one more; 0: there are CERTIFICATES_BURST */
    GQueue names;   /* that wait */
};

static void clear_text(char *text)
{
    if (text)
        explicit_bzero(text, strlen(text));
    g_free(text);
}

static void issue(struct network_certificates *certificates, const char *name)
{
    g_autofree char *chain = NULL;
    char *key = NULL;
    g_autoptr(GError) error = NULL;

    guest_trust_issue(certificates->trust, name, &chain, &key, &error);
    certificates->answer(json_pack("{s:s, s:s?, s:s?, s:s?}", "name", name,
                                   "chain", chain, "key", key, "error",
                                   error ? error->message : NULL),
                         certificates->opaque);
    clear_text(key);
}

static void refuse(struct network_certificates *certificates, const char *name,
                   const char *reason)
{
    certificates->answer(json_pack("{s:s, s:n, s:n, s:s}", "name", name,
                                   "chain", "key", "error", reason),
                         certificates->opaque);
}

static gboolean give_turn(gpointer data)
{
    struct network_certificates *certificates = data;
    g_autofree char *name = g_queue_pop_head(&certificates->names);

    if (name)
        issue(certificates, name);
    else
        certificates->turns++;
    if (certificates->turns < CERTIFICATES_BURST)
        return G_SOURCE_CONTINUE;
    certificates->timer = 0;
    return G_SOURCE_REMOVE;
}

static bool waits(const struct network_certificates *certificates,
                  const char *name)
{
    return g_queue_find_custom((GQueue *)&certificates->names, name,
                               (GCompareFunc)strcmp) != NULL;
}

/* A taken over process could ask for any name. */
void network_certificates_request(struct network_certificates *certificates,
                                  const struct network_policy *policy,
                                  json_t *payload)
{
    const char *name = json_string_value(json_object_get(payload, "name"));

    if (!name || waits(certificates, name))
        return;
    if (!network_policy_intercepts_name(policy, name)) {
        refuse(certificates, name, "the network policy does not intercept it");
        return;
    }
    if (certificates->turns == 0) {
        if (g_queue_get_length(&certificates->names) >= CERTIFICATES_WAIT_MAX)
            refuse(certificates, name, "too many certificates are requested");
        else
            g_queue_push_tail(&certificates->names, g_strdup(name));
        return;
    }
    certificates->turns--;
    if (!certificates->timer)
        certificates->timer = g_timeout_add(TURN_MS, give_turn, certificates);
    issue(certificates, name);
}

void network_certificates_clear(struct network_certificates *certificates)
{
    g_queue_clear_full(&certificates->names, g_free);
}

struct network_certificates *
network_certificates_new(struct guest_trust *trust,
                         void (*answer)(json_t *payload, void *opaque),
                         void *opaque)
{
    struct network_certificates *certificates = g_new0(
        struct network_certificates, 1);

    certificates->trust = trust;
    certificates->answer = answer;
    certificates->opaque = opaque;
    certificates->turns = CERTIFICATES_BURST;
    return certificates;
}

void network_certificates_free(struct network_certificates *certificates)
{
    if (!certificates)
        return;
    g_clear_handle_id(&certificates->timer, g_source_remove);
    network_certificates_clear(certificates);
    g_free(certificates);
}
