/* SPDX-License-Identifier: Apache-2.0
 *
 * exec_request - see exec_request.h.
 */
#include "agent/cli/exec_request.h"

#include <string.h>

#include "agent/cli/cli_options.h"
#include "common/json_bytes.h"
#include "common/real_path.h"

void exec_request_clear(struct exec_request *request)
{
    g_strfreev(request->env);
    g_strfreev(request->env_files);
    g_free(request->workdir);
    g_free(request->user);
    g_free(request->label);
    g_free(request->step);
}

/* A string, or an object with the bytes. */
static json_t *bytes_value(const char *bytes)
{
    json_t *object = json_object();
    json_t *value;

    json_bytes_set(object, "value", bytes, strlen(bytes));
    if (json_object_get(object, "encoding"))
        return object;
    value = json_incref(json_object_get(object, "value"));
    json_decref(object);
    return value;
}

/* ---- variables ----------------------------------------------------------- */

static bool has_name(const char *entry)
{
    size_t len = strcspn(entry, "=");

    return len > 0 && g_utf8_validate(entry, (gssize)len, NULL);
}

/* Add NAME=VALUE, or NAME with its value here. Return false if there is no
 * name. */
static bool add_variable(json_t *env, const char *entry)
{
    g_autofree char *name = g_strndup(entry, strcspn(entry, "="));
    const char *value = strchr(entry, '=') ? strchr(entry, '=') + 1
                                           : g_getenv(name);

    if (!has_name(entry))
        return false;
    if (value)
        json_object_set_new(env, name, bytes_value(value));
    return true;
}

/* Lines as Docker's: no quoting; empty lines and those with # are skipped. */
static bool add_file(json_t *env, const char *path)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *text = NULL;
    g_auto(GStrv) lines = NULL;

    if (!g_file_get_contents(path, &text, NULL, &error)) {
        cli_options_wrong("--env-file: %s", error->message);
        return false;
    }
    lines = g_strsplit(text, "\n", -1);
    for (char **line = lines; *line; line++) {
        g_strchomp(*line);
        if (**line == '\0' || **line == '#')
            continue;
        if (!add_variable(env, *line)) {
            cli_options_wrong("--env-file %s: line %d has no name", path,
                              (int)(line - lines) + 1);
            return false;
        }
    }
    return true;
}

/* Later entries win: files, then -e. */
static bool add_variables(const struct exec_request *request, json_t *env)
{
    for (char **path = request->env_files; path && *path; path++) {
        if (!add_file(env, *path))
            return false;
    }
    for (char **entry = request->env; entry && *entry; entry++) {
        if (!add_variable(env, *entry)) {
            cli_options_wrong("-e %s: a variable needs a name", *entry);
            return false;
        }
    }
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

json_t *exec_request_payload(const struct exec_request *request, json_t *info)
{
    json_t *env = json_object();
    json_t *payload = json_pack("{s:o, s:s*, s:s*, s:s*}", "env", env, "user",
                                request->user, "label", request->label, "step",
                                request->step);
    g_autofree char *here = g_get_current_dir();
    g_autofree char *cwd = request->workdir
                               ? g_strdup(request->workdir)
                               : exec_request_guest_path(info, here);

    if (!add_variables(request, env)) {
        json_decref(payload);
        return NULL;
    }
    if (cwd)
        json_object_set_new(payload, "cwd", json_bytes_path(cwd));
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
        json_array_append_new(argv, bytes_value(*words));
    json_object_set_new(payload, "argv", argv);
}
