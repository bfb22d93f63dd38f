/* SPDX-License-Identifier: Apache-2.0
 *
 * options - see options.h.
 */
#include "p9/options.h"

#include <string.h>
#include <sys/socket.h>

#include "p9/profile/profiles.h"
#include "p9/server/tcp.h"

enum { MAX_CONNECTIONS = 4096, MAX_THREADS = 256 };

struct raw_options {
    struct daemon_raw_options daemon;
    char *msize_max, *mknod, *profile;
    int max_connections, threads;
};

static gboolean set_msize(struct p9_options *options, const char *text,
                          GError **error)
{
    int64_t bytes = P9_MAX_MSIZE;

    if (!daemon_options_parse_size("--msize-max", text, &bytes, error))
        return FALSE;
    if (bytes < P9_MIN_MSIZE || bytes > P9_MAX_MSIZE)
        return daemon_options_fail(
            error, "--msize-max=%s: not a size from 4K to 4M", text);
    options->server.msize_max = (uint32_t)bytes;
    return TRUE;
}

static gboolean set_number(const char *name, int number, int most,
                           unsigned *ret_number, GError **error)
{
    if (number < 1 || number > most)
        return daemon_options_fail(error, "%s: not a number from 1 to %d", name,
                                   most);
    *ret_number = (unsigned)number;
    return TRUE;
}

static gboolean set_mknod(struct p9_options *options, const char *value,
                          GError **error)
{
    if (value && strcmp(value, "allow") != 0 && strcmp(value, "deny") != 0)
        return daemon_options_fail(
            error, "--mknod=%s: unknown value; use allow or deny", value);
    options->server.no_mknod = value && strcmp(value, "deny") == 0;
    return TRUE;
}

static gboolean set_profile(struct p9_options *options, const char *value,
                            GError **error)
{
    const struct id_maps *ids = &options->daemon.ids;

    options->server.profile = p9_profile_find(value ? value : "posix", error);
    if (options->server.profile && options->server.profile->has_overlay &&
        (ids->users || ids->groups))
        return daemon_options_fail(error,
                                   "--profile=%s stores its own owners; omit "
                                   "--translate-uid and --translate-gid",
                                   options->server.profile->name);
    return options->server.profile != NULL;
}

/* The overlay directory is next to the log: a log directory must contain
 * nothing else. */
static gboolean set_overlay(struct p9_options *options, GError **error)
{
    const struct p9_profile *profile = options->server.profile;
    const char *undo_dir = options->daemon.undo_dir;

    if (!profile->has_overlay)
        return !options->overlay_dir ||
               daemon_options_fail(error,
                                   "--overlay-dir: the profile \"%s\" stores "
                                   "no metadata; omit it",
                                   profile->name);
    if (!options->overlay_dir && !undo_dir)
        return daemon_options_fail(error,
                                   "--profile=%s stores metadata; give "
                                   "--undo-dir or --overlay-dir",
                                   profile->name);
    if (!options->overlay_dir) {
        size_t len = strlen(undo_dir);

        while (len > 1 && undo_dir[len - 1] == '/')
            len--;
        options->overlay_dir = g_strdup_printf("%.*s.overlay", (int)len,
                                               undo_dir);
        options->overlay_is_logs = true;
    }
    options->daemon.sandbox.store_dir = options->overlay_dir;
    return TRUE;
}

static bool is_stream_socket(int fd)
{
    int type = 0;
    socklen_t size = sizeof(type);

    return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 &&
           type == SOCK_STREAM;
}

static gboolean check(const struct p9_options *options, GError **error)
{
    const struct daemon_options *daemon = &options->daemon;
    int places = !!daemon->socket_path + (daemon->listen_fd >= 0) +
                 !!options->listen;

    if (places != 1)
        return daemon_options_fail(
            error, "give exactly one of --socket-path, --listen and --fd");
    if (daemon->listen_fd >= 0 && !is_stream_socket(daemon->listen_fd))
        return daemon_options_fail(error, "--fd=%d: not a stream socket",
                                   daemon->listen_fd);
    return !options->listen || p9_tcp_check(options->listen, error);
}

static gboolean apply_raw(struct p9_options *options,
                          const struct raw_options *raw, GError **error)
{
    struct p9_server_config *server = &options->server;

    if (!daemon_options_apply(&options->daemon, &raw->daemon, error))
        return FALSE;
    server->read_only = options->daemon.read_only;
    server->ids = options->daemon.ids;
    return options->daemon.print_version ||
           (set_msize(options, raw->msize_max, error) &&
            set_number("--max-connections", raw->max_connections,
                       MAX_CONNECTIONS, &server->max_connections, error) &&
            set_number("--thread-pool-size", raw->threads, MAX_THREADS,
                       &server->threads, error) &&
            set_mknod(options, raw->mknod, error) &&
            set_profile(options, raw->profile, error) &&
            set_overlay(options, error) &&
            daemon_options_complete(&options->daemon, error) &&
            check(options, error));
}

static void add_entries(GOptionContext *context, struct p9_options *options,
                        struct raw_options *raw)
{
    const GOptionEntry entries[] = {
        { "socket-path", 0, 0, G_OPTION_ARG_FILENAME,
          &options->daemon.socket_path, "Listen on this Unix socket", "PATH" },
        { "listen", 0, 0, G_OPTION_ARG_STRING, &options->listen,
          "Listen on this TCP port of a loopback address", "127.0.0.1:PORT" },
        { "fd", 0, 0, G_OPTION_ARG_STRING, &raw->daemon.listen_fd,
          "Serve this inherited socket, listening or connected", "N" },
        { "msize-max", 0, 0, G_OPTION_ARG_STRING, &raw->msize_max,
          "Limit of a message's size, from 4K to 4M (default: 4M)", "BYTES" },
        { "max-connections", 0, 0, G_OPTION_ARG_INT, &raw->max_connections,
          "Serve up to N clients at a time (default: 64)", "N" },
        { "thread-pool-size", 0, 0, G_OPTION_ARG_INT, &raw->threads,
          "Threads for slow requests (default: 4)", "N" },
        { "mknod", 0, 0, G_OPTION_ARG_STRING, &raw->mknod,
          "Let clients create device nodes, FIFOs and sockets: allow (default) "
          "or deny",
          "WHAT" },
        { "profile", 0, 0, G_OPTION_ARG_STRING, &raw->profile,
          "File semantics: posix (default) or windows", "NAME" },
        { "overlay-dir", 0, 0, G_OPTION_ARG_FILENAME, &options->overlay_dir,
          "Store the metadata of --profile=windows here (default: "
          "<undo-dir>.overlay)",
          "DIR" },
        { NULL }
    };

    daemon_options_add(context, &raw->daemon, entries);
}

static gboolean parse(struct p9_options *options, struct raw_options *raw,
                      int argc, char **argv, GError **error)
{
    g_autoptr(GOptionContext) context = g_option_context_new(NULL);

    g_option_context_set_summary(context,
                                 "Serve a folder over 9P2000.L, with undo.");
    add_entries(context, options, raw);
    daemon_options_add_entries(context, &options->daemon, &raw->daemon);
    if (!daemon_options_check_flags(&raw->daemon, argv, error) ||
        !g_option_context_parse(context, &argc, &argv, error))
        return FALSE;
    if (argc > 1)
        return daemon_options_fail(error, "'%s': unexpected argument", argv[1]);
    return apply_raw(options, raw, error);
}

struct p9_options *p9_options_parse(int argc, char **argv, GError **error)
{
    struct p9_options *options = g_new0(struct p9_options, 1);
    struct raw_options raw = { .max_connections = 64, .threads = 4 };
    gboolean ok;

    daemon_options_init(&options->daemon);
    ok = parse(options, &raw, argc, argv, error);
    daemon_raw_options_clear(&raw.daemon);
    g_free(raw.msize_max);
    g_free(raw.mknod);
    g_free(raw.profile);
    if (!ok)
        g_clear_pointer(&options, p9_options_free);
    return options;
}

void p9_options_free(struct p9_options *options)
{
    if (!options)
        return;
    daemon_options_clear(&options->daemon);
    g_free(options->listen);
    g_free(options->overlay_dir);
    g_free(options);
}
