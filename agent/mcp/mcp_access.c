/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_access - the tool request_access; see mcp_state.h.
 *
 * The request is in the session's queue, where a user of the host decides it
 * (stepback approve, a frontend). A client that supports "elicitation" is asked
 * for its user's decision as well; the first answer counts.
 */
#include <string.h>

#include "agent/mcp/mcp_ready.h"
#include "agent/mcp/mcp_state.h"
#include "agent/mcp/mcp_text.h"
#include "agent/session/session_grants.h"
#include "common/json_bytes.h"

#define QUESTION "access"

struct access {
    struct mcp_call *call;
    struct session *session;
    bool asks; /* the client has the question */
};

static const char *string_of(json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

/* ---- the end ------------------------------------------------------------- */

static json_t *result_of(const struct session_directory *directory)
{
    json_t *result = json_pack(
        "{s:s, s:s, s:s}", "access",
        directory->read_only ? "read_only" : "read_write", "directory",
        directory->label, "guest_path", directory->guest_path);
    g_autofree char *path = g_utf8_make_valid(directory->path, -1);

    json_object_set_new(result, "path", json_string(path));
    return result;
}

static void on_over(const struct answer *answer, const GError *error,
                    void *opaque)
{
    struct access *access = opaque;
    struct mcp_call *call = access->call;
    json_t *result;

    mcp_call_set_cancelled(call, NULL, NULL);
    if (access->asks)
        mcp_call_withdraw(call);
    g_free(access);
    if (error) {
        mcp_tools_refuse(call, "%s", error->message);
        return;
    }
    result = result_of(answer->approval->directory);
    mcp_tools_finish(call, mcp_text_access(result), result);
}

static void on_cancelled(struct mcp_call *call, void *opaque)
{
    struct access *access = opaque;

    session_grant_withdraw(access->session, access);
    g_free(access);
    mcp_call_finish(call, json_object());
}

/* ---- the client's user --------------------------------------------------- */

/* A decision that is being carried out; the call may end before it. */
struct decided {
    struct session *session;
    char *id;
};

/* If the folder cannot be granted although the user allowed it, withdraw the
 * request: it would wait for another decision. */
static void on_decided(const struct answer *answer, const GError *error,
                       void *opaque)
{
    struct decided *decided = opaque;
    struct approval *approval = session_approval_find(decided->session,
                                                      decided->id);
    struct access *access;
    struct mcp_call *call;

    g_free(decided->id);
    g_free(decided);
    if (!error || !approval || !approval->reply.done)
        return;
    access = approval->reply.opaque;
    call = access->call;
    session_grant_withdraw(access->session, access);
    mcp_call_set_cancelled(call, NULL, NULL);
    g_free(access);
    mcp_tools_refuse(call, "%s", error->message);
}

static void on_answered(struct mcp_call *call, json_t *answers, void *opaque)
{
    struct access *access = opaque;
    const struct approval *approval = session_grant_find(access->session,
                                                         access);
    json_t *answer = json_object_get(answers, QUESTION);
    const char *decision = string_of(json_object_get(answer, "content"),
                                     "decision");
    bool accepts = g_strcmp0(string_of(answer, "action"), "accept") == 0;
    bool declines = g_strcmp0(string_of(answer, "action"), "decline") == 0;
    struct approval_decision made = { 0 };
    struct decided *decided;

    access->asks = false;
    accepts = accepts && decision;
    /* Without an answer a frontend may decide, until the time is over. */
    if (!approval ||
        (!declines && !accepts && mcp_state_of(call)->has_frontend))
        return;
    made.id = approval->id;
    made.allow = accepts && g_str_has_prefix(decision, "allow");
    made.access = strcmp(made.allow ? decision : "", "allow_read_only") == 0
                      ? "read_only"
                      : NULL;
    decided = g_new(struct decided, 1);
    *decided = (struct decided){ access->session, g_strdup(approval->id) };
    session_approval_decide(access->session, &made, on_decided, decided);
}

/* A name of the client's choice must not start a new line. */
static void append_shown(GString *text, const char *bytes)
{
    g_autofree char *valid = g_utf8_make_valid(bytes, -1);

    for (const char *p = valid; *p; p = g_utf8_next_char(p)) {
        gunichar c = g_utf8_get_char(p);

        g_string_append_unichar(text, g_unichar_isprint(c) ? c : 0xfffd);
    }
}

static json_t *question(const struct approval *approval)
{
    g_autoptr(GString) text = g_string_new(
        approval->read_only ? "May the sandbox read this folder?\n  "
                            : "May the sandbox read and change this folder?\n"
                              "  ");

    append_shown(text, approval->target.path);
    if (approval->target.problem)
        g_string_append_printf(text, " (%s)", approval->target.problem);
    g_string_append(text, "\nReason given: ");
    append_shown(text, approval->reason);
    return json_pack(
        "{s:{s:s, s:{s:s, s:{s:s, s:{s:{s:s, s:s, s:[s, s, s]}}, s:[s]}}}}",
        QUESTION, "method", "elicitation/create", "params", "message",
        text->str, "requestedSchema", "type", "object", "properties",
        "decision", "type", "string", "title", "Decision", "enum", "allow",
        "allow_read_only", "deny", "required", "decision");
}

/* ---- the start ----------------------------------------------------------- */

static bool can_ask(const struct mcp_call *call)
{
    return mcp_call_version(call) >= MCP_2025_06_18 &&
           mcp_call_can(call, "elicitation");
}

static void start(struct mcp_call *call, json_t *arguments)
{
    const char *wanted = string_of(arguments, "access");
    const struct grant_request request = {
        .path = string_of(arguments, "path"),
        .read_only = !wanted || strcmp(wanted, "read_only") == 0,
        .reason = string_of(arguments, "reason"),
        .origin = "mcp",
    };
    const struct approval *approval;
    struct access *access;

    if (!can_ask(call) && !mcp_state_of(call)->has_frontend) {
        mcp_tools_refuse(call, "this client cannot ask its user, and no other "
                               "program can; the user can share the folder "
                               "with the option -C of stepback mcp");
        return;
    }
    access = g_new0(struct access, 1);
    access->call = call;
    access->session = mcp_ready_session(call);
    mcp_call_set_cancelled(call, on_cancelled, access);
    session_grant_request(access->session, &request, on_over, access);
    approval = session_grant_find(access->session, access);
    if (approval && can_ask(call))
        access->asks = mcp_call_ask(call, question(approval), on_answered,
                                    access);
}

void mcp_tool_request_access(struct mcp_call *call, json_t *arguments)
{
    mcp_ready_run(call, arguments, start);
}
