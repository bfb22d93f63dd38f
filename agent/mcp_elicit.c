/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_elicit - see mcp_elicit.h.
 */
#include "agent/mcp_elicit.h"

#include <string.h>

#include "agent/mcp_service.h"
#include "common/log.h"

/* Of the time that a decision has; the rest is for the frontend's part. */
enum { GRACE_SHARE = 2 };

struct mcp_elicit {
    struct mcp_service_state *service;
    unsigned grace_ms;

    char *safeguard_id; /* the one that is asked about, or NULL */
    struct mcp_call *call;
    gint64 counts_from; /* monotonic, us */
    bool allow;
    guint timer;
};

static void forget(struct mcp_elicit *elicit)
{
    g_clear_handle_id(&elicit->timer, g_source_remove);
    g_clear_pointer(&elicit->safeguard_id, g_free);
    elicit->call = NULL;
}

static gboolean decide(gpointer data)
{
    struct mcp_elicit *elicit = data;
    g_autofree char *id = g_steal_pointer(&elicit->safeguard_id);

    elicit->timer = 0;
    elicit->call = NULL;
    log_info(LOG_SAFEGUARD, "an MCP client's user says: %s",
             elicit->allow ? "allow" : "deny");
    elicit->service->host->decide(elicit->service->host_opaque, id,
                                  elicit->allow);
    return G_SOURCE_REMOVE;
}

/* What the user says: 1 allow, 0 deny, -1 nothing. */
static int read_answer(json_t *answer)
{
    const char *action = json_string_value(json_object_get(answer, "action"));
    json_t *content = json_object_get(answer, "content");
    const char *decision = json_string_value(
        json_object_get(content, "decision"));

    if (g_strcmp0(action, "decline") == 0)
        return 0;
    if (g_strcmp0(action, "accept") != 0 || !decision)
        return -1;
    if (strcmp(decision, "allow") == 0)
        return 1;
    return strcmp(decision, "deny") == 0 ? 0 : -1;
}

static void on_answered(struct mcp_call *call, json_t *answers, void *opaque)
{
    struct mcp_elicit *elicit = opaque;
    int answer = read_answer(json_object_get(answers, "safeguard"));
    gint64 wait = elicit->counts_from - g_get_monotonic_time();

    if (elicit->call != call || !elicit->safeguard_id || answer < 0 ||
        elicit->timer)
        return;
    elicit->allow = answer > 0;
    /* From the main loop: a decision may end the call. */
    elicit->timer = g_timeout_add((guint)(MAX(wait, 0) / 1000), decide, elicit);
}

static json_t *question(json_t *payload)
{
    const char *message = json_string_value(
        json_object_get(payload, "message"));
    g_autoptr(GString) text = g_string_new(
        message ? message : "A command is about to destroy much.");
    json_t *paths = json_object_get(payload, "sample_paths"), *path;
    json_t *params;
    size_t i;

    json_array_foreach(paths, i, path)
    {
        if (json_is_string(path))
            g_string_append_printf(text, "\n  %s", json_string_value(path));
    }
    g_string_append(text, "\nMay it go on? If not, it is stopped and what it "
                          "did is taken back.");
    params = json_pack("{s:s, s:{s:s, s:{s:{s:s, s:s, s:[s, s]}}, s:[s]}}",
                       "message", text->str, "requestedSchema", "type",
                       "object", "properties", "decision", "type", "string",
                       "title", "Decision", "enum", "allow", "deny", "required",
                       "decision");
    return json_pack("{s:{s:s, s:o}}", "safeguard", "method",
                     "elicitation/create", "params", params);
}

void mcp_elicit_triggered(struct mcp_elicit *elicit, json_t *payload)
{
    struct mcp_call *call = mcp_queue_running(elicit->service->queue);
    const char *id = json_string_value(
        json_object_get(payload, "safeguard_id"));
    json_int_t timeout_s = json_integer_value(
        json_object_get(payload, "timeout_seconds"));
    gint64 grace = elicit->grace_ms;

    forget(elicit);
    if (!call || !id || mcp_call_version(call) < MCP_2025_06_18 ||
        !mcp_call_can(call, "elicitation"))
        return;
    if (timeout_s > 0)
        grace = MIN(grace, timeout_s * 1000 / GRACE_SHARE);
    elicit->safeguard_id = g_strdup(id);
    elicit->call = call;
    elicit->counts_from = g_get_monotonic_time() + grace * 1000;
    if (!mcp_call_ask(call, question(payload), on_answered, elicit))
        forget(elicit);
}

void mcp_elicit_decided(struct mcp_elicit *elicit, json_t *payload)
{
    const char *id = json_string_value(
        json_object_get(payload, "safeguard_id"));

    if (!elicit->call || g_strcmp0(id, elicit->safeguard_id) != 0)
        return;
    if (elicit->call == mcp_queue_running(elicit->service->queue))
        mcp_call_withdraw(elicit->call);
    forget(elicit);
}

struct mcp_elicit *mcp_elicit_new(struct mcp_service_state *service,
                                  unsigned grace_ms)
{
    struct mcp_elicit *elicit = g_new0(struct mcp_elicit, 1);

    elicit->service = service;
    elicit->grace_ms = grace_ms;
    return elicit;
}

void mcp_elicit_free(struct mcp_elicit *elicit)
{
    forget(elicit);
    g_free(elicit);
}
