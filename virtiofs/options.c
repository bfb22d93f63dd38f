/* SPDX-License-Identifier: Apache-2.0
 *
 * options - see options.h.
 */
#include "virtiofs/options.h"

#include <sys/socket.h>

#include "virtiofs/fuse/mount.h"

#include "virtiofs/option_foreign.h"
#include "virtiofs/option_list.h"
#include "virtiofs/option_values.h"
#include "virtiofs/vhost/queue_pool.h"

#define DEFAULT_POOL_SIZE 4

/* Seconds that names and attributes stay valid with an undo log. */
#define UNDO_TIMEOUT 1

/* Raw values from GLib, not validated yet. */
struct raw_options {
    struct daemon_raw_options daemon;
    char *cache, *xattr_map;
    char **sub_options;
    gboolean no_readdirplus, no_killpriv, nothing;
    gboolean posix_acl, security_label, posix_locks, flocks, writeback,
        announce_submounts;
    gboolean foreground, restartable, hold_signals;
    int pool_size;
};

/* Complete the options for --mount, which serves on this host: a sandbox would
 * hide the mount from the host. */
static gboolean complete_mount(struct options *options,
                               const struct raw_options *raw, GError **error)
{
    struct sandbox_options *sandbox = &options->daemon.sandbox;

    if (!options->mount_dir)
        return TRUE;
    if (raw->restartable)
        return daemon_options_fail(
            error, "--restartable: only for a guest, not with --mount");
    if (options->daemon.uid_map || options->daemon.gid_map)
        return daemon_options_fail(
            error,
            "--mount runs without a sandbox; omit --uid-map and --gid-map");
    if (raw->daemon.seccomp && sandbox->action != SANDBOX_OFF)
        return daemon_options_fail(
            error, "--mount runs without a sandbox; omit --seccomp");
    if (sandbox->mode == SANDBOX_AUTO)
        sandbox->mode = SANDBOX_NONE;
    if (sandbox->mode != SANDBOX_NONE)
        return daemon_options_fail(
            error, "--mount runs without a sandbox; omit --sandbox");
    sandbox->action = SANDBOX_OFF; /* unmounting executes programs */
    return TRUE;
}

static gboolean check_notify(const struct options *options, GError **error)
{
    struct sockaddr_storage peer;
    socklen_t size = sizeof(peer);

    if (options->server.cache != FUSE_CACHE_LEASE)
        return daemon_options_fail(error, "--notify-fd needs --cache=lease");
    if (getpeername(options->notify_fd, (struct sockaddr *)&peer, &size) < 0)
        return daemon_options_fail(error,
                                   "--notify-fd=%d: not a connected socket",
                                   options->notify_fd);
    return TRUE;
}

static gboolean check(const struct options *options, GError **error)
{
    const struct daemon_options *daemon = &options->daemon;
    int places = !!daemon->socket_path + (daemon->listen_fd >= 0) +
                 !!options->mount_dir + (options->mount_fd >= 0);

    if (places != 1)
        return daemon_options_fail(
            error,
            "give exactly one of --socket-path, --fd, --mount and --mount-fd");
    if (daemon->listen_fd >= 0 &&
        !daemon_options_is_listening(daemon->listen_fd))
        return daemon_options_fail(error, "--fd=%d: not a listening socket",
                                   daemon->listen_fd);
    if (options->mount_fd >= 0 && !mount_fd_is_fuse(options->mount_fd))
        return daemon_options_fail(
            error, "--mount-fd=%d: not an open /dev/fuse", options->mount_fd);
    if (options->server.writeback && daemon->undo_dir)
        return daemon_options_fail(
            error, "--writeback excludes --undo-dir: writes that the guest "
                   "still caches would belong to no step");
    if (options->server.cache == FUSE_CACHE_LEASE &&
        (options->mount_dir || options->mount_fd >= 0))
        return daemon_options_fail(
            error, "--cache=lease is for a guest; use auto for a mount, which "
                   "can be notified");
    if (options->notify_fd >= 0 && !check_notify(options, error))
        return FALSE;
    if (options->server.posix_acl && (daemon->ids.users || daemon->ids.groups))
        return daemon_options_fail(
            error, "--posix-acl excludes --translate-uid and --translate-gid: "
                   "the ids in ACLs would not be translated");
    return TRUE;
}

/* Bound the client's cache if there is an undo log, because an undo changes the
 * folder without the client's knowledge. virtio-fs cannot notify a guest, so
 * with a log the guest caches no names: a name that undo has moved to another
 * file would direct the guest's next write there. "lease" has a protocol
 * against that (fuse_lease.h). Attributes and data stay valid no longer than
 * with "auto", with --mount, too. */
static void bound_cache(struct options *options)
{
    struct fuse_server_config *server = &options->server;
    bool is_long = server->timeout_given && server->timeout > UNDO_TIMEOUT;

    if (server->cache == FUSE_CACHE_LEASE && !server->timeout_given) {
        server->timeout_given = true;
        server->timeout = FUSE_LEASE_SECONDS;
    }
    if (!options->daemon.undo_dir)
        return;
    server->no_names = !options->mount_dir && options->mount_fd < 0 &&
                       server->cache != FUSE_CACHE_LEASE;
    if (server->cache == FUSE_CACHE_ALWAYS) {
        server->cache = FUSE_CACHE_AUTO;
        options->cache_bounded = "always acts as auto";
    } else if (server->cache == FUSE_CACHE_METADATA) {
        server->cache = FUSE_CACHE_NEVER;
        options->cache_bounded = "metadata acts as never with a timeout";
        is_long = is_long || !server->timeout_given;
    }
    if (is_long) {
        server->timeout_given = true;
        server->timeout = UNDO_TIMEOUT;
        if (!options->cache_bounded)
            options->cache_bounded = "the timeout is reduced";
    }
}

static gboolean set_pool_size(struct options *options, int size, GError **error)
{
    if (size < 0 || size > QUEUE_POOL_MAX_THREADS)
        return daemon_options_fail(
            error, "--thread-pool-size: not a number from 0 to %d",
            QUEUE_POOL_MAX_THREADS);
    options->vhost_user.pool_size = (unsigned)size;
    return TRUE;
}

static gboolean apply_raw(struct options *options,
                          const struct raw_options *raw, GError **error)
{
    options->vhost_user.restartable = raw->restartable;
    options->server.posix_acl = raw->posix_acl;
    options->server.security_label = raw->security_label;
    options->server.posix_locks = raw->posix_locks;
    options->server.flocks = raw->flocks;
    options->server.writeback = raw->writeback;
    options->server.hold_signals = raw->hold_signals;
    options->server.announce_submounts = raw->announce_submounts;
    options->server.no_readdirplus = raw->no_readdirplus;
    options->server.no_killpriv = raw->no_killpriv;
    if (!options_parse_lists(options, raw->sub_options, error) ||
        !options_set_cache(options, raw->cache, error) ||
        !set_pool_size(options, raw->pool_size, error) ||
        !daemon_options_apply(&options->daemon, &raw->daemon, error) ||
        !options_set_xattr_map(options, raw->xattr_map, error))
        return FALSE;
    options->server.ids = options->daemon.ids;
    if (options->debug)
        options->daemon.log_level = MAX(options->daemon.log_level,
                                        LOG_LEVEL_DEBUG);
    options->server.read_only = options->daemon.read_only;
    if (options->daemon.print_version)
        return TRUE;
    if (!complete_mount(options, raw, error) ||
        !daemon_options_complete(&options->daemon, error) ||
        !check(options, error))
        return FALSE;
    bound_cache(options);
    return TRUE;
}

static void add_guest_entries(GOptionContext *context, struct options *options,
                              struct raw_options *raw)
{
    const GOptionEntry entries[] = {
        { "cache", 0, 0, G_OPTION_ARG_STRING, &raw->cache,
          "What the guest may cache: never, lease, metadata, auto (default), "
          "always",
          "POLICY" },
        { "xattrmap", 0, 0, G_OPTION_ARG_STRING, &raw->xattr_map,
          "Rename extended attributes on the host", "RULES" },
        { "posix-acl", 0, 0, G_OPTION_ARG_NONE, &raw->posix_acl,
          "Let the guest enforce the files' ACLs", NULL },
        { "security-label", 0, 0, G_OPTION_ARG_NONE, &raw->security_label,
          "Give new files the security labels that the guest sends", NULL },
        { "posix-lock", 0, 0, G_OPTION_ARG_NONE, &raw->posix_locks,
          "Make the guest's fcntl() locks locks on the host", NULL },
        { "flock", 0, 0, G_OPTION_ARG_NONE, &raw->flocks,
          "Make the guest's flock() locks locks on the host", NULL },
        { "announce-submounts", 0, 0, G_OPTION_ARG_NONE,
          &raw->announce_submounts,
          "Show the guest where other filesystems are mounted in the folder",
          NULL },
        { "no-announce-submounts", 0, G_OPTION_FLAG_REVERSE, G_OPTION_ARG_NONE,
          &raw->announce_submounts, "Do not show them (default)", NULL },
        { "writeback", 0, 0, G_OPTION_ARG_NONE, &raw->writeback,
          "Let the guest write back later (not with --undo-dir)", NULL },
        { "no-readdirplus", 0, 0, G_OPTION_ARG_NONE, &raw->no_readdirplus,
          "Do not offer READDIRPLUS", NULL },
        { "no-killpriv-v2", 0, 0, G_OPTION_ARG_NONE, &raw->no_killpriv,
          "Let the guest clear set-user-ID bits", NULL },
        { "xattr", 0, 0, G_OPTION_ARG_NONE, &raw->nothing,
          "Accepted for compatibility; always on", NULL },
        { "allow-mmap", 0, 0, G_OPTION_ARG_NONE, &raw->nothing,
          "Accepted for compatibility; always on", NULL },
        { "killpriv-v2", 0, 0, G_OPTION_ARG_NONE, &raw->nothing,
          "Accepted for compatibility; always on", NULL },
        { "preserve-noatime", 0, 0, G_OPTION_ARG_NONE, &raw->nothing,
          "Accepted for compatibility; always on", NULL },
        { NULL }
    };

    daemon_options_add(context, &raw->daemon, entries);
}

static void add_program_entries(GOptionContext *context,
                                struct options *options,
                                struct raw_options *raw)
{
    const GOptionEntry entries[] = {
        { "socket-path", 0, 0, G_OPTION_ARG_FILENAME,
          &options->daemon.socket_path,
          "Listen for the front-end on this Unix socket", "PATH" },
        { "fd", 0, 0, G_OPTION_ARG_STRING, &raw->daemon.listen_fd,
          "Listen for the front-end on this inherited socket", "N" },
        { "mount", 0, 0, G_OPTION_ARG_FILENAME, &options->mount_dir,
          "Mount on this folder instead of serving a guest", "DIR" },
        { "mount-fd", 0, 0, G_OPTION_ARG_INT, &options->mount_fd,
          "Serve the mount of this inherited /dev/fuse", "N" },
        { "notify-fd", 0, 0, G_OPTION_ARG_INT, &options->notify_fd,
          "With --cache=lease: tell the guest of changes over this inherited "
          "socket",
          "N" },
        { "option", 'o', 0, G_OPTION_ARG_STRING_ARRAY, &raw->sub_options,
          "Options of QEMU's former virtiofsd, such as source=DIR and "
          "cache=POLICY; the man page lists all",
          "OPTION[,...]" },
        { "thread-pool-size", 0, 0, G_OPTION_ARG_INT, &raw->pool_size,
          "Threads for slow requests, besides one for each queue (default: 4)",
          "N" },
        { "hold-signals", 0, 0, G_OPTION_ARG_NONE, &raw->hold_signals,
          "Let no signal interrupt a change that waits for a decision", NULL },
        { "restartable", 0, 0, G_OPTION_ARG_NONE, &raw->restartable,
          "Let another daemon replace this one while the machine runs", NULL },
        { "foreground", 'f', 0, G_OPTION_ARG_NONE, &raw->foreground,
          "Accepted for compatibility; the daemon stays in the foreground",
          NULL },
        { "print-capabilities", 0, 0, G_OPTION_ARG_NONE, &raw->nothing,
          "Print the capabilities of the program as JSON", NULL },
        { NULL }
    };

    daemon_options_add(context, &raw->daemon, entries);
}

static gboolean parse_arguments(struct options *options,
                                struct raw_options *raw, char **argv,
                                GError **error)
{
    g_autoptr(GOptionContext) context = g_option_context_new(NULL);
    g_auto(GStrv) words = options_split_words(argv);
    g_autofree char *problem = NULL;

    g_option_context_set_summary(
        context, "Serve a folder to a virtual machine over virtio-fs, with "
                 "undo.");
    add_program_entries(context, options, raw);
    add_guest_entries(context, options, raw);
    options_add_foreign_entries(context, options);
    daemon_options_add_entries(context, &options->daemon, &raw->daemon);
    if (!daemon_options_check_flags(&raw->daemon, words, error))
        return FALSE;
    if (!g_option_context_parse_strv(context, &words, error)) {
        if (!g_error_matches(*error, G_OPTION_ERROR,
                             G_OPTION_ERROR_UNKNOWN_OPTION))
            return FALSE;
        problem = g_strdup((*error)->message);
        return daemon_options_fail(error, "%s; --help lists all options",
                                   problem);
    }
    if (words[1])
        return daemon_options_fail(error, "'%s': unexpected argument",
                                   words[1]);
    return apply_raw(options, raw, error);
}

struct options *options_parse(char **argv, GError **error)
{
    struct options *options = g_new0(struct options, 1);
    struct raw_options raw = { .pool_size = DEFAULT_POOL_SIZE };
    gboolean ok;

    daemon_options_init(&options->daemon);
    options->server.cache = FUSE_CACHE_AUTO;
    options->mount_fd = options->notify_fd = -1;
    ok = parse_arguments(options, &raw, argv, error);
    daemon_raw_options_clear(&raw.daemon);
    g_free(raw.cache);
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
    daemon_options_clear(&options->daemon);
    g_free(options->mount_dir);
    xattr_map_free(options->xattr_map);
    g_free(options);
}
