/* SPDX-License-Identifier: Apache-2.0
 *
 * network_preset - see network_preset.h.
 */
#include "agent/base/network_preset.h"

#include <string.h>

#include "agent/base/install_paths.h"
#include "agent/base/user_file.h"
#include "common/errors.h"

#define PRESET "preset:"

struct preset {
    struct network_policy *policy;
    network_policy_add_fn *add;
    bool own; /* a file of the user */
};

const char *network_preset_name(const char *entry)
{
    return g_str_has_prefix(entry, PRESET) ? entry + strlen(PRESET) : NULL;
}

/* Return the length of the valid characters at the start. */
static size_t valid_length(const char *name)
{
    return strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-");
}

static bool is_valid(const char *name)
{
    size_t valid = valid_length(name);

    return valid > 0 && valid <= NETWORK_LABEL_MAX && !name[valid];
}

static gboolean check_name(const char *entry, GError **error)
{
    const char *name = network_preset_name(entry);
    size_t valid = valid_length(name);

    if (is_valid(name))
        return TRUE;
    return network_name_problem(
        error, entry, strlen(PRESET) + valid + 1,
        "a preset's name has 1 to 63 letters a to z, digits and hyphens");
}

/* ---- places -------------------------------------------------------------- */

static char *own_path(const char *name)
{
    return g_build_filename(g_get_user_config_dir(), "stepback", "network",
                            name, NULL);
}

static bool has_own(const char *entry)
{
    g_autofree char *path = own_path(network_preset_name(entry));

    return g_file_test(path, G_FILE_TEST_EXISTS);
}

bool network_preset_exists(const char *name)
{
    g_autofree char *folder = install_paths_find_presets(), *own = NULL;
    g_autofree char *installed = NULL;

    if (!is_valid(name))
        return false;
    own = own_path(name);
    installed = folder ? g_build_filename(folder, name, NULL) : NULL;
    return g_file_test(own, G_FILE_TEST_EXISTS) ||
           (installed && g_file_test(installed, G_FILE_TEST_EXISTS));
}

static int compare(gconstpointer a, gconstpointer b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static gboolean fail_nested(const char *entry, GError **error)
{
    return network_name_problem(
        error, entry, 1,
        "a preset can include installed presets only; write the entries of "
        "yours here instead");
}

/* Add the names of a folder (NULL: none) that are presets and not in the
 * list. */
static void add_names(GPtrArray *names, const char *folder)
{
    GDir *dir = folder ? g_dir_open(folder, 0, NULL) : NULL;
    const char *name;

    while (dir && (name = g_dir_read_name(dir))) {
        if (is_valid(name) &&
            !g_ptr_array_find_with_equal_func(names, name, g_str_equal, NULL))
            g_ptr_array_add(names, g_strdup(name));
    }
    if (dir)
        g_dir_close(dir);
}

/* Return the names of the presets, installed and of the user: a new string. */
static char *list_presets(const char *folder, const char *own)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);

    add_names(names, folder);
    add_names(names, own);
    g_ptr_array_sort(names, compare);
    g_ptr_array_add(names, NULL);
    return g_strjoinv(", ", (char **)names->pdata);
}

static gboolean fail_unknown(const char *entry, const char *folder,
                             GError **error)
{
    g_autofree char *own = own_path(""), *names = list_presets(folder, own);
    g_autofree char *problem = g_strdup_printf(
        "there is no such preset; use one of these: %s; or write a file in %s",
        *names ? names : "(there is none)", own);

    return network_name_problem(error, entry, strlen(PRESET) + 1, problem);
}

/* ---- files --------------------------------------------------------------- */

static gboolean add_installed(const struct preset *preset, const char *entry,
                              bool nested, GError **error);

static gboolean add_line(const struct preset *preset, char *line,
                         GError **error)
{
    line[strcspn(line, "#")] = '\0';
    g_strstrip(line);
    if (!*line)
        return TRUE;
    if (network_preset_name(line) && preset->own)
        return check_name(line, error) &&
               add_installed(preset, line, true, error);
    return preset->add(preset->policy, line, error);
}

static gboolean add_text(const struct preset *preset, const char *path,
                         const char *text, GError **error)
{
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

    for (unsigned i = 0; lines[i]; i++) {
        if (!add_line(preset, lines[i], error)) {
            g_prefix_error(error, "%s:%u: ", path, i + 1);
            return FALSE;
        }
    }
    return TRUE;
}

static gboolean add_installed(const struct preset *preset, const char *entry,
                              bool nested, GError **error)
{
    struct preset installed = { preset->policy, preset->add, false };
    g_autofree char *folder = install_paths_find_presets();
    g_autofree char *path = NULL, *text = NULL;

    if (folder)
        path = g_build_filename(folder, network_preset_name(entry), NULL);
    if (!path || !g_file_get_contents(path, &text, NULL, NULL))
        return nested && has_own(entry) ? fail_nested(entry, error)
                                        : fail_unknown(entry, folder, error);
    return add_text(&installed, path, text, error);
}

gboolean network_preset_add(struct network_policy *policy, const char *entry,
                            network_policy_add_fn *add, GError **error)
{
    struct preset preset = { policy, add, true };
    g_autofree char *path = NULL, *text = NULL;
    size_t length;

    if (!check_name(entry, error))
        return FALSE;
    path = own_path(network_preset_name(entry));
    if (!user_file_read(path, &text, &length, error))
        return FALSE;
    if (!text)
        return add_installed(&preset, entry, false, error);
    text = g_realloc(text, length + 1);
    text[length] = '\0';
    return add_text(&preset, path, text, error);
}
