/* SPDX-License-Identifier: Apache-2.0
 *
 * install_paths - see install_paths.h.
 */
#include "agent/base/install_paths.h"

#include <glib.h>
#include <stdbool.h>
#include <unistd.h>

#define IMAGE_BUILDER "guest/build"
#define PRESETS       "network"

/* In a build directory, by links of configure. */
#define IMAGE_BUILDER_BUILD "contrib/" IMAGE_BUILDER
#define PRESETS_BUILD       "contrib/" PRESETS

/* The directory of this program; for a libtool build tree, the build
 * directory. */
static char *program_dir(void)
{
    g_autofree char *program = g_file_read_link("/proc/self/exe", NULL);
    g_autofree char *dir = program ? g_path_get_dirname(program) : NULL;

    if (dir && g_str_has_suffix(dir, "/.libs"))
        return g_path_get_dirname(dir);
    return g_steal_pointer(&dir);
}

/* Return dir/name if it is executable, else NULL. A NULL or relative dir finds
 * nothing. */
static char *find_in(const char *dir, const char *name)
{
    g_autofree char *path = NULL;

    if (!dir || !g_path_is_absolute(dir))
        return NULL;
    path = g_build_filename(dir, name, NULL);
    if (g_file_test(path, G_FILE_TEST_IS_REGULAR) && access(path, X_OK) == 0)
        return g_steal_pointer(&path);
    return NULL;
}

char *install_paths_find_helper(const char *name)
{
    const char *given = g_getenv("STEPBACK_LIBEXECDIR");
    g_autofree char *beside = program_dir();
    char *path = find_in(given, name);

    if (!path && !given)
        path = find_in(beside, name);
    if (!path && !given)
        path = find_in(STEPBACK_LIBEXECDIR, name);
    return path;
}

bool install_paths_are_newer(void)
{
    g_autofree char *program = g_file_read_link("/proc/self/exe", NULL);

    return program && g_str_has_suffix(program, " (deleted)"); /* proc(5) */
}

char *install_paths_self(void)
{
    g_autofree char *dir = program_dir();
    char *path = find_in(dir, "stepback");

    return path ? path : g_strdup("/proc/self/exe");
}

char *install_paths_describe_missing(const char *name)
{
    const char *given = g_getenv("STEPBACK_LIBEXECDIR");

    return given ? g_strdup_printf("%s: not in STEPBACK_LIBEXECDIR=%s; let it "
                                   "name the absolute folder that has the "
                                   "program, or unset it",
                                   name, given)
                 : g_strdup_printf("%s: not installed; run 'make install', or "
                                   "set STEPBACK_LIBEXECDIR to the folder that "
                                   "has the program",
                                   name);
}

char *install_paths_find_image_builder(void)
{
    const char *given = g_getenv("STEPBACK_DATADIR");
    g_autofree char *beside = program_dir();
    char *path = find_in(given, IMAGE_BUILDER);

    if (!path && !given)
        path = find_in(beside, IMAGE_BUILDER_BUILD);
    if (!path && !given)
        path = find_in(STEPBACK_PKGDATADIR, IMAGE_BUILDER);
    return path;
}

/* Return dir/name if it is a folder, else NULL. */
static char *find_folder(const char *dir, const char *name)
{
    g_autofree char *path = NULL;

    if (!dir || !g_path_is_absolute(dir))
        return NULL;
    path = g_build_filename(dir, name, NULL);
    return g_file_test(path, G_FILE_TEST_IS_DIR) ? g_steal_pointer(&path)
                                                 : NULL;
}

char *install_paths_find_presets(void)
{
    const char *given = g_getenv("STEPBACK_DATADIR");
    g_autofree char *beside = program_dir();
    char *path = find_folder(given, PRESETS);

    if (!path && !given)
        path = find_folder(beside, PRESETS_BUILD);
    if (!path && !given)
        path = find_folder(STEPBACK_PKGDATADIR, PRESETS);
    return path;
}
