/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_guest - see mcp_guest.h.
 */
#include "agent/mcp/mcp_guest.h"

#include "agent/mcp/mcp_text.h"
#include "agent/machine/guest_image.h"
#include "shim/wire.h"

static const char *const undo_text =
    "Each command and each file write is a step, and the changes of every step "
    "in the working folder can be undone: the tool 'undo' undoes a step, with "
    "all newer steps, by the step_id of its result; 'redo' brings undone steps "
    "back; 'diff' shows what a step changed. File paths are relative to the "
    "working folder. ";

/* Append which tools the image has. */
static void append_image(GString *text, const struct session_config *config)
{
    g_auto(GStrv) tools = NULL;

    if (config->kernel && config->initrd) {
        g_string_append(text, "The guest boots a kernel and an initrd that the "
                              "user has chosen. ");
        return;
    }
    if (config->isolation == ISOLATION_LOCAL && !config->rootfs) {
        g_string_append(text,
                        "The sandbox has the programs of this computer. ");
        return;
    }
    tools = guest_image_tools(config->image);
    g_string_append_printf(text, "The guest image is '%s'", config->image);
    if (tools) {
        g_autofree char *names = g_strjoinv(", ", tools);

        g_string_append_printf(text, ", which has sh and %s. ", names);
    } else {
        g_string_append(text, "; run 'command -v NAME' to see whether it has a "
                              "tool. ");
    }
}

static void append_folders(GString *text, const struct session_config *config)
{
    g_autofree char *first = g_filename_display_name(
        config->directories[0]->path);

    if (config->n_directories == 1) {
        g_string_append_printf(
            text, "The sandbox has the user's working folder as %s. ",
            config->isolation == ISOLATION_LOCAL ? first : WIRE_DEFAULT_CWD);
        return;
    }
    g_string_append(text, "The sandbox has the user's working folders as ");
    for (unsigned i = 0; i < config->n_directories; i++)
        g_string_append_printf(text, "%s%s (%s)", i ? ", " : "",
                               config->directories[i]->guest_path,
                               config->directories[i]->label);
    g_string_append(text, "; tools take the name in brackets as "
                          "'directory'. ");
}

static void append_copies(GString *text, const struct session_config *config)
{
    const GPtrArray *folders = config->copy_folders;

    g_string_append(text, "start_process runs a server in the background, and "
                          "publish_port lets the user reach it. ");
    for (guint i = 0; i < folders->len; i++) {
        g_autofree char *name = g_filename_display_name(
            g_ptr_array_index(folders, i));

        g_string_append_printf(text, "%s%s",
                               i ? ", " : "copy_in and copy_out may also use ",
                               name);
    }
    g_string_append(text, folders->len > 0 ? " of the host. " : "");
}

char *mcp_guest_instructions(const struct session_config *config)
{
    bool local = config && config->isolation == ISOLATION_LOCAL;
    GString *text = g_string_new(
        !config ? "Commands run in a sandbox. "
        : local ? "Commands run in a sandbox on the user's computer, which "
                  "shows them no other files of the user. "
                : "Commands run in a Linux virtual machine, not on the user's "
                  "computer. ");
    json_t *policy;

    g_string_append(text, undo_text);
    if (!config) {
        g_string_append(text, "No machine runs yet: get_session_status tells "
                              "its state, folders and network policy.");
        return g_string_free(text, FALSE);
    }
    append_folders(text, config);
    append_image(text, config);
    append_copies(text, config);
    g_string_append(text, config->persistent
                              ? "Files elsewhere in the guest are kept, and "
                                "undo does not cover them. "
                              : "Files elsewhere in the guest are lost when it "
                                "stops, and undo does not cover them. ");
    policy = network_policy_to_json(&config->network);
    mcp_text_append_network(text, policy);
    json_decref(policy);
    return g_string_free(text, FALSE);
}
