/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_defaults - see cli_defaults.h.
 */
#include "agent/cli/cli_defaults.h"

#include <stddef.h>
#include <string.h>

#include "agent/base/user_file.h"
#include "agent/machine/guest_image.h"
#include "agent/machine/share_check.h"
#include "agent/vm/pool_wire.h"
#include "common/errors.h"

#define GROUP      "defaults"
#define POOL_GROUP "pool"
#define POOL       POOL_GROUP "." /* before the keys of that group */

#define FIELD(member) offsetof(struct cli_machine, member)

static const struct cli_setting settings[] = {
    { "image", SETTING_STRING, FIELD(image), GUEST_IMAGE_DEFAULT },
    { "cpus", SETTING_STRING, FIELD(cpus), "2, or 1 without KVM" },
    { "memory", SETTING_STRING, FIELD(memory), "1024" },
    { "persist", SETTING_FLAG, FIELD(persist), "false" },
    { "network", SETTING_STRING, FIELD(network), "open" },
    { "upstream-proxy", SETTING_STRING, FIELD(upstream_proxy),
      "HTTPS_PROXY and the like" },
    { "env", SETTING_LIST, FIELD(guest.env), "" },
    { "workdir", SETTING_STRING, FIELD(guest.workdir), "the working folder" },
    { "user", SETTING_STRING, FIELD(guest.user),
      "root; you in local isolation" },
    { "git-identity", SETTING_STRING, FIELD(guest.git_identity),
      CLI_GUEST_HOST },
    { "ca-certificates", SETTING_LIST, FIELD(guest.certificates),
      CLI_GUEST_HOST },
    { "guest-undo", SETTING_STRING, FIELD(guest_undo), "own" },
    { "backend", SETTING_STRING, FIELD(backend), "virtiofs" },
    { "accel", SETTING_STRING, FIELD(accel), "auto" },
    { "isolation", SETTING_STRING, FIELD(isolation), "vm" },
    { "rootfs", SETTING_STRING, FIELD(rootfs), "" },
    { POOL "size", SETTING_STRING, FIELD(pool_size), "0" },
    { POOL "max-age", SETTING_STRING, FIELD(pool_max_age), "86400" },
    { NULL },
};

const struct cli_setting *cli_defaults_settings(void)
{
    return settings;
}

char *cli_defaults_path(void)
{
    return g_build_filename(g_get_user_config_dir(), "stepback", "config.ini",
                            NULL);
}

char *cli_defaults_text(const struct cli_setting *setting,
                        const struct cli_machine *machine)
{
    const void *member = (const char *)machine + setting->offset;
    char **list;

    if (strcmp(setting->name, "network") == 0 && machine->no_network)
        return g_strdup(CLI_GUEST_NONE);
    switch (setting->kind) {
    case SETTING_STRING:
        return g_strdup(*(char *const *)member);
    case SETTING_FLAG:
        if (machine->no_persist)
            return g_strdup("false");
        return machine->persist || machine->new_disk ? g_strdup("true") : NULL;
    case SETTING_LIST:
        list = *(char **const *)member;
        return list ? g_strjoinv(";", list) : NULL;
    }
    return NULL;
}

/* ---- values -------------------------------------------------------------- */

static const struct cli_setting *find_setting(const char *name)
{
    for (size_t i = 0; settings[i].name; i++) {
        if (strcmp(settings[i].name, name) == 0)
            return &settings[i];
    }
    return NULL;
}

static gboolean take_value(struct cli_machine *machine,
                           const struct cli_setting *setting, GKeyFile *file,
                           GError **error)
{
    bool pool = g_str_has_prefix(setting->name, POOL);
    const char *group = pool ? POOL_GROUP : GROUP;
    const char *key = setting->name + (pool ? strlen(POOL) : 0);
    void *member = (char *)machine + setting->offset;
    gboolean flag;

    switch (setting->kind) {
    case SETTING_STRING:
        *(char **)member = g_key_file_get_string(file, group, key, error);
        return *(char **)member != NULL;
    case SETTING_LIST:
        *(char ***)member = g_key_file_get_string_list(file, group, key, NULL,
                                                       error);
        return *(char ***)member != NULL;
    case SETTING_FLAG:
        flag = g_key_file_get_boolean(file, group, key, error);
        machine->persist = flag;
        machine->no_persist = !flag;
        if (*error) {
            g_clear_error(error);
            g_set_error_literal(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                                "must be true or false");
        }
        return !*error;
    }
    return FALSE;
}

static char *allowed_names(void)
{
    g_autoptr(GString) names = g_string_new(NULL);

    for (size_t i = 0; settings[i].name; i++)
        g_string_append_printf(names, "%s%s", i ? ", " : "", settings[i].name);
    return g_string_free(g_steal_pointer(&names), FALSE);
}

static gboolean take_key(struct cli_machine *machine, GKeyFile *file,
                         const char *path, const char *key, GError **error)
{
    const struct cli_setting *setting = find_setting(key);
    g_autofree char *names = setting ? NULL : allowed_names();
    GError *cause = NULL;

    if (!setting) {
        g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                    "%s: unknown key '%s'; allowed: %s", path, key, names);
        return FALSE;
    }
    if (take_value(machine, setting, file, &cause))
        return TRUE;
    g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD, "%s: %s: %s", path,
                key, cause->message);
    g_error_free(cause);
    return FALSE;
}

static gboolean take_group(struct cli_machine *machine, GKeyFile *file,
                           const char *path, const char *group,
                           const char *prefix, GError **error)
{
    g_auto(GStrv) keys = g_key_file_get_keys(file, group, NULL, NULL);

    for (char **key = keys; key && *key; key++) {
        g_autofree char *name = g_strconcat(prefix, *key, NULL);

        if (!take_key(machine, file, path, name, error))
            return FALSE;
    }
    return TRUE;
}

static gboolean take_groups(struct cli_machine *machine, GKeyFile *file,
                            const char *path, GError **error)
{
    g_auto(GStrv) groups = g_key_file_get_groups(file, NULL);

    for (char **group = groups; *group; group++) {
        if (strcmp(*group, GROUP) == 0 || strcmp(*group, POOL_GROUP) == 0)
            continue;
        g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                    "%s: unknown group [%s]; use [" GROUP "] or [" POOL_GROUP
                    "]",
                    path, *group);
        return FALSE;
    }
    return take_group(machine, file, path, GROUP, "", error) &&
           take_group(machine, file, path, POOL_GROUP, POOL, error);
}

/* A relative path would be one of any folder in which a command runs. */
static const char *relative_file(const struct cli_machine *machine)
{
    for (char **file = machine->guest.certificates; file && *file; file++) {
        if (!g_path_is_absolute(*file) && strcmp(*file, CLI_GUEST_NONE) != 0)
            return *file;
    }
    return NULL;
}

static gboolean check_number(const char *path, const char *name,
                             const char *text, guint64 least, guint64 most,
                             GError **error)
{
    if (!text || g_ascii_string_to_unsigned(text, 10, least, most, NULL, NULL))
        return TRUE;
    g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                "%s: %s: must be a number from %" G_GUINT64_FORMAT
                " to %" G_GUINT64_FORMAT,
                path, name, least, most);
    return FALSE;
}

static gboolean check_pool(const struct cli_machine *machine, const char *path,
                           GError **error)
{
    return check_number(path, POOL "size", machine->pool_size, 0, POOL_SIZE_MAX,
                        error) &&
           check_number(path, POOL "max-age", machine->pool_max_age, 1,
                        G_MAXINT, error);
}

static gboolean check_values(const struct cli_machine *machine,
                             const char *path, GError **error)
{
    const char *relative = relative_file(machine), *key;
    g_autofree char *problem = cli_machine_problem(machine, &key);

    if (problem)
        g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD, "%s: %s: %s",
                    path, key, problem);
    else if (relative)
        g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                    "%s: ca-certificates: '%s' is relative; write an absolute "
                    "path",
                    path, relative);
    return !problem && !relative && check_pool(machine, path, error);
}

static gboolean load(struct cli_machine *machine, const char *path,
                     GError **error)
{
    g_autoptr(GKeyFile) file = g_key_file_new();
    g_autoptr(GError) cause = NULL;
    g_autofree char *text = NULL;
    size_t len = 0;

    if (!user_file_read(path, &text, &len, error))
        return FALSE;
    if (!text || len == 0)
        return TRUE;
    if (!g_key_file_load_from_data(file, text, len, G_KEY_FILE_NONE, &cause)) {
        g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                    "%s: %s; write lines KEY=VALUE below [" GROUP "]", path,
                    cause->message);
        return FALSE;
    }
    return take_groups(machine, file, path, error) &&
           check_values(machine, path, error);
}

struct cli_machine *cli_defaults_load(GError **error)
{
    g_autofree char *path = cli_defaults_path();
    struct cli_machine *machine = g_new0(struct cli_machine, 1);

    if (load(machine, path, error))
        return machine;
    cli_machine_clear(machine);
    g_free(machine);
    return NULL;
}

gboolean cli_defaults_check_place(const struct session_config *config,
                                  GError **error)
{
    g_autofree char *path = cli_defaults_path();
    g_autofree const char **folders = share_check_writable(config);
    const char *folder;

    folder = share_check_find(folders, path);
    if (!folder || access(path, F_OK) < 0)
        return TRUE;
    g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_DIRECTORY,
                "the working folder %s: your configuration (%s) lies in it, "
                "where the guest could change it; set XDG_CONFIG_HOME to a "
                "folder outside, or remove the file",
                folder, path);
    return FALSE;
}
