/* SPDX-License-Identifier: Apache-2.0
 *
 * options - see options.h.
 */
#include "virtiofs/options.h"

#include <string.h>
#include <sys/socket.h>

#include "virtiofs/options_parts.h"

/* What GLib fills in, before it is checked. */
struct raw_options {
    char *cache, *log_level;
    char *outside_policy;
    char *max_log_size, *max_step_size, *durability;
    char *sandbox, *seccomp, *xattr_map;
    int max_steps;
    char **sub_options;
    gboolean no_readdirplus, no_killpriv, nothing;
    gboolean posix_locks, flocks, writeback, announce_submounts, debug;
    gboolean read_only, foreground, print_capabilities, print_version;
    int file_limit;
};

static gboolean set_limits(struct options *options,
                           const struct raw_options *raw, GError **error)
{
    if (raw->max_steps < 0)
        return options_fail(error, "--undo-max-steps is a number from 1");
    options->limits.max_step_count = raw->max_steps;
    return options_parse_size("--undo-max-log-size", raw->max_log_size,
                              &options->limits.max_log_size, error) &&
           options_parse_size("--undo-max-step-size", raw->max_step_size,
                              &options->limits.max_single_step_size, error);
}

/* What it is told, in its own struct. --mount serves on this host, which a
 * sandbox would hide from it. */
static gboolean complete_sandbox(struct options *options, GError **error)
{
    struct sandbox_options *sandbox = &options->sandbox;

    if (options->mount_dir && sandbox->mode == SANDBOX_AUTO)
        sandbox->mode = SANDBOX_NONE;
    if (options->mount_dir && sandbox->mode != SANDBOX_NONE)
        return options_fail(error,
                            "--mount has no sandbox; leave --sandbox out");
    if (options->mount_dir) /* unmounting starts programs */
        sandbox->action = SANDBOX_OFF;
    if ((options->uid_map || options->gid_map) &&
        sandbox->mode != SANDBOX_AUTO && sandbox->mode != SANDBOX_NAMESPACE)
        return options_fail(error,
                            "--uid-map and --gid-map need --sandbox=namespace");
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
        return options_fail(error, "--shared-dir is missing");
    if (places != 1)
        return options_fail(error,
                            "exactly one of --socket-path, --fd and --mount is "
                            "needed");
    if (options->listen_fd >= 0 && !is_listening(options->listen_fd))
        return options_fail(error, "--fd=%d is not a listening socket",
                            options->listen_fd);
    if (options->server.writeback && options->undo_dir)
        return options_fail(
            error, "--writeback and --undo-dir exclude each other: what the "
                   "guest has not written yet would belong to no step");
    if (options->socket_group && !options->socket_path)
        return options_fail(error, "--socket-group needs --socket-path");
    if (options->file_limit < 0)
        return options_fail(error, "--rlimit-nofile is a number from 0");
    if (options->interceptor_socket && options->interceptor_fd >= 0)
        return options_fail(error,
                            "--interceptor-socket and --interceptor-fd exclude "
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
    options->server.read_only = raw->read_only;
    options->server.posix_locks = raw->posix_locks;
    options->server.flocks = raw->flocks;
    options->server.writeback = raw->writeback;
    options->server.announce_submounts = raw->announce_submounts;
    options->server.no_readdirplus = raw->no_readdirplus;
    options->server.no_killpriv = raw->no_killpriv;
    options->debug = raw->debug;
    options->file_limit = raw->file_limit;
    if (!options_parse_lists(options, raw->sub_options, error) ||
        !options_set_cache(options, raw->cache, error) ||
        !options_set_log_level(options, raw->log_level, error))
        return FALSE;
    if (options->debug)
        options->log_level = MAX(options->log_level, LOG_LEVEL_DEBUG);
    return parse_outside_policy(options, raw->outside_policy, error) &&
           set_limits(options, raw, error) &&
           options_set_durability(options, raw->durability, error) &&
           options_set_sandbox(options, raw->sandbox, error) &&
           options_set_seccomp(options, raw->seccomp, error) &&
           options_set_xattr_map(options, raw->xattr_map, error) &&
           complete_sandbox(options, error) && check(options, error);
}

static void add_undo_entries(GOptionContext *context, struct options *options,
                             struct raw_options *raw)
{
    const GOptionEntry entries[] = {
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
        { NULL }
    };

    g_option_context_add_main_entries(context, entries, NULL);
}

static void add_sandbox_entries(GOptionContext *context,
                                struct options *options,
                                struct raw_options *raw)
{
    const GOptionEntry entries[] = {
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
        { NULL }
    };

    g_option_context_add_main_entries(context, entries, NULL);
}

static void add_guest_entries(GOptionContext *context, struct options *options,
                              struct raw_options *raw)
{
    const GOptionEntry entries[] = {
        { "cache", 0, 0, G_OPTION_ARG_STRING, &raw->cache,
          "What the guest may cache: never, metadata, auto (default), always",
          "POLICY" },
        { "xattrmap", 0, 0, G_OPTION_ARG_STRING, &raw->xattr_map,
          "Other names for extended attributes on the host", "RULES" },
        { "posix-lock", 0, 0, G_OPTION_ARG_NONE, &raw->posix_locks,
          "The guest's fcntl() locks are locks on the host, too", NULL },
        { "flock", 0, 0, G_OPTION_ARG_NONE, &raw->flocks,
          "The same of its flock() locks", NULL },
        { "announce-submounts", 0, 0, G_OPTION_ARG_NONE,
          &raw->announce_submounts,
          "Show the guest where other filesystems are mounted in the folder",
          NULL },
        { "writeback", 0, 0, G_OPTION_ARG_NONE, &raw->writeback,
          "The guest writes when it likes (not with --undo-dir)", NULL },
        { "no-readdirplus", 0, 0, G_OPTION_ARG_NONE, &raw->no_readdirplus,
          "Do not offer READDIRPLUS", NULL },
        { "no-killpriv-v2", 0, 0, G_OPTION_ARG_NONE, &raw->no_killpriv,
          "Let the guest clear suid bits by itself", NULL },
        { "xattr", 0, 0, G_OPTION_ARG_NONE, &raw->nothing, "So anyway", NULL },
        { "allow-mmap", 0, 0, G_OPTION_ARG_NONE, &raw->nothing, "So anyway",
          NULL },
        { "killpriv-v2", 0, 0, G_OPTION_ARG_NONE, &raw->nothing, "So anyway",
          NULL },
        { "preserve-noatime", 0, 0, G_OPTION_ARG_NONE, &raw->nothing,
          "So anyway", NULL },
        { NULL }
    };

    g_option_context_add_main_entries(context, entries, NULL);
}

static void add_program_entries(GOptionContext *context,
                                struct options *options,
                                struct raw_options *raw)
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
        { "rlimit-nofile", 0, 0, G_OPTION_ARG_INT, &raw->file_limit,
          "Open files at most; 0: leave the limit (default: 1000000)", "N" },
        { "socket-group", 0, 0, G_OPTION_ARG_STRING, &options->socket_group,
          "Let this group use the socket", "GROUP" },
        { "debug", 'd', 0, G_OPTION_ARG_NONE, &raw->debug, "Log for debugging",
          NULL },
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

    g_option_context_add_main_entries(context, entries, NULL);
}

static gboolean parse_arguments(struct options *options,
                                struct raw_options *raw, int argc, char **argv,
                                GError **error)
{
    g_autoptr(GOptionContext) context = g_option_context_new(NULL);

    g_option_context_set_summary(
        context, "Serves a folder to a virtual machine over virtio-fs, with "
                 "undo.");
    add_program_entries(context, options, raw);
    add_undo_entries(context, options, raw);
    add_guest_entries(context, options, raw);
    add_sandbox_entries(context, options, raw);
    if (!g_option_context_parse(context, &argc, &argv, error))
        return FALSE;
    if (argc > 1)
        return options_fail(error, "'%s' is one argument too many", argv[1]);
    return apply_raw(options, raw, error);
}

struct options *options_parse(int argc, char **argv, GError **error)
{
    struct options *options = g_new0(struct options, 1);
    struct raw_options raw = { .file_limit = OPTIONS_MAX_FILES };
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
    xattr_map_free(options->xattr_map);
    g_free(options->socket_group);
    g_free(options->modcaps);
    g_free(options->uid_map);
    g_free(options->gid_map);
    g_free(options);
}
