/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_rm - "stepback rm" and "stepback prune": remove sandboxes.
 *
 * Working folders and their undo logs stay, and so do the disks of --persist,
 * unless prune is asked to remove them: they belong to folders and images.
 */
#include <glib.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "agent/base/runtime_dir.h"
#include "agent/cli/cli.h"
#include "agent/cli/cli_options.h"
#include "agent/cli/cli_sandbox.h"
#include "agent/cli/cli_stop.h"
#include "agent/local/local_cgroup.h"
#include "agent/sandbox/sandbox_store.h"
#include "agent/vm/vm_disk_store.h"
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

static int remove_all(const GPtrArray *records, bool force)
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

/* Return the sandboxes that do not run: a new array, or NULL after printing the
 * error. */
static GPtrArray *find_ended(void)
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
    records = stopped ? find_ended()
                      : cli_sandbox_find_all(argv + 1, CLI_SANDBOX_ANY);
    return records ? remove_all(records, force) : CLI_FAILED;
}

/* ---- prune --------------------------------------------------------------- */

/* What prune removes. */
struct garbage {
    GPtrArray *records; /* of struct sandbox_record */
    GPtrArray *disks;   /* of struct vm_disk_entry, or NULL: they stay */
};

static char *size_text(guint64 bytes)
{
    double mib = (double)bytes / (1 << 20);

    return mib < 1024 ? g_strdup_printf("%.1f MiB", mib)
                      : g_strdup_printf("%.1f GiB", mib / 1024);
}

static char *size_of(const GPtrArray *disks)
{
    guint64 bytes = 0;

    for (guint i = 0; i < disks->len; i++)
        bytes += ((const struct vm_disk_entry *)disks->pdata[i])->bytes;
    return size_text(bytes);
}

static void list_disks(const GPtrArray *disks)
{
    g_autofree char *all = size_of(disks);

    fprintf(stderr,
            "Disks of --persist that no machine uses, with all that is "
            "installed on them (%s):\n",
            all);
    for (guint i = 0; i < disks->len; i++) {
        const struct vm_disk_entry *disk = disks->pdata[i];
        g_autofree char *size = size_text(disk->bytes);
        g_autofree char *name = cli_options_printable(disk->name);
        g_autofree char *image = cli_options_printable(disk->image ? disk->image
                                                                   : "?");

        fprintf(stderr, "  %s (image %s, %s)\n", name, image, size);
    }
}

static bool is_agreed(const struct garbage *garbage)
{
    g_autofree char *names = cli_sandbox_names(garbage->records);
    char answer[16] = "";

    if (garbage->records->len > 0)
        fprintf(stderr, "Sandboxes that do not run: %s\n", names);
    if (garbage->disks && garbage->disks->len > 0)
        list_disks(garbage->disks);
    fprintf(stderr, "Remove them? Folders and their undo logs stay. [y/N] ");
    return fgets(answer, sizeof(answer), stdin) &&
           (answer[0] == 'y' || answer[0] == 'Y');
}

static int remove_disks(const GPtrArray *disks)
{
    int status = CLI_OK;

    for (guint i = 0; i < disks->len; i++) {
        const struct vm_disk_entry *disk = disks->pdata[i];
        g_autofree char *name = cli_options_printable(disk->name);
        g_autoptr(GError) error = NULL;

        if (vm_disk_store_remove(disk->name, &error))
            printf("disk %s\n", name);
        else
            status = cli_options_failed("%s", error->message);
    }
    return status;
}

static void note_disks_that_stay(void)
{
    g_autoptr(GPtrArray) disks = vm_disk_store_list();
    g_autofree char *size = size_of(disks);

    if (disks->len > 0)
        fprintf(stderr,
                CLI_PROGRAM ": %u disk%s of --persist stay%s (%s); "
                            "'stepback prune --disks' removes unused ones\n",
                disks->len, disks->len == 1 ? "" : "s",
                disks->len == 1 ? "s" : "", size);
}

static int prune(const struct garbage *garbage, bool force)
{
    bool is_any = garbage->records->len > 0 ||
                  (garbage->disks && garbage->disks->len > 0);
    int status;

    if (is_any && !force && !isatty(STDIN_FILENO))
        return cli_options_wrong("prune: add --force, as standard input is no "
                                 "terminal to ask on");
    if (is_any && !force && !is_agreed(garbage))
        return CLI_FAILED;
    sandbox_store_sweep();
    runtime_dir_sweep();
    local_cgroup_sweep();
    status = remove_all(garbage->records, false);
    if (!garbage->disks)
        note_disks_that_stay();
    else if (remove_disks(garbage->disks) != CLI_OK)
        status = CLI_FAILED;
    return status;
}

int cli_prune(int argc, char **argv)
{
    gboolean force = FALSE, with_disks = FALSE;
    const GOptionEntry entries[] = {
        { "force", 'f', 0, G_OPTION_ARG_NONE, &force, "do not ask", NULL },
        { "disks", 0, 0, G_OPTION_ARG_NONE, &with_disks,
          "remove also the disks of --persist that no machine uses", NULL },
        { NULL },
    };
    g_autoptr(GPtrArray) records = NULL, disks = NULL;

    if (!cli_options_parse("- remove all sandboxes that do not run, and what "
                           "killed processes left",
                           entries, false, &argc, &argv))
        return CLI_USAGE;
    if (argc > 1)
        return cli_options_wrong("prune: '%s' is one argument too many",
                                 argv[1]);
    records = find_ended();
    disks = with_disks ? vm_disk_store_list() : NULL;
    return records ? prune(&(struct garbage){ records, disks }, force)
                   : CLI_FAILED;
}
