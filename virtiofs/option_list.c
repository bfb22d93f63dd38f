/* SPDX-License-Identifier: Apache-2.0
 *
 * option_list - see option_list.h: -o source=DIR,cache=always,...
 *
 * The grammar of QEMU's former C daemon, which libvirt uses. Options that are
 * always on are accepted silently; unsupported ones are refused with the
 * reason.
 */
#include "virtiofs/option_list.h"

#include <stddef.h>
#include <string.h>

#include "virtiofs/option_values.h"

struct list_option {
    const char *name;
    options_setter *set; /* takes a value; NULL: a switch */
    size_t offset;       /* of a bool in struct options; 0: none */
    bool value;
    const char *refusal; /* why it is not supported */
};

#define SERVER(member) offsetof(struct options, server.member)

static const struct list_option list_options[] = {
    { "source", options_set_source },
    { "cache", options_set_cache },
    { "timeout", options_set_timeout },
    { "log_level", options_set_log_level },
    { "loglevel", options_set_log_level },
    { "sandbox", options_set_sandbox },
    { "modcaps", options_set_modcaps },
    { "xattrmap", options_set_xattr_map },
    { "readonly", NULL, offsetof(struct options, daemon.read_only), true },
    { "flock", NULL, SERVER(flocks), true },
    { "no_flock", NULL, SERVER(flocks), false },
    { "posix_lock", NULL, SERVER(posix_locks), true },
    { "no_posix_lock", NULL, SERVER(posix_locks), false },
    { "readdirplus", NULL, SERVER(no_readdirplus), false },
    { "no_readdirplus", NULL, SERVER(no_readdirplus), true },
    { "writeback", NULL, SERVER(writeback), true },
    { "no_writeback", NULL, SERVER(writeback), false },
    { "killpriv_v2", NULL, SERVER(no_killpriv), false },
    { "no_killpriv_v2", NULL, SERVER(no_killpriv), true },
    { "announce_submounts", NULL, SERVER(announce_submounts), true },
    { "posix_acl", NULL, SERVER(posix_acl), true },
    { "no_posix_acl", NULL, SERVER(posix_acl), false },
    { "security_label", NULL, SERVER(security_label), true },
    { "no_security_label", NULL, SERVER(security_label), false },
    { "debug", NULL, offsetof(struct options, debug), true },

    /* Accepted for compatibility; always on. */
    { "xattr", NULL, 0, false },
    { "no_allow_direct_io", NULL, 0, false },
    { "allow_root", NULL, 0, false },

    { "no_xattr", .refusal = OPTIONS_NO_XATTR },
    { "allow_direct_io", .refusal = OPTIONS_NO_DIRECT_IO },
    { "max_idle_threads", .refusal = "use --thread-pool-size" },
};

static void set_switch(struct options *options,
                       const struct list_option *option)
{
    if (option->offset)
        *(bool *)(void *)((char *)options + option->offset) = option->value;
}

static gboolean parse_option(struct options *options, char *text,
                             GError **error)
{
    char *value = strchr(text, '=');

    if (value)
        *value++ = '\0';
    for (size_t i = 0; i < G_N_ELEMENTS(list_options); i++) {
        const struct list_option *option = &list_options[i];

        if (strcmp(text, option->name) != 0)
            continue;
        if (option->refusal)
            return daemon_options_fail(error, "-o %s: not supported; %s", text,
                                       option->refusal);
        if ((option->set != NULL) != (value != NULL))
            return daemon_options_fail(error, "-o %s %s a value", text,
                                       value ? "does not take" : "needs");
        if (option->set)
            return option->set(options, value, error);
        set_switch(options, option);
        return TRUE;
    }
    return daemon_options_fail(error, "unknown option -o %s", text);
}

/* Split at commas. A comma in a value is doubled, as in QEMU's and libvirt's
 * lists, or written \, as in libfuse's. */
static char **split_list(const char *list)
{
    GPtrArray *parts = g_ptr_array_new();
    g_autoptr(GString) part = g_string_new(NULL);

    for (; *list; list++) {
        if ((*list == '\\' && list[1]) || (*list == ',' && list[1] == ',')) {
            g_string_append_c(part, *++list);
        } else if (*list == ',') {
            g_ptr_array_add(parts, g_strdup(part->str));
            g_string_truncate(part, 0);
        } else {
            g_string_append_c(part, *list);
        }
    }
    g_ptr_array_add(parts, g_strdup(part->str));
    g_ptr_array_add(parts, NULL);
    return (char **)g_ptr_array_free(parts, FALSE);
}

gboolean options_parse_lists(struct options *options, char **lists,
                             GError **error)
{
    for (; lists && *lists; lists++) {
        g_auto(GStrv) parts = split_list(*lists);

        for (char **part = parts; *part; part++) {
            if (**part && !parse_option(options, *part, error))
                return FALSE;
        }
    }
    return TRUE;
}
