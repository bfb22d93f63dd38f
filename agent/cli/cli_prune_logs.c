/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_prune_logs - see cli_prune_logs.h.
 */
#include "agent/cli/cli_prune_logs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/cli/cli.h"
#include "agent/cli/cli_options.h"
#include "agent/sandbox/sandbox_record.h"
#include "agent/base/log_place.h"
#include "interceptor/interceptor.h"

static void log_free(gpointer data)
{
    struct cli_orphan_log *log = data;

    g_free(log->path);
    g_free(log);
}

static gint compare_paths(gconstpointer a, gconstpointer b)
{
    const struct cli_orphan_log *const *x = a, *const *y = b;

    return strcmp((*x)->path, (*y)->path);
}

static void examine(const char *path, GPtrArray *found)
{
    g_autofree char *reason = NULL;
    guint64 bytes;
    enum ic_log_use use = ic_log_examine(path, &bytes, &reason);
    struct cli_orphan_log *log;

    if (use == IC_LOG_UNSURE) {
        g_autofree char *shown = cli_options_printable(path);
        g_autofree char *why = cli_options_printable(reason);

        fprintf(stderr, CLI_PROGRAM ": undo log %s: stays; %s\n", shown, why);
    }
    if (use != IC_LOG_ORPHAN)
        return;
    log = g_new(struct cli_orphan_log, 1);
    *log = (struct cli_orphan_log){ g_strdup(path), bytes };
    g_ptr_array_add(found, log);
}

/* dir: a real path. */
static void search(const char *dir, GPtrArray *found)
{
    g_autofree char *logs = log_place_logs(dir);
    g_autoptr(GDir) names = logs ? g_dir_open(logs, 0, NULL) : NULL;
    const char *name;

    while (names && (name = g_dir_read_name(names))) {
        g_autofree char *path = g_build_filename(logs, name, NULL);

        examine(path, found);
    }
}

/* Add the real path of a folder to the set, if it exists. */
static void add_folder(GHashTable *set, const char *dir)
{
    char *real = realpath(dir, NULL);

    if (real)
        g_hash_table_add(set, real);
}

GPtrArray *cli_prune_logs_find(const char *dir, const GPtrArray *records)
{
    g_autoptr(GHashTable)
        dirs = g_hash_table_new_full(g_str_hash, g_str_equal, free, NULL);
    GPtrArray *found = g_ptr_array_new_with_free_func(log_free);
    GHashTableIter iter;
    gpointer key;

    add_folder(dirs, dir ? dir : ".");
    for (guint i = 0; i < records->len; i++) {
        g_autoptr(GPtrArray)
            folders = sandbox_record_folders(records->pdata[i]);

        for (guint j = 0; j < folders->len; j++) {
            g_autofree char *parent = g_path_get_dirname(folders->pdata[j]);

            add_folder(dirs, parent);
        }
    }
    g_hash_table_iter_init(&iter, dirs);
    while (g_hash_table_iter_next(&iter, &key, NULL))
        search(key, found);
    g_ptr_array_sort(found, compare_paths);
    return found;
}
