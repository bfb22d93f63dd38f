/* SPDX-License-Identifier: Apache-2.0
 *
 * option_foreign - see option_foreign.h.
 *
 * A command line for another virtio-fs daemon should work here: an option that
 * cannot be supported is refused with the reason, not as unknown.
 */
#include "virtiofs/option_foreign.h"

#include <string.h>

#include "virtiofs/option_values.h"

#define MIGRATION "an undo log stays on its host"

static const struct {
    const char *option, *reason;
} refusals[] = {
    { "--daemonize",
      "the daemon stays in the foreground; run it under a supervisor" },
    { "--tag", "set the tag at QEMU's device" },
    { "--allow-direct-io", OPTIONS_NO_DIRECT_IO },
    { "--migration-mode", MIGRATION },
    { "--migration-on-error", MIGRATION },
    { "--migration-verify-handles", MIGRATION },
    { "--migration-confirm-paths", MIGRATION },
};

/* A GOptionArgFunc. */
static gboolean refuse(const char *option, const char *value, gpointer data,
                       GError **error)
{
    const char *reason = "";

    for (size_t i = 0; i < G_N_ELEMENTS(refusals); i++) {
        if (strcmp(option, refusals[i].option) == 0)
            reason = refusals[i].reason;
    }
    return daemon_options_fail(error, "%s: not supported; %s", option, reason);
}

void options_add_foreign_entries(GOptionContext *context,
                                 struct options *options)
{
    GOptionEntry entries[G_N_ELEMENTS(refusals) + 2] = {
        { "socket", 0, G_OPTION_FLAG_HIDDEN, G_OPTION_ARG_FILENAME,
          &options->daemon.socket_path, NULL, NULL },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(refusals); i++) {
        GOptionEntry *entry = &entries[i + 1];

        entry->long_name = refusals[i].option + strlen("--");
        entry->flags = G_OPTION_FLAG_HIDDEN | G_OPTION_FLAG_OPTIONAL_ARG;
        entry->arg = G_OPTION_ARG_CALLBACK;
        entry->arg_data = (gpointer)refuse;
    }
    g_option_context_add_main_entries(context, entries, NULL);
}

/* Return whether the word is "-osource=DIR" and not "-o". */
static bool is_joined(const char *word)
{
    return g_str_has_prefix(word, "-o") && word[2];
}

char **options_split_words(char **argv)
{
    GPtrArray *words = g_ptr_array_new();

    for (char **word = argv; *word; word++) {
        if (is_joined(*word)) {
            g_ptr_array_add(words, g_strdup("-o"));
            g_ptr_array_add(words, g_strdup(*word + strlen("-o")));
        } else {
            g_ptr_array_add(words, g_strdup(*word));
        }
    }
    g_ptr_array_add(words, NULL);
    return (char **)g_ptr_array_free(words, FALSE);
}
