/* SPDX-License-Identifier: Apache-2.0
 *
 * pager - see pager.h.
 */
#include "agent/base/pager.h"

#include <glib.h>
#include <string.h>

#include "common/host_program.h"

#define DEFAULT_PAGER "less"

/* Return the path of a program that was given by name or by path, if it lies in
 * a directory of host_program.h. A new string, or NULL. */
static char *find_program(const char *word)
{
    g_autofree char *name = g_path_get_basename(word);
    g_autofree char *path = host_program_find(name);

    if (path && strchr(word, '/') && strcmp(word, path) != 0) {
        g_autofree char *dirs = host_program_path();
        g_autofree char *dir = g_path_get_dirname(word);
        g_auto(GStrv) list = g_strsplit(dirs, ":", -1);

        if (!g_strv_contains((const char *const *)list, dir) ||
            !g_file_test(word, G_FILE_TEST_IS_EXECUTABLE))
            return NULL;
        return g_strdup(word);
    }
    return g_steal_pointer(&path);
}

static char **parse(const char *variable, const char *value, char **ret_problem)
{
    g_auto(GStrv) argv = NULL;
    g_autofree char *program = NULL;

    if (!g_shell_parse_argv(value, NULL, &argv, NULL)) {
        *ret_problem = g_strdup_printf("%s: unbalanced quotes; using less",
                                       variable);
        return NULL;
    }
    program = find_program(argv[0]);
    if (!program) {
        g_autofree char *dirs = host_program_path();

        *ret_problem = g_strdup_printf(
            "%s: '%s' is not a program in %s; using less; "
            "STEPBACK_PROGRAM_PATH can add a folder that no guest writes to",
            variable, argv[0], dirs);
        return NULL;
    }
    g_free(argv[0]);
    argv[0] = g_steal_pointer(&program);
    return g_steal_pointer(&argv);
}

char **pager_find(char **ret_problem)
{
    static const char *const variables[] = { "STEPBACK_PAGER", "PAGER" };
    g_autofree char *less = host_program_find(DEFAULT_PAGER);
    const char *const words[] = { less, NULL };

    *ret_problem = NULL;
    for (size_t i = 0; i < G_N_ELEMENTS(variables); i++) {
        const char *value = g_getenv(variables[i]);
        char **argv;

        if (!value)
            continue;
        if (value[strspn(value, " \t")] == '\0' || strcmp(value, "cat") == 0)
            return NULL;
        argv = parse(variables[i], value, ret_problem);
        if (argv)
            return argv;
        break;
    }
    return less ? g_strdupv((char **)words) : NULL;
}
