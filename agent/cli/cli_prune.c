/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_prune - "stepback prune": remove what no sandbox needs any more.
 *
 * Working folders stay, and so do the undo logs of folders that exist. All else
 * than sandboxes is removed only if an option asks for it.
 */
#include <glib.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "agent/base/runtime_dir.h"
#include "agent/cli/cli.h"
#include "agent/cli/cli_options.h"
#include "agent/cli/cli_prune_logs.h"
#include "agent/cli/cli_rm.h"
#include "agent/cli/cli_sandbox.h"
#include "agent/local/local_cgroup.h"
#include "agent/machine/guest_image_store.h"
#include "agent/sandbox/sandbox_store.h"
#include "agent/vm/template_store.h"
#include "agent/vm/vm_disk_store.h"
#include "common/errors.h"
#include "interceptor/interceptor.h"

struct prune_options {
    gboolean force, dry_run, disks, logs, caches;
    char *dir;
};

/* The things to remove. */
struct garbage {
    GPtrArray *records; /* of struct sandbox_record */
    GPtrArray *disks;   /* of struct vm_disk_entry; empty: they stay */
    GPtrArray *logs;    /* of struct cli_orphan_log; empty: they stay */
    /* Bytes; 0: they stay. The packages of images of all users are root's. */
    guint64 templates, packages, system_packages;
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

static void list_disks(const GPtrArray *disks, FILE *to)
{
    g_autofree char *all = size_of(disks);

    if (disks->len == 0)
        return;
    fprintf(to,
            "Disks of --persist that no machine uses, with all that is "
            "installed on them (%s):\n",
            all);
    for (guint i = 0; i < disks->len; i++) {
        const struct vm_disk_entry *disk = disks->pdata[i];
        g_autofree char *size = size_text(disk->bytes);
        g_autofree char *name = cli_options_printable(disk->name);
        g_autofree char *image = cli_options_printable(disk->image ? disk->image
                                                                   : "?");

        fprintf(to, "  %s (image %s, %s)\n", name, image, size);
    }
}

static void list_logs(const GPtrArray *logs, FILE *to)
{
    if (logs->len > 0)
        fprintf(to, "Undo logs whose folder is gone (that of a folder that you "
                    "have moved, too):\n");
    for (guint i = 0; i < logs->len; i++) {
        const struct cli_orphan_log *log = logs->pdata[i];
        g_autofree char *size = size_text(log->bytes);
        g_autofree char *path = cli_options_printable(log->path);

        fprintf(to, "  %s (%s)\n", path, size);
    }
}

static void list_caches(const struct garbage *garbage, FILE *to)
{
    g_autofree char *templates = size_text(garbage->templates);
    g_autofree char *packages = size_text(garbage->packages +
                                          garbage->system_packages);

    if (garbage->templates > 0)
        fprintf(to, "Templates of machines: %s\n", templates);
    if (garbage->packages + garbage->system_packages > 0)
        fprintf(to, "Packages that builds of images have fetched: %s\n",
                packages);
}

static bool is_empty(const struct garbage *garbage)
{
    return garbage->records->len == 0 && garbage->disks->len == 0 &&
           garbage->logs->len == 0 && garbage->templates == 0 &&
           garbage->packages == 0 && garbage->system_packages == 0;
}

static void list_all(const struct garbage *garbage, FILE *to)
{
    g_autofree char *names = cli_sandbox_names(garbage->records);

    if (garbage->records->len > 0)
        fprintf(to, "Sandboxes that do not run: %s\n", names);
    list_disks(garbage->disks, to);
    list_logs(garbage->logs, to);
    list_caches(garbage, to);
}

static bool is_agreed(const struct garbage *garbage)
{
    char answer[16] = "";

    list_all(garbage, stderr);
    fprintf(stderr, "Remove them? Folders%s stay. [y/N] ",
            garbage->logs->len > 0 ? ", and the logs of those that exist,"
                                   : " and their undo logs");
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

static int remove_logs(const GPtrArray *logs)
{
    int status = CLI_OK;

    for (guint i = 0; i < logs->len; i++) {
        const struct cli_orphan_log *log = logs->pdata[i];
        g_autofree char *path = cli_options_printable(log->path);
        g_autoptr(GError) error = NULL;

        if (ic_log_remove_orphan(log->path, &error))
            printf("undo log %s\n", path);
        else
            status = cli_options_failed("%s", error->message);
    }
    return status;
}

static int remove_caches(const struct garbage *garbage)
{
    g_autoptr(GError) error = NULL;
    guint64 bytes;

    if (garbage->templates > 0)
        printf("templates %u\n", template_store_clear(&bytes));
    if (garbage->packages + garbage->system_packages == 0)
        return CLI_OK;
    if ((garbage->packages > 0 &&
         !guest_image_packages_remove(IMAGE_PLACE_USER, &error)) ||
        (garbage->system_packages > 0 &&
         !guest_image_packages_remove(IMAGE_PLACE_SYSTEM, &error)))
        return cli_options_failed("%s", error->message);
    puts("packages");
    return CLI_OK;
}

static void note_disks_that_stay(void)
{
    g_autoptr(GPtrArray) disks = vm_disk_store_list(false);
    g_autofree char *size = size_of(disks);

    if (disks->len > 0)
        fprintf(stderr,
                CLI_PROGRAM ": %u disk%s of --persist stay%s (%s); "
                            "'stepback prune --disks' removes unused ones\n",
                disks->len, disks->len == 1 ? "" : "s",
                disks->len == 1 ? "s" : "", size);
}

static int prune(const struct garbage *garbage,
                 const struct prune_options *options)
{
    bool asks = !is_empty(garbage) && !options->force && !options->dry_run;
    int status;

    if (options->dry_run) {
        list_all(garbage, stdout);
        return CLI_OK;
    }
    if (asks && !isatty(STDIN_FILENO))
        return cli_options_wrong("prune: add --force, as standard input is no "
                                 "terminal to ask on");
    if (asks && !is_agreed(garbage))
        return CLI_FAILED;
    sandbox_store_sweep();
    runtime_dir_sweep();
    local_cgroup_sweep();
    status = cli_rm_all(garbage->records, false);
    if (!options->disks)
        note_disks_that_stay();
    if (remove_disks(garbage->disks) != CLI_OK)
        status = CLI_FAILED;
    if (remove_logs(garbage->logs) != CLI_OK)
        status = CLI_FAILED;
    if (remove_caches(garbage) != CLI_OK)
        status = CLI_FAILED;
    return status;
}

static int find_and_prune(const struct prune_options *options)
{
    g_autoptr(GPtrArray) records = cli_rm_find_ended(), disks = NULL,
                         logs = NULL;
    struct garbage garbage;

    if (!records)
        return CLI_FAILED;
    disks = options->disks ? vm_disk_store_list(false) : g_ptr_array_new();
    logs = options->logs ? cli_prune_logs_find(options->dir, records)
                         : g_ptr_array_new();
    garbage = (struct garbage){ records, disks, logs, 0, 0, 0 };
    if (options->caches) {
        garbage.templates = template_store_size();
        garbage.packages = guest_image_packages_size(IMAGE_PLACE_USER);
        if (geteuid() == 0)
            garbage.system_packages = guest_image_packages_size(
                IMAGE_PLACE_SYSTEM);
    }
    return prune(&garbage, options);
}

int cli_prune(int argc, char **argv)
{
    struct prune_options options = { 0 };
    const GOptionEntry entries[] = {
        { "force", 'f', 0, G_OPTION_ARG_NONE, &options.force, "do not ask",
          NULL },
        { "dry-run", 'n', 0, G_OPTION_ARG_NONE, &options.dry_run,
          "print what would be removed, and remove nothing", NULL },
        { "disks", 0, 0, G_OPTION_ARG_NONE, &options.disks,
          "remove also the disks of --persist that no machine uses", NULL },
        { "caches", 0, 0, G_OPTION_ARG_NONE, &options.caches,
          "remove also the templates of machines, and the packages that builds "
          "of images have fetched",
          NULL },
        { "logs", 0, 0, G_OPTION_ARG_NONE, &options.logs,
          "remove also undo logs whose folder is gone: those of folders in "
          "DIR, "
          "and beside folders of the sandboxes",
          NULL },
        { "directory", 'C', 0, G_OPTION_ARG_FILENAME, &options.dir,
          "with --logs: this folder instead of the current one", "DIR" },
        { NULL },
    };
    int status = CLI_USAGE;

    if (!cli_options_parse("- remove all sandboxes that do not run, and what "
                           "killed processes left",
                           entries, false, &argc, &argv))
        return CLI_USAGE;
    if (argc > 1)
        cli_options_surplus("prune", argv[1]);
    else if (options.dir && !options.logs)
        cli_options_wrong("prune: -C needs --logs");
    else if (options.dir && !g_file_test(options.dir, G_FILE_TEST_IS_DIR))
        status = cli_options_failed("prune: %s: not a folder", options.dir);
    else
        status = find_and_prune(&options);
    g_free(options.dir);
    return status;
}
