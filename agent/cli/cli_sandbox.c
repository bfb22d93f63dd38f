/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_sandbox - see cli_sandbox.h.
 */
#include "agent/cli/cli_sandbox.h"

#include <stdio.h>
#include <string.h>

#include "agent/cli/cli.h"
#include "agent/cli/cli_options.h"
#include "agent/client/api_link.h"
#include "agent/sandbox/sandbox_store.h"
#include "common/errors.h"
#include "common/real_path.h"

enum { ASK_MS = 10000, FOLLOW_MS = 200 };

static bool fits(const struct sandbox_record *record,
                 enum cli_sandbox_which which)
{
    if (which == CLI_SANDBOX_RUNNING)
        return record->status == SANDBOX_RUNNING;
    return which == CLI_SANDBOX_ANY || sandbox_record_is_live(record);
}

static bool has_folder(const struct sandbox_record *record, const char *path,
                       bool exact)
{
    g_autofree char *folder = sandbox_record_folder_above(record, path);

    return folder && (!exact || strcmp(folder, path) == 0);
}

GPtrArray *cli_sandbox_of_folder(const char *path, bool live, bool exact,
                                 GError **error)
{
    g_autofree char *real = real_path_of(path);
    GPtrArray *records = sandbox_record_load_all(error);

    for (guint i = records ? records->len : 0; i > 0; i--) {
        struct sandbox_record *record = records->pdata[i - 1];

        if (sandbox_record_is_live(record) != live ||
            !has_folder(record, real, exact))
            g_ptr_array_remove_index(records, i - 1);
    }
    return records;
}

char *cli_sandbox_names(const GPtrArray *records)
{
    GString *names = g_string_new(NULL);

    for (guint i = 0; i < records->len; i++) {
        const struct sandbox_record *record = records->pdata[i];
        const char *glue = i == 0 ? "" : i + 1 == records->len ? " and " : ", ";

        g_string_append_printf(names, "%s%s", glue, record->name);
    }
    return g_string_free(names, FALSE);
}

/* ---- by name ------------------------------------------------------------- */

static struct sandbox_record *find_named(const char *name,
                                         enum cli_sandbox_which which)
{
    g_autoptr(GError) error = NULL;
    struct sandbox_record *record = sandbox_record_load(name, &error);
    const char *status;

    if (!record) {
        cli_options_failed("%s", error->message);
        return NULL;
    }
    if (fits(record, which))
        return record;
    status = sandbox_status_name(record->status);
    if (record->status == SANDBOX_STOPPING)
        cli_options_failed("sandbox %s: stopping; once it has stopped, start "
                           "it again with 'stepback up %s'",
                           name, name);
    else if (sandbox_record_is_live(record))
        cli_options_failed("sandbox %s: %s; wait until it runs", name, status);
    else
        cli_options_failed("sandbox %s: %s; start it with 'stepback up %s'",
                           name, status, name);
    sandbox_record_free(record);
    return NULL;
}

/* ---- by the current directory -------------------------------------------- */

static void print_none(const GPtrArray *others, enum cli_sandbox_which which)
{
    g_autofree char *names = cli_sandbox_names(others);
    bool any = which == CLI_SANDBOX_ANY;

    if (others->len > 0)
        cli_options_failed("no %s has this folder; name one of %s, or start "
                           "one with 'stepback up'",
                           any ? "sandbox" : "running sandbox", names);
    else
        cli_options_failed("%s; start one with 'stepback up'",
                           any ? "there is no sandbox"
                               : "no sandbox is running");
}

static struct sandbox_record *find_here(enum cli_sandbox_which which)
{
    g_autofree char *here = real_path_of(".");
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) all = sandbox_record_load_all(&error);
    g_autoptr(GPtrArray) found = g_ptr_array_new();
    g_autofree char *names = NULL;

    if (!all) {
        cli_options_failed("%s", error->message);
        return NULL;
    }
    for (guint i = all->len; i > 0; i--) {
        if (!fits(all->pdata[i - 1], which))
            g_ptr_array_remove_index(all, i - 1);
        else if (has_folder(all->pdata[i - 1], here, false))
            g_ptr_array_insert(found, 0, all->pdata[i - 1]);
    }
    if (found->len == 1) {
        guint index;

        g_ptr_array_find(all, found->pdata[0], &index);
        return g_ptr_array_steal_index(all, index);
    }
    if (found->len == 0) {
        print_none(all, which);
        return NULL;
    }
    names = cli_sandbox_names(found);
    cli_options_failed("several sandboxes have this folder; name one of %s",
                       names);
    return NULL;
}

struct sandbox_record *cli_sandbox_find(const char *name,
                                        enum cli_sandbox_which which)
{
    return name ? find_named(name, which) : find_here(which);
}

GPtrArray *cli_sandbox_find_all(char **words, enum cli_sandbox_which which)
{
    g_autoptr(GPtrArray) records = g_ptr_array_new_with_free_func(
        (GDestroyNotify)sandbox_record_free);
    struct sandbox_record *record;

    for (; *words; words++) {
        record = find_named(*words, which);
        if (!record)
            return NULL;
        g_ptr_array_add(records, record);
    }
    if (records->len == 0) {
        record = find_here(which);
        if (!record)
            return NULL;
        g_ptr_array_add(records, record);
    }
    return g_steal_pointer(&records);
}

GPtrArray *cli_sandbox_load_live(void)
{
    g_autoptr(GError) error = NULL;
    GPtrArray *records = sandbox_record_load_all(&error);

    if (!records)
        cli_options_failed("%s", error->message);
    for (guint i = records ? records->len : 0; i > 0; i--) {
        if (!sandbox_record_is_live(records->pdata[i - 1]))
            g_ptr_array_remove_index(records, i - 1);
    }
    return records;
}

bool cli_sandbox_follow(int dir_fd)
{
    bool lives = !ferror(stdout) && sandbox_store_is_locked(dir_fd);

    if (lives)
        g_usleep(FOLLOW_MS * 1000);
    return lives;
}

json_t *cli_sandbox_ask(const struct sandbox_record *record, const char *type,
                        json_t *payload, GError **error)
{
    const char *path = sandbox_record_socket(record, "api_socket");

    if (path)
        return api_link_ask_once(path, type, payload, ASK_MS, error);
    json_decref(payload);
    g_set_error(error, STEPBACK_ERROR, ERROR_NO_SESSION, "sandbox %s: %s",
                record->name, sandbox_status_name(record->status));
    return NULL;
}
