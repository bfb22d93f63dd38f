/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_state - see mcp_state.h.
 */
#include "agent/mcp/mcp_state.h"

#include <string.h>

#include "agent/client/report_json.h"
#include "agent/wire/payload.h"
#include "common/errors.h"
#include "shim/wire.h"

enum { CHANGES_SHOWN = 100 };

static const struct {
    int code;
    const char *text;
} advice[] = {
    { ERROR_NO_SESSION, "get_session_status has details" },
    { ERROR_NOTHING_TO_REDO,
      "only steps that were undone can be redone, and only until the folder "
      "changes again; get_undo_history says how many" },
    { ERROR_NOTHING_TO_UNDO, "get_undo_history lists the existing steps" },
    { ERROR_UNDO_BARRIER,
      "another program has changed these files since: ask the user, and only "
      "if they agree call undo again with \"force\": true" },
    { ERROR_STEP_UNPROTECTED, "the undo log could not keep all of its changes, "
                              "so it cannot be undone" },
    { ERROR_STEP_ACTIVE, "try again when it has ended" },
    { ERROR_BUSY, "try again when it has ended" },
    { ERROR_PATH_OUTSIDE_ROOT,
      "give a path below the working folder, relative to it" },
    { ERROR_NOT_FOUND, "list_directory shows what is there" },
    { ERROR_READ_ONLY_DIRECTORY, "the user has shared this folder read-only" },
};

/* Indexed by enum mcp_denial. */
static const char *const denials[] = {
    "the user has denied it; ask before you try a similar operation again",
    "the user has not answered; ask before you try it again",
    ("it needs the user's permission, and this client cannot ask for it "
     "(elicitation); tell the user what you want to do, and why"),
};

struct mcp_state *mcp_state_of(const struct mcp_call *call)
{
    return mcp_call_service(call);
}

char *mcp_state_advice(const struct mcp_call *call, const GError *error)
{
    int code = error_code_of(error);

    if (code == ERROR_DENIED)
        return g_strdup_printf("%s (%s)", error->message,
                               denials[mcp_state_of(call)->denial]);
    for (size_t i = 0; i < G_N_ELEMENTS(advice); i++) {
        if (advice[i].code == code)
            return g_strdup_printf("%s (%s)", error->message, advice[i].text);
    }
    return g_strdup(error->message);
}

void mcp_state_refuse(struct mcp_call *call, const GError *error)
{
    g_autofree char *text = mcp_state_advice(call, error);

    mcp_tools_refuse(call, "%s", text);
}

static void cut_array(json_t *object, const char *key, size_t max)
{
    json_t *all = json_object_get(object, key);
    json_t *some;

    if (json_array_size(all) <= max)
        return;
    some = json_array();
    for (size_t i = 0; i < max; i++)
        json_array_append(some, json_array_get(all, i));
    json_object_set_new(object, key, some);
    json_object_set_new(object, "truncated", json_true());
}

json_t *mcp_state_report(const struct step_report *report)
{
    json_t *copy = report ? report_to_json(report) : json_object();

    /* "changes" has the same information. */
    json_object_del(copy, "affected_paths");
    json_object_del(copy, "dropped_output_events");
    if (!json_object_get(copy, "changes"))
        json_object_set_new(copy, "changes", json_array());
    if (!json_object_get(copy, "undoable"))
        json_object_set_new(copy, "undoable", json_false());
    if (!json_object_get(copy, "truncated"))
        json_object_set_new(copy, "truncated", json_false());
    cut_array(copy, "changes", CHANGES_SHOWN);
    return copy;
}

bool mcp_state_has_folders(struct mcp_state *service)
{
    struct session_status status;

    service->host->get_status(service->host_opaque, &status);
    return status.config && status.config->n_directories > 1;
}

/* Return the rest of path beneath folder, or NULL. */
static const char *rest_below(const char *path, const char *folder)
{
    const char *rest = path + strlen(folder);

    if (!g_str_has_prefix(path, folder) || (*rest && *rest != '/'))
        return NULL;
    while (*rest == '/')
        rest++;
    return rest;
}

struct mcp_place mcp_state_place(struct mcp_state *service, json_t *arguments)
{
    const char *path = json_string_value(json_object_get(arguments, "path"));
    struct mcp_place place = { path ? path : "", folder_from_json(arguments) };
    const struct session_config *config;
    struct session_status status;

    if (place.directory.given ||
        !g_str_has_prefix(place.path, WIRE_DEFAULT_CWD))
        return place;
    service->host->get_status(service->host_opaque, &status);
    config = status.config;
    for (unsigned i = 0; config && i < config->n_directories; i++) {
        const char *rest = rest_below(path, config->directories[i]->guest_path);

        if (rest) {
            place.path = rest;
            place.directory = (struct folder_ref){ .given = i > 0, .index = i };
        }
    }
    /* Before the session runs there is one folder, or no readable file. */
    if (!config && rest_below(path, WIRE_DEFAULT_CWD))
        place.path = rest_below(path, WIRE_DEFAULT_CWD);
    return place;
}
