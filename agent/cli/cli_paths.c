/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_paths - see cli_paths.h.
 */
#include "agent/cli/cli_paths.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/cli/cli_options.h"
#include "common/json_bytes.h"

char **cli_paths_cut(int *argc, char **argv)
{
    for (int i = 1; i < *argc; i++) {
        if (strcmp(argv[i], "--") != 0)
            continue;
        *argc = i;
        argv[i] = NULL;
        return &argv[i + 1];
    }
    return NULL;
}

static bool is_folder(const char *path, const struct stat *folder)
{
    struct stat st;

    return stat(path, &st) == 0 && st.st_dev == folder->st_dev &&
           st.st_ino == folder->st_ino;
}

/* Names below the folder are used unresolved: the path need not exist, and a
 * symlink may be the changed file. The path up to the folder may contain
 * symlinks. Returns a new string, or NULL. */
static char *find_below(const char *word, const struct stat *folder)
{
    g_autofree char *here = realpath(".", NULL);
    g_autofree char *full = here ? g_canonicalize_filename(word, here) : NULL;
    char *end = full;

    while (end && *end) {
        char *next = strchr(end + 1, '/');
        char kept;

        end = next ? next : end + strlen(end);
        kept = *end;
        *end = '\0';
        if (is_folder(full, folder))
            return g_strdup(kept ? end + 1 : ".");
        *end = kept;
    }
    return NULL;
}

json_t *cli_paths_resolve(const char *command, const struct cli_place *place,
                          char **words)
{
    const char *dir = place->dir ? place->dir : ".";
    json_t *paths = json_array();
    struct stat folder;

    if (stat(dir, &folder) < 0 || !*words) {
        cli_options_wrong("%s: %s", command,
                          *words ? "the working folder does not exist"
                                 : "name a path after --");
        json_decref(paths);
        return NULL;
    }
    for (; *words; words++) {
        g_autofree char *path = find_below(*words, &folder);
        g_autofree char *shown = cli_options_printable(*words);

        if (!path) {
            cli_options_wrong("%s: %s is not in the working folder; name that "
                              "with -C",
                              command, shown);
            json_decref(paths);
            return NULL;
        }
        json_array_append_new(paths, json_bytes_path(path));
    }
    return paths;
}
