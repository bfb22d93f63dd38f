/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_image_rm - "stepback image rm": remove guest images.
 */
#include "agent/cli/cli_image_rm.h"

#include <glib.h>
#include <jansson.h>
#include <stdio.h>

#include "agent/cli/cli.h"
#include "agent/cli/cli_options.h"
#include "agent/machine/guest_image.h"
#include "agent/machine/guest_image_store.h"
#include "agent/vm/vm_disk_store.h"

/* Return how many disks of --persist do not start without the image, and how
 * many of them machines use now. */
static guint count_disks(const char *name, guint *ret_used)
{
    g_autoptr(GPtrArray) disks = vm_disk_store_list(true);
    guint count = 0;

    *ret_used = 0;
    for (guint i = 0; i < disks->len; i++) {
        const struct vm_disk_entry *disk = disks->pdata[i];
        bool needs = g_strcmp0(disk->image, name) == 0;

        count += needs;
        *ret_used += needs && disk->is_used;
    }
    return count;
}

static int refuse(const char *shown, guint disks, guint used)
{
    g_autofree char *in_use = used > 0 ? g_strdup_printf(" (%u in use)", used)
                                       : g_strdup("");

    return cli_options_failed(
        "image %s: %u disk%s of --persist need%s it%s; add --force, or "
        "remove unused disks first: " CLI_PROGRAM " prune --disks",
        shown, disks, disks == 1 ? "" : "s", disks == 1 ? "s" : "", in_use);
}

static int remove_one(enum guest_image_place place, const char *name,
                      bool force)
{
    g_autofree char *shown = cli_options_printable(name);
    guint used, disks = count_disks(name, &used);
    g_autoptr(GError) error = NULL;

    if (disks > 0 && !force)
        return refuse(shown, disks, used);
    if (disks > 0 && vm_disk_store_keep_bases(&error) > 0)
        return cli_options_failed("image %s: a disk of --persist cannot keep "
                                  "its system: %s",
                                  shown, error->message);
    if (!guest_image_remove(place, name, &error))
        return cli_options_failed("%s", error->message);
    printf("%s\n", shown);
    return CLI_OK;
}

int cli_image_rm(int argc, char **argv)
{
    gboolean force = FALSE, is_system = FALSE;
    const GOptionEntry entries[] = {
        { "force", 'f', 0, G_OPTION_ARG_NONE, &force,
          "even if disks of --persist need it", NULL },
        { "system", 0, 0, G_OPTION_ARG_NONE, &is_system,
          "an image of all users; needs root", NULL },
        { NULL },
    };
    int status = CLI_OK;

    if (!cli_options_parse("NAME... - remove guest images", entries, false,
                           &argc, &argv))
        return CLI_USAGE;
    if (argc < 2)
        return cli_options_wrong("image rm: give the names of images; "
                                 "'" CLI_PROGRAM " image list' has them");
    for (int i = 1; i < argc; i++) {
        if (remove_one(is_system ? IMAGE_PLACE_SYSTEM : IMAGE_PLACE_USER,
                       argv[i], force) != CLI_OK)
            status = CLI_FAILED;
    }
    return status;
}
