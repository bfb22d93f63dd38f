/* SPDX-License-Identifier: Apache-2.0
 *
 * exec_request - see exec_request.h.
 */
#include "agent/cli/exec_request.h"

#include <string.h>

#include "agent/cli/cli_env.h"
#include "agent/cli/cli_options.h"
#include "agent/client/api_link.h"
#include "agent/wire/env_json.h"
#include "common/json_bytes.h"
#include "common/real_path.h"

enum { ANSWER_MS = 60 * 1000 };

void exec_request_clear(struct exec_request *request)
{
    g_strfreev(request->env);
    g_strfreev(request->env_files);
    g_free(request->workdir);
    g_free(request->user);
    g_free(request->label);
    g_free(request->step);
}

/* ---- variables ----------------------------------------------------------- */

/* List the folders that the guest of a sandbox can write: a new list. */
static char **writable_folders(json_t *info)
{
    json_t *session = json_object_get(info, "session"), *entry;
    GPtrArray *folders = g_ptr_array_new();
    size_t i;

    json_array_foreach(json_object_get(session, "working_directories"), i,
                       entry)
    {
        const char *access = json_string_value(
            json_object_get(entry, "access"));
        char *path = json_bytes_get_path(json_object_get(entry, "path"));

        if (path && g_strcmp0(access, "read_only") != 0)
            g_ptr_array_add(folders, path);
        else
            g_free(path);
    }
    g_ptr_array_add(folders, NULL);
    return (char **)g_ptr_array_free(folders, FALSE);
}

bool exec_request_add_guest(json_t *payload, const struct cli_guest *guest,
                            json_t *info)
{
    g_auto(GStrv) folders = writable_folders(info);
    g_autoptr(GError) error = NULL;
    g_auto(GStrv) env = cli_env_read(guest->env_files, guest->env,
                                     (const char *const *)folders, &error);

    if (!env) {
        cli_options_wrong("%s", error->message);
        return false;
    }
    json_object_set_new(payload, "env", env_to_json(env));
    if (guest->user)
        json_object_set_new(payload, "user", json_string(guest->user));
    if (guest->workdir)
        json_object_set_new(payload, "cwd", json_bytes_path(guest->workdir));
    return true;
}

/* ---- the folder ---------------------------------------------------------- */

char *exec_request_guest_path(json_t *info, const char *path)
{
    json_t *session = json_object_get(info, "session"), *entry;
    size_t i;

    json_array_foreach(json_object_get(session, "working_directories"), i,
                       entry)
    {
        g_autofree char *folder = json_bytes_get_path(
            json_object_get(entry, "path"));
        g_autofree char *guest = json_bytes_get_path(
            json_object_get(entry, "guest_path"));

        if (folder && guest && real_path_is_beneath(path, folder))
            return g_strconcat(guest, path + strlen(folder), NULL);
    }
    return NULL;
}

void exec_request_add_here(json_t *payload, const char *dir, json_t *info)
{
    json_t *session = json_object_get(info, "session");
    g_autofree char *here = real_path_of(dir);
    g_autofree char *cwd = exec_request_guest_path(info, here);

    if (cwd && !json_object_get(session, "cwd"))
        json_object_set_new(payload, "cwd", json_bytes_path(cwd));
}

json_t *exec_request_payload(const struct exec_request *request, json_t *info)
{
    const struct cli_guest guest = {
        .env = request->env,
        .env_files = request->env_files,
        .user = request->user,
        .workdir = request->workdir,
    };
    json_t *payload = json_pack("{s:s*, s:s*}", "label", request->label, "step",
                                request->step);

    if (!exec_request_add_guest(payload, &guest, info)) {
        json_decref(payload);
        return NULL;
    }
    if (!request->workdir)
        exec_request_add_here(payload, ".", info);
    if (request->timeout > 0)
        json_object_set_new(payload, "timeout_seconds",
                            json_integer(request->timeout));
    if (request->no_wait)
        json_object_set_new(payload, "wait", json_false());
    return payload;
}

void exec_request_set_argv(json_t *payload, char **words)
{
    json_t *argv = json_array();

    for (; *words; words++)
        json_array_append_new(argv, env_value_to_json(*words));
    json_object_set_new(payload, "argv", argv);
}

gboolean exec_request_subscribe(struct control_link *link, bool warnings,
                                bool approvals, GError **error)
{
    json_t *types, *answer;

    if (!warnings && !approvals)
        return TRUE;
    types = json_pack("[s, s, s, s]", "event.approval_requested",
                      "event.approval_decided", "event.safeguard_triggered",
                      "event.safeguard_decided");
    if (warnings)
        json_array_append_new(types, json_string("event.warning"));
    answer = api_link_ask(link, "events.subscribe",
                          json_pack("{s:o}", "types", types), ANSWER_MS, error);
    json_decref(answer);
    return answer != NULL;
}
