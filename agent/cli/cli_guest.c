/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_guest - see cli_guest.h.
 */
#include "agent/cli/cli_guest.h"

#include <string.h>

#include "agent/base/certificates.h"
#include "agent/base/command.h"
#include "agent/cli/cli_env.h"
#include "agent/machine/host_identity.h"
#include "agent/machine/share_check.h"
#include "agent/wire/env_json.h"
#include "agent/wire/secret_json.h"
#include "common/json_bytes.h"

void cli_guest_clear(struct cli_guest *guest)
{
    g_strfreev(guest->env);
    g_strfreev(guest->env_files);
    g_free(guest->workdir);
    g_free(guest->user);
    g_free(guest->git_identity);
    g_strfreev(guest->certificates);
    g_strfreev(guest->secrets);
}

static bool is_word(const char *text, const char *word)
{
    return text && strcmp(text, word) == 0;
}

/* Set *ret_identity if the option names one. */
static bool parse_identity(const char *text, struct git_identity *ret_identity)
{
    *ret_identity = (struct git_identity){ 0 };
    return !text || is_word(text, CLI_GUEST_HOST) ||
           is_word(text, CLI_GUEST_NONE) ||
           git_identity_parse(text, ret_identity);
}

const char *cli_guest_problem(const struct cli_guest *guest,
                              const char **ret_option)
{
    struct git_identity identity;
    bool ok = parse_identity(guest->git_identity, &identity);
    const char *problem;

    git_identity_clear(&identity);
    *ret_option = "git-identity";
    if (!ok)
        return "must be host, none, or \"NAME <ADDRESS>\"";
    *ret_option = "env";
    for (char **entry = guest->env; entry && *entry; entry++) {
        if ((problem = cli_env_problem(*entry)))
            return problem;
    }
    *ret_option = "workdir";
    if (guest->workdir && !*guest->workdir)
        return "must not be empty";
    *ret_option = "user";
    if (guest->user && !*guest->user)
        return "must not be empty";
    *ret_option = "ca-certificates";
    for (char **file = guest->certificates; file && *file; file++) {
        if (!**file)
            return "must be the path of a file, or none";
    }
    return NULL;
}

/* ---- the configuration --------------------------------------------------- */

static void replace(char **string, const char *value)
{
    if (!value)
        return;
    g_free(*string);
    *string = g_strdup(value);
}

/* Return the option with an absolute path: a new string. No shell replaces the
 * ~ of file:~/NAME. */
static char *complete_secret(const char *text)
{
    const char *from = strstr(text, "=file:"), *path, *at;
    g_autofree char *given = NULL, *absolute = NULL;
    bool in_home;

    if (!from || from != strchr(text, '='))
        return g_strdup(text);
    path = from + strlen("=file:");
    at = strrchr(path, '@');
    given = g_strndup(path, at ? (gsize)(at - path) : strlen(path));
    in_home = g_str_has_prefix(given, "~/");
    absolute = *given
                   ? g_canonicalize_filename(given + (in_home ? 2 : 0),
                                             in_home ? g_get_home_dir() : NULL)
                   : g_strdup("");
    return g_strdup_printf("%.*s%s%s", (int)(path - text), text, absolute,
                           at ? at : "");
}

static gboolean add_secrets(char *const *options, struct session_config *config,
                            GError **error)
{
    for (; options && *options; options++) {
        g_autofree char *text = complete_secret(*options);

        if (secret_list_add_option(config->secrets, text, error))
            continue;
        g_prefix_error(error, "--secret: ");
        return FALSE;
    }
    return TRUE;
}

gboolean cli_guest_apply(const struct cli_guest *guest,
                         struct session_config *config, GError **error)
{
    g_auto(GStrv) env = NULL, before = NULL;
    g_autofree const char **folders = share_check_writable(config);

    replace(&config->cwd, guest->workdir);
    replace(&config->user, guest->user);
    if (!add_secrets(guest->secrets, config, error))
        return FALSE;
    if (!guest->env && !guest->env_files)
        return TRUE;
    env = cli_env_read(guest->env_files, guest->env, folders, error);
    if (!env)
        return FALSE;
    before = g_steal_pointer(&config->env);
    config->env = command_merge_env(before, env);
    return TRUE;
}

static void add_identity(const char *text, struct session_config *config)
{
    g_autofree const char **folders = share_check_writable(config);

    if (!text || is_word(text, CLI_GUEST_HOST))
        host_identity_read(folders, &config->git);
    else
        parse_identity(text, &config->git);
}

static gboolean add_certificates(char **files, struct session_config *config,
                                 GError **error)
{
    g_autoptr(GString) pem = g_string_new(NULL);

    if (!files || !g_strv_contains((const char *const *)files, CLI_GUEST_NONE))
        certificates_add_host(pem);
    for (; files && *files; files++) {
        if (!is_word(*files, CLI_GUEST_NONE) &&
            !certificates_add_file(pem, *files, error)) {
            g_prefix_error(error, "--ca-certificates: ");
            return FALSE;
        }
    }
    if (pem->len > 0)
        config->certificates = g_string_free(g_steal_pointer(&pem), FALSE);
    return TRUE;
}

gboolean cli_guest_add_host(const struct cli_guest *guest,
                            const struct cli_guest *defaults,
                            struct session_config *config, GError **error)
{
    add_identity(guest->git_identity ? guest->git_identity
                                     : defaults->git_identity,
                 config);
    return add_certificates(guest->certificates ? guest->certificates
                                                : defaults->certificates,
                            config, error);
}

/* ---- comparison with a session that runs --------------------------------- */

static bool has_identity(const char *text, json_t *session)
{
    json_t *git = json_object_get(session, "git_identity");
    const char *name = json_string_value(json_object_get(git, "name"));
    const char *email = json_string_value(json_object_get(git, "email"));
    struct git_identity wanted;
    bool same;

    if (!text || is_word(text, CLI_GUEST_HOST))
        return true;
    parse_identity(text, &wanted);
    same = g_strcmp0(wanted.name, name) == 0 &&
           g_strcmp0(wanted.email, email) == 0;
    git_identity_clear(&wanted);
    return same;
}

/* Return whether the session trusts each certificate of the files. */
static bool has_certificates(char **files, json_t *session)
{
    const char *all = json_string_value(
        json_object_get(session, "ca_certificates"));
    g_autoptr(GString) pem = g_string_new(all);
    size_t before = pem->len;

    for (; files && *files; files++) {
        if (!is_word(*files, CLI_GUEST_NONE) &&
            !certificates_add_file(pem, *files, NULL))
            return false;
    }
    return pem->len == before;
}

/* Return whether the session has each of these secrets, from the same source
 * and for the same hosts. */
static bool has_secrets(char *const *options, json_t *session)
{
    g_autoptr(GPtrArray) list = secret_list_new();
    json_t *actual = json_object_get(session, "secrets"), *wanted, *one, *other;
    size_t i, j;
    bool all = true;

    for (; options && *options; options++) {
        g_autofree char *text = complete_secret(*options);

        if (!secret_list_add_option(list, text, NULL))
            return false;
    }
    wanted = secrets_to_json(list);
    json_array_foreach(wanted, i, one)
    {
        bool found = false;

        json_array_foreach(actual, j, other)
            found = found || json_equal(one, other);
        all = all && found;
    }
    json_decref(wanted);
    return all;
}

static bool has_text(json_t *session, const char *member, const char *text)
{
    g_autofree char *actual = json_bytes_get_path(
        json_object_get(session, member));

    return !text || g_strcmp0(actual, text) == 0;
}

static bool has_variables(const struct cli_guest *guest, json_t *session)
{
    g_auto(GStrv) env = cli_env_read(NULL, guest->env, NULL, NULL);
    json_t *wanted = env_to_json(env), *value;
    json_t *actual = json_object_get(session, "env");
    const char *name;
    bool same = !guest->env_files;

    json_object_foreach(wanted, name, value)
        same = same && json_equal(value, json_object_get(actual, name));
    json_decref(wanted);
    return same;
}

const char *cli_guest_conflict(const struct cli_guest *guest, json_t *session,
                               bool executions)
{
    if (!has_identity(guest->git_identity, session))
        return "--git-identity";
    if (!has_certificates(guest->certificates, session))
        return "--ca-certificates";
    if (!has_secrets(guest->secrets, session))
        return "--secret";
    if (!executions)
        return NULL;
    if (!has_variables(guest, session))
        return guest->env_files ? "--env-file" : "--env";
    if (!has_text(session, "cwd", guest->workdir))
        return "--workdir";
    return has_text(session, "user", guest->user) ? NULL : "--user";
}
