/* SPDX-License-Identifier: Apache-2.0
 *
 * options - see options.h.
 */
#include "virtiofs/options.h"

#include <string.h>
#include <sys/socket.h>

/* What GLib fills in, before it is checked. */
struct raw_options {
    char *cache, *log_level;
    char *outside_policy;
    char *max_log_size, *max_step_size, *durability;
    char *sandbox, *seccomp, *xattr_map;
    int max_steps;
    char **sub_options;
    gboolean posix_locks, flocks;
    gboolean read_only, foreground, print_capabilities, print_version;
};

static gboolean fail(GError **error, const char *format, ...)
    G_GNUC_PRINTF(2, 3);

static gboolean fail(GError **error, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    g_clear_error(error);
    if (error)
        *error = g_error_new_valist(G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                                    format, args);
    va_end(args);
    return FALSE;
}

static gboolean set_cache(struct options *options, const char *value,
                          GError **error)
{
    if (fuse_cache_parse(value, &options->server.cache))
        return TRUE;
    return fail(error,
                "cache is never, metadata, auto or always, and not \"%s\"",
                value);
}

static gboolean set_log_level(struct options *options, const char *value,
                              GError **error)
{
    if (log_level_parse(value, &options->log_level))
        return TRUE;
    return fail(error,
                "the log level is error, warn, info, debug or trace, and not "
                "\"%s\"",
                value);
}

static gboolean set_source(struct options *options, const char *value,
                           GError **error)
{
    g_free(options->shared_dir);
    options->shared_dir = g_strdup(value);
    return TRUE;
}

static gboolean set_read_only(struct options *options, const char *value,
                              GError **error)
{
    options->server.read_only = true;
    return TRUE;
}

/* "200M", "1G": K, M, G and T are powers of 1024. */
static gboolean parse_size(const char *option, const char *text,
                           int64_t *ret_bytes, GError **error)
{
    static const char units[] = "KMGT";
    guint64 number = 0;
    const char *unit;
    char *end = NULL;
    int shift = 0;

    if (!text)
        return TRUE;
    if (g_ascii_isdigit(*text))
        number = g_ascii_strtoull(text, &end, 10);
    if (end && *end && (unit = strchr(units, g_ascii_toupper(*end)))) {
        shift = 10 * (int)(unit - units + 1);
        end++;
    }
    if (!end || *end || number == 0 || number > (guint64)(G_MAXINT64 >> shift))
        return fail(error,
                    "%s is a number of bytes from 1, with K, M, G or T if you "
                    "like, and not \"%s\"",
                    option, text);
    *ret_bytes = (int64_t)(number << shift);
    return TRUE;
}

static gboolean set_durability(struct options *options, const char *value,
                               GError **error)
{
    if (!value)
        return TRUE;
    if (strcmp(value, "process") == 0)
        options->durability = IC_DURABILITY_PROCESS;
    else if (strcmp(value, "power") == 0)
        options->durability = IC_DURABILITY_POWER;
    else
        return fail(error, "the durability is process or power, and not \"%s\"",
                    value);
    return TRUE;
}

static gboolean set_limits(struct options *options,
                           const struct raw_options *raw, GError **error)
{
    if (raw->max_steps < 0)
        return fail(error, "--undo-max-steps is a number from 1");
    options->limits.max_step_count = raw->max_steps;
    return parse_size("--undo-max-log-size", raw->max_log_size,
                      &options->limits.max_log_size, error) &&
           parse_size("--undo-max-step-size", raw->max_step_size,
                      &options->limits.max_single_step_size, error);
}

static gboolean set_sandbox(struct options *options, const char *value,
                            GError **error)
{
    if (!value || sandbox_mode_parse(value, &options->sandbox.mode))
        return TRUE;
    return fail(error,
                "the sandbox is namespace, chroot or none, and not \"%s\"",
                value);
}

static gboolean set_seccomp(struct options *options, const char *value,
                            GError **error)
{
    if (!value || sandbox_action_parse(value, &options->sandbox.action))
        return TRUE;
    return fail(error, "--seccomp is kill, log, trap or none, and not \"%s\"",
                value);
}

static gboolean set_xattr_map(struct options *options, const char *value,
                              GError **error)
{
    if (!value)
        return TRUE;
    xattr_map_free(options->xattr_map);
    options->xattr_map = xattr_map_parse(value, error);
    options->server.xattr_map = options->xattr_map;
    return options->xattr_map != NULL;
}

static gboolean set_modcaps(struct options *options, const char *value,
                            GError **error)
{
    xattr_map_free(options->xattr_map);
    g_free(options->modcaps);
    options->modcaps = g_strdup(value);
    return TRUE;
}

/* What it is told, in its own struct. --mount serves on this host, which a
 * sandbox would hide from it. */
static gboolean complete_sandbox(struct options *options, GError **error)
{
    struct sandbox_options *sandbox = &options->sandbox;

    if (options->mount_dir && sandbox->mode == SANDBOX_AUTO)
        sandbox->mode = SANDBOX_NONE;
    if (options->mount_dir && sandbox->mode != SANDBOX_NONE)
        return fail(error, "--mount has no sandbox; leave --sandbox out");
    if (options->mount_dir) /* unmounting starts programs */
        sandbox->action = SANDBOX_OFF;
    if ((options->uid_map || options->gid_map) &&
        sandbox->mode != SANDBOX_AUTO && sandbox->mode != SANDBOX_NAMESPACE)
        return fail(error, "--uid-map and --gid-map need --sandbox=namespace");
    if (options->uid_map || options->gid_map)
        sandbox->mode = SANDBOX_NAMESPACE;
    sandbox->share = options->shared_dir;
    sandbox->undo_dir = options->undo_dir;
    sandbox->read_only = options->server.read_only;
    sandbox->modcaps = options->modcaps;
    sandbox->uid_map = options->uid_map;
    sandbox->gid_map = options->gid_map;
    return TRUE;
}

static gboolean set_flock(struct options *options, const char *value,
                          GError **error)
{
    return options->server.flocks = true;
}

static gboolean set_no_flock(struct options *options, const char *value,
                             GError **error)
{
    options->server.flocks = false;
    return TRUE;
}

static gboolean set_posix_lock(struct options *options, const char *value,
                               GError **error)
{
    return options->server.posix_locks = true;
}

static gboolean set_no_posix_lock(struct options *options, const char *value,
                                  GError **error)
{
    options->server.posix_locks = false;
    return TRUE;
}

/* Options of the other grammar that ask for what is so anyway. */
static gboolean set_nothing(struct options *options, const char *value,
                            GError **error)
{
    return TRUE;
}

static const struct {
    const char *name;
    gboolean has_value;
    gboolean (*set)(struct options *options, const char *value, GError **error);
} sub_options[] = {
    { "source", TRUE, set_source },
    { "cache", TRUE, set_cache },
    { "log_level", TRUE, set_log_level },
    { "readonly", FALSE, set_read_only },
    { "sandbox", TRUE, set_sandbox },
    { "modcaps", TRUE, set_modcaps },
    { "xattrmap", TRUE, set_xattr_map },
    { "xattr", FALSE, set_nothing },
    { "flock", FALSE, set_flock },
    { "no_flock", FALSE, set_no_flock },
    { "posix_lock", FALSE, set_posix_lock },
    { "no_posix_lock", FALSE, set_no_posix_lock },
    { "no_writeback", FALSE, set_nothing },
};

static gboolean parse_sub_option(struct options *options, char *text,
                                 GError **error)
{
    char *value = strchr(text, '=');

    if (value)
        *value++ = 0;
    for (size_t i = 0; i < G_N_ELEMENTS(sub_options); i++) {
        if (strcmp(text, sub_options[i].name) != 0)
            continue;
        if (sub_options[i].has_value != (value != NULL))
            return fail(error, "-o %s %s a value", text,
                        value ? "does not take" : "needs");
        return sub_options[i].set(options, value, error);
    }
    return fail(error, "unknown option -o %s", text);
}

static gboolean parse_sub_options(struct options *options, char **lists,
                                  GError **error)
{
    for (; lists && *lists; lists++) {
        g_auto(GStrv) parts = g_strsplit(*lists, ",", -1);

        for (char **part = parts; *part; part++) {
            if (!parse_sub_option(options, *part, error))
                return FALSE;
        }
    }
    return TRUE;
}

static gboolean is_listening(int fd)
{
    int listening = 0;
    socklen_t size = sizeof(listening);

    return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &size) == 0 &&
           listening;
}

static gboolean check(const struct options *options, GError **error)
{
    int places = !!options->socket_path + (options->listen_fd >= 0) +
                 !!options->mount_dir;

    if (options->print_capabilities || options->print_version)
        return TRUE;
    if (!options->shared_dir)
        return fail(error, "--shared-dir is missing");
    if (places != 1)
        return fail(error, "exactly one of --socket-path, --fd and --mount is "
                           "needed");
    if (options->listen_fd >= 0 && !is_listening(options->listen_fd))
        return fail(error, "--fd=%d is not a listening socket",
                    options->listen_fd);
    if (options->interceptor_socket && options->interceptor_fd >= 0)
        return fail(error, "--interceptor-socket and --interceptor-fd exclude "
                           "each other");
    return TRUE;
}

static gboolean parse_outside_policy(struct options *options, const char *name,
                                     GError **error)
{
    return !name ||
           (ic_outside_policy_parse(name, &options->outside_policy, error) &&
            ic_outside_policy_check(options->outside_policy, error));
}

static gboolean apply_raw(struct options *options,
                          const struct raw_options *raw, GError **error)
{
    options->print_capabilities = raw->print_capabilities;
    options->print_version = raw->print_version;
    if (raw->read_only)
        options->server.read_only = true;
    options->server.posix_locks = raw->posix_locks;
    options->server.flocks = raw->flocks;
    if (!parse_sub_options(options, raw->sub_options, error))
        return FALSE;
    if (raw->cache && !set_cache(options, raw->cache, error))
        return FALSE;
    if (raw->log_level && !set_log_level(options, raw->log_level, error))
        return FALSE;
    return parse_outside_policy(options, raw->outside_policy, error) &&
           set_limits(options, raw, error) &&
           set_durability(options, raw->durability, error) &&
           set_sandbox(options, raw->sandbox, error) &&
           set_seccomp(options, raw->seccomp, error) &&
           set_xattr_map(options, raw->xattr_map, error) &&
           complete_sandbox(options, error) && check(options, error);
}

static gboolean parse_arguments(struct options *options,
                                struct raw_options *raw, int argc, char **argv,
                                GError **error)
{
    const GOptionEntry entries[] = {
        { "shared-dir", 0, 0, G_OPTION_ARG_FILENAME, &options->shared_dir,
          "Serve this folder", "DIR" },
        { "socket-path", 0, 0, G_OPTION_ARG_FILENAME, &options->socket_path,
          "Listen for the front-end on this Unix socket", "PATH" },
        { "fd", 0, 0, G_OPTION_ARG_INT, &options->listen_fd,
          "Listen for the front-end on this inherited socket", "N" },
        { "mount", 0, 0, G_OPTION_ARG_FILENAME, &options->mount_dir,
          "Mount here instead of serving a guest", "DIR" },
        { "undo-dir", 0, 0, G_OPTION_ARG_FILENAME, &options->undo_dir,
          "Keep the undo log here (default: no undo)", "DIR" },
        { "undo-max-log-size", 0, 0, G_OPTION_ARG_STRING, &raw->max_log_size,
          "Forget the oldest steps when more was copied (default: 1G)",
          "BYTES" },
        { "undo-max-step-size", 0, 0, G_OPTION_ARG_STRING, &raw->max_step_size,
          "Keep no more of a step that copies more; it cannot be undone "
          "(default: 200M)",
          "BYTES" },
        { "undo-max-steps", 0, 0, G_OPTION_ARG_INT, &raw->max_steps,
          "Forget the oldest steps when there are more (default: 100)", "N" },
        { "durability", 0, 0, G_OPTION_ARG_STRING, &raw->durability,
          "What undo survives: process (default: the daemon's end) or power (a "
          "power cut, too)",
          "WHAT" },
        { "external-modification-policy", 0, 0, G_OPTION_ARG_STRING,
          &raw->outside_policy,
          "What a change of the folder by others does: barrier (default: undo "
          "over it needs force), warn, lock (refused: no host enforces it)",
          "POLICY" },
        { "interceptor-socket", 0, 0, G_OPTION_ARG_FILENAME,
          &options->interceptor_socket,
          "Listen for the undo control protocol on this Unix socket", "PATH" },
        { "interceptor-fd", 0, 0, G_OPTION_ARG_INT, &options->interceptor_fd,
          "Serve the undo control protocol on this inherited socket", "N" },
        { "cache", 0, 0, G_OPTION_ARG_STRING, &raw->cache,
          "What the guest may cache: never, metadata, auto (default), always",
          "POLICY" },
        { "sandbox", 0, 0, G_OPTION_ARG_STRING, &raw->sandbox,
          "Lock the daemon in: namespace (default), chroot or none", "MODE" },
        { "seccomp", 0, 0, G_OPTION_ARG_STRING, &raw->seccomp,
          "What a system call that is not allowed does: kill (default), log, "
          "trap, none",
          "ACTION" },
        { "modcaps", 0, 0, G_OPTION_ARG_STRING, &options->modcaps,
          "Change the capabilities that are kept: +NAME and -NAME, between "
          "colons",
          "LIST" },
        { "uid-map", 0, 0, G_OPTION_ARG_STRING, &options->uid_map,
          "Users of the sandbox's user namespace, by newuidmap",
          ":INSIDE:OUTSIDE:COUNT:" },
        { "gid-map", 0, 0, G_OPTION_ARG_STRING, &options->gid_map,
          "The same of groups", ":INSIDE:OUTSIDE:COUNT:" },
        { "xattrmap", 0, 0, G_OPTION_ARG_STRING, &raw->xattr_map,
          "Other names for extended attributes on the host", "RULES" },
        { "posix-lock", 0, 0, G_OPTION_ARG_NONE, &raw->posix_locks,
          "The guest's fcntl() locks are locks on the host, too", NULL },
        { "flock", 0, 0, G_OPTION_ARG_NONE, &raw->flocks,
          "The same of its flock() locks", NULL },
        { "readonly", 0, 0, G_OPTION_ARG_NONE, &raw->read_only,
          "Refuse every change", NULL },
        { "option", 'o', 0, G_OPTION_ARG_STRING_ARRAY, &raw->sub_options,
          "source=DIR, cache=POLICY, log_level=LEVEL, readonly",
          "OPTION[,...]" },
        { "log-level", 0, 0, G_OPTION_ARG_STRING, &raw->log_level,
          "error, warn, info (default), debug or trace", "LEVEL" },
        { "foreground", 'f', 0, G_OPTION_ARG_NONE, &raw->foreground,
          "Stay in the foreground, which is always so", NULL },
        { "print-capabilities", 0, 0, G_OPTION_ARG_NONE,
          &raw->print_capabilities, "Print what the program can do, as JSON",
          NULL },
        { "version", 'V', 0, G_OPTION_ARG_NONE, &raw->print_version,
          "Print the version", NULL },
        { NULL }
    };
    g_autoptr(GOptionContext) context = g_option_context_new(NULL);

    g_option_context_set_summary(
        context, "Serves a folder to a virtual machine over virtio-fs, with "
                 "undo.");
    g_option_context_add_main_entries(context, entries, NULL);
    if (!g_option_context_parse(context, &argc, &argv, error))
        return FALSE;
    if (argc > 1)
        return fail(error, "'%s' is one argument too many", argv[1]);
    return apply_raw(options, raw, error);
}

struct options *options_parse(int argc, char **argv, GError **error)
{
    struct options *options = g_new0(struct options, 1);
    struct raw_options raw = { 0 };
    gboolean ok;

    options->listen_fd = options->interceptor_fd = -1;
    options->log_level = LOG_LEVEL_INFO;
    options->server.cache = FUSE_CACHE_AUTO;
    ok = parse_arguments(options, &raw, argc, argv, error);
    g_free(raw.cache);
    g_free(raw.log_level);
    g_free(raw.outside_policy);
    g_free(raw.max_log_size);
    g_free(raw.max_step_size);
    g_free(raw.durability);
    g_free(raw.sandbox);
    g_free(raw.seccomp);
    g_free(raw.xattr_map);
    g_strfreev(raw.sub_options);
    if (!ok)
        g_clear_pointer(&options, options_free);
    return options;
}

void options_free(struct options *options)
{
    if (!options)
        return;
    g_free(options->shared_dir);
    g_free(options->socket_path);
    g_free(options->mount_dir);
    g_free(options->undo_dir);
    g_free(options->interceptor_socket);
    g_free(options->modcaps);
    g_free(options->uid_map);
    g_free(options->gid_map);
    g_free(options);
}
