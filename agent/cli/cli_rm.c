/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_rm - "stepback rm": remove sandboxes.
 *
 * Working folders, their undo logs and the disks of --persist stay.
 */
#include "agent/cli/cli_rm.h"

#include <glib.h>
#include <stdbool.h>
#include <stdio.h>

#include "agent/cli/cli.h"
#include "agent/cli/cli_options.h"
#include "agent/cli/cli_sandbox.h"
#include "agent/cli/cli_stop.h"
#include "agent/sandbox/sandbox_store.h"
#include "common/errors.h"
#include "common/fd.h"

enum { FORCE_TIMEOUT_S = 0 };

static gboolean remove_one(const struct sandbox_record *record, bool force,
                           GError **error)
{
    fd_auto int lock = -1;

    if (sandbox_record_is_live(record) && !force) {
        g_set_error(error, STEPBACK_ERROR, ERROR_BUSY,
                    "sandbox %s: %s; stop it first, or add --force",
                    record->name, sandbox_status_name(record->status));
        return FALSE;
    }
    if (sandbox_record_is_live(record) &&
        !cli_stop_sandbox(record, CLI_STOP_AT_ONCE, FORCE_TIMEOUT_S, error))
        return FALSE;
    lock = sandbox_store_lock(record->dir_fd, error);
    if (lock >= 0)
        return sandbox_store_remove(record->name, error);
    g_prefix_error(error, "sandbox %s: ", record->name);
    return FALSE;
}

int cli_rm_all(const GPtrArray *records, bool force)
{
    int status = CLI_OK;

    for (guint i = 0; i < records->len; i++) {
        const struct sandbox_record *record = records->pdata[i];
        g_autoptr(GError) error = NULL;

        if (remove_one(record, force, &error))
            printf("%s\n", record->name);
        else
            status = cli_options_failed("%s", error->message);
    }
    return status;
}

GPtrArray *cli_rm_find_ended(void)
{
    g_autoptr(GError) error = NULL;
    GPtrArray *records = sandbox_record_load_all(&error);

    if (!records)
        cli_options_failed("%s", error->message);
    for (guint i = records ? records->len : 0; i > 0; i--) {
        if (sandbox_record_is_live(records->pdata[i - 1]))
            g_ptr_array_remove_index(records, i - 1);
    }
    return records;
}

int cli_rm(int argc, char **argv)
{
    gboolean stopped = FALSE, force = FALSE;
    const GOptionEntry entries[] = {
        { "stopped", 0, 0, G_OPTION_ARG_NONE, &stopped,
          "remove all that do not run", NULL },
        { "force", 'f', 0, G_OPTION_ARG_NONE, &force,
          "end a sandbox that runs, and remove it", NULL },
        { NULL },
    };
    g_autoptr(GPtrArray) records = NULL;

    if (!cli_options_parse("[NAME...] - remove sandboxes", entries, false,
                           &argc, &argv))
        return CLI_USAGE;
    if (stopped == (argc > 1))
        return cli_options_wrong("rm: give names of sandboxes, or --stopped");
    records = stopped ? cli_rm_find_ended()
                      : cli_sandbox_find_all(argv + 1, CLI_SANDBOX_ANY);
    return records ? cli_rm_all(records, force) : CLI_FAILED;
}
