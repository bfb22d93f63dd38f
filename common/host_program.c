/* SPDX-License-Identifier: Apache-2.0
 *
 * host_program - see host_program.h.
 */
#include <config.h>

#include "common/host_program.h"

#include <glib.h>
#include <string.h>
#include <unistd.h>

/* Return the absolute paths of a list. */
static char *join_absolute(const char *list)
{
    g_auto(GStrv) dirs = g_strsplit(list, ":", -1);
    GString *path = g_string_new(NULL);

    for (char **dir = dirs; *dir; dir++) {
        if (g_path_is_absolute(*dir))
            g_string_append_printf(path, "%s%s", path->len ? ":" : "", *dir);
    }
    return g_string_free(path, FALSE);
}

char *host_program_path(void)
{
    const char *given = g_getenv("STEPBACK_PROGRAM_PATH");
    char *path = join_absolute(given ? given : "");

    if (*path)
        return path;
    g_free(path);
    return g_strdup(STEPBACK_PROGRAM_PATH);
}

char *host_program_find(const char *name)
{
    g_autofree char *path = host_program_path();
    g_auto(GStrv) dirs = g_strsplit(path, ":", -1);

    for (char **dir = dirs; !strchr(name, '/') && *dir; dir++) {
        g_autofree char *program = g_build_filename(*dir, name, NULL);

        if (g_file_test(program, G_FILE_TEST_IS_REGULAR) &&
            access(program, X_OK) == 0)
            return g_steal_pointer(&program);
    }
    return NULL;
}
