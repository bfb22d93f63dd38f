/* SPDX-License-Identifier: Apache-2.0
 *
 * daemon - see daemon.h.
 */
#include "daemon/daemon.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/inherited.h"
#include "common/keeper.h"
#include "common/process_state.h"
#include "common/proc_fd.h"
#include "common/real_path.h"
#include "common/sandbox.h"
#include "common/unix_socket.h"
#include "daemon/fd_reserve.h"
#include "interceptor/ic_process.h"

/* Time for running requests to finish after a signal. */
#define GRACE_US (3 * G_USEC_PER_SEC)

struct daemon {
    const struct daemon_program *program;
    const struct daemon_options *options;
    const void *own_options;
    sigset_t signals;
    int stop_fd;

    /* Created before the sandbox, which hides their paths. -1: none. */
    int listen_fd, control_fd, watch_fd;
    bool spares_mount;                    /* ic_watch_spare_mount() succeeded */
    char *share_name;                     /* path outside the sandbox */
    char *undo_dir_name, *control_socket; /* paths outside the sandbox, or
                                           * NULL */
    struct keeper *keeper;
    struct sandbox *sandbox;
};

static void block_signals(sigset_t *ret_set)
{
    sigemptyset(ret_set);
    sigaddset(ret_set, SIGTERM);
    if (!inherited_signal_is_ignored(SIGINT))
        sigaddset(ret_set, SIGINT);
    if (!inherited_signal_is_ignored(SIGHUP))
        sigaddset(ret_set, SIGHUP);
    pthread_sigmask(SIG_BLOCK, ret_set, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a client's write beyond the limit fails with
                               * EFBIG */
}

/* Wait for a signal, then exit even if a request hangs in a slow file system.
 * The undo log tolerates an exit at any moment. */
static gpointer wait_for_signal(gpointer data)
{
    struct daemon *daemon = data;
    static const uint64_t one = 1;
    int number;

    sigwait(&daemon->signals, &number);
    log_info(LOG_FS_BACKEND, "stopping on signal %d", number);
    if (write(daemon->stop_fd, &one, sizeof(one)) == sizeof(one))
        g_usleep(GRACE_US);
    log_warn(LOG_FS_BACKEND, "a request still hangs; exiting anyway");
    _exit(0);
}

/* Raise the open-file limit: each file that the client knows needs one. */
static void set_file_limit(rlim_t wanted)
{
    struct rlimit limit;

    if (wanted == 0 || getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    if (geteuid() == 0 && limit.rlim_max < wanted) {
        struct rlimit more = { wanted, wanted };

        if (setrlimit(RLIMIT_NOFILE, &more) == 0)
            return;
    }
    limit.rlim_cur = MIN(limit.rlim_max, wanted);
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
        log_warn(LOG_FS_BACKEND, "cannot set the open-file limit: %s",
                 g_strerror(errno));
    else if (limit.rlim_cur < wanted && wanted != DAEMON_MAX_FILES)
        log_warn(LOG_FS_BACKEND,
                 "--rlimit-nofile: cannot raise the open-file limit to %ju; "
                 "using %ju",
                 (uintmax_t)wanted, (uintmax_t)limit.rlim_cur);
}

/* Refuse sockets inside the share: a client that reaches a socket could
 * disconnect other clients, or redirect the path of the process that removes
 * the socket. A share of / exposes the sockets in any case. */
static gboolean check_sockets(const struct daemon_options *options,
                              const char *share, GError **error)
{
    return strcmp(share, "/") == 0 ||
           (sandbox_check_place(options->socket_path, share, "the socket",
                                error) &&
            sandbox_check_place(options->interceptor_socket, share,
                                "the control socket", error));
}

static gboolean open_sockets(struct daemon *daemon, GError **error)
{
    const struct daemon_options *options = daemon->options;

    if (!check_sockets(options, daemon->share_name, error))
        return FALSE;
    daemon->listen_fd = options->listen_fd;
    if (options->socket_path) {
        daemon->listen_fd = unix_socket_listen(options->socket_path, error);
        if (daemon->listen_fd < 0 ||
            (options->socket_group &&
             !unix_socket_share(options->socket_path, options->socket_group,
                                error)))
            return FALSE;
    }
    if (options->interceptor_socket) {
        daemon->control_fd = unix_socket_listen(options->interceptor_socket,
                                                error);
        if (daemon->control_fd < 0)
            return FALSE;
    }
    return TRUE;
}

/* Remove the daemon's sockets, unless a keeper does. */
static void remove_sockets(const struct daemon *daemon)
{
    const struct daemon_options *options = daemon->options;

    if (daemon->keeper && !keeper_lives(daemon->keeper))
        log_warn(LOG_FS_BACKEND,
                 "stepback-keeper was killed: this daemon's sockets remain; "
                 "the next daemon replaces them");
    if (daemon->keeper)
        return;
    if (options->socket_path && daemon->listen_fd >= 0)
        unix_socket_remove(options->socket_path);
    if (options->interceptor_socket && daemon->control_fd >= 0)
        unix_socket_remove(options->interceptor_socket);
}

static gboolean enter_sandbox(struct daemon *daemon, GError **error)
{
    const struct daemon_options *options = daemon->options;
    const char *sockets[3] = { NULL };
    size_t n = 0;

    if (options->socket_path)
        sockets[n++] = options->socket_path;
    if (options->interceptor_socket)
        sockets[n++] = options->interceptor_socket;
    if (options->sandbox.mode != SANDBOX_NONE) {
        daemon->keeper = keeper_start(sockets, error);
        if (!daemon->keeper)
            return FALSE;
        if (options->undo_dir)
            daemon->watch_fd = ic_watch_open();
    }
    daemon->sandbox = sandbox_enter(&options->sandbox, error);
    if (!daemon->sandbox)
        return FALSE;
    /* Before sandbox_confine() drops the capabilities. */
    if (daemon->watch_fd > 0 && sandbox_has_own_mounts(daemon->sandbox))
        daemon->spares_mount = ic_watch_spare_mount(
            daemon->watch_fd, sandbox_share(daemon->sandbox));
    if (!sandbox_confine(daemon->sandbox, error))
        return FALSE;
    if (sandbox_fds_are_here(daemon->sandbox)) {
        proc_fd_use_current_folder();
    }
    return TRUE;
}

static gboolean serve_control(const struct daemon *daemon, struct ic *ic,
                              GError **error)
{
    if (daemon->control_fd >= 0)
        ic_control_accept(ic, daemon->control_fd);
    return daemon->options->interceptor_fd < 0 ||
           ic_control_attach(ic, daemon->options->interceptor_fd, error);
}

/* Return the text for ic_options.id_maps: a new string, or NULL. */
static char *describe_maps(const struct daemon_options *options)
{
    const char *uids = options->uid_map, *gids = options->gid_map;

    if (!sandbox_map_renumbers(uids) && !sandbox_map_renumbers(gids))
        return NULL;
    return g_strdup_printf("--uid-map=%s\n--gid-map=%s\n", uids ? uids : "",
                           gids ? gids : "");
}

static struct ic *open_share(const struct daemon *daemon, GError **error)
{
    g_autofree char *id_maps = describe_maps(daemon->options);
    const struct ic_options ic_options = {
        .share = sandbox_share(daemon->sandbox),
        .undo_dir = sandbox_undo_dir(daemon->sandbox),
        .share_name = daemon->share_name,
        .undo_dir_name = daemon->undo_dir_name,
        .watch_fd = MAX(daemon->watch_fd, 0),
        .watch_writes = daemon->program->notifies && daemon->spares_mount,
        .process_name = daemon->keeper ? keeper_process_name : NULL,
        .process_name_opaque = daemon->keeper,
        .control_socket = daemon->control_socket,
        .id_maps = id_maps,
        .read_only = daemon->options->read_only,
        .allow_suid = daemon->options->allow_suid,
        .allow_devices = daemon->options->allow_devices,
        .limits = daemon->options->limits,
        .durability = daemon->options->durability,
        .file_handles = daemon->options->file_handles,
        .is_reserved_fd = fd_reserve_has,
        .outside_policy = daemon->options->outside_policy,
    };

    return ic_open_share(&ic_options, error);
}

static gboolean serve(const struct daemon *daemon, GError **error)
{
    const struct daemon_program *program = daemon->program;
    const struct daemon_places places = {
        .undo_dir = sandbox_undo_dir(daemon->sandbox),
        .store_dir = sandbox_store_dir(daemon->sandbox),
    };
    struct ic *ic = open_share(daemon, error);
    void *server;
    gboolean ok;

    if (!ic)
        return FALSE;
    server = program->start(ic, &places, daemon->own_options, error);
    ok = server && serve_control(daemon, ic, error) &&
         sandbox_filter(daemon->sandbox, error) &&
         program->serve(server, daemon->own_options, daemon->listen_fd,
                        daemon->stop_fd, error);
    if (server)
        program->end(server);
    ic_close(ic);
    return ok;
}

static gboolean run_sandboxed(struct daemon *daemon, GError **error)
{
    const struct daemon_options *options = daemon->options;
    gboolean ok;

    daemon->share_name = real_path_of(options->shared_dir);
    if (options->undo_dir)
        daemon->undo_dir_name = real_path_of(options->undo_dir);
    if (options->interceptor_socket)
        daemon->control_socket = g_canonicalize_filename(
            options->interceptor_socket, NULL);
    ok = open_sockets(daemon, error) && enter_sandbox(daemon, error);

    if (ok) {
        g_thread_unref(g_thread_new("signals", wait_for_signal, daemon));
        ok = serve(daemon, error);
    }
    remove_sockets(daemon);
    sandbox_free(daemon->sandbox);
    keeper_free(daemon->keeper);
    g_free(daemon->share_name);
    g_free(daemon->undo_dir_name);
    g_free(daemon->control_socket);
    return ok;
}

static void start_log(const struct daemon *daemon)
{
    bool to_syslog = daemon->options->syslog && log_open_syslog();
    const char *human = daemon->program->human || isatty(STDERR_FILENO) ||
                                to_syslog
                            ? daemon->program->name
                            : NULL;

    log_set_human(human);
    log_set_level(daemon->options->log_level);
    log_set_syslog(to_syslog);
    if (daemon->options->syslog && !to_syslog)
        log_warn(LOG_FS_BACKEND,
                 "no system log at /dev/log; logging to standard error");
}

/* Warn about option combinations that are valid, but surely not intended. */
static void warn_of_options(const struct daemon_options *options)
{
    bool has_control = options->interceptor_socket ||
                       options->interceptor_fd >= 0;

    if (options->interceptor_socket && !options->undo_dir &&
        !options->read_only)
        log_warn(LOG_FS_BACKEND,
                 "--interceptor-socket without --undo-dir: nothing can be "
                 "undone");
    if (options->undo_dir && !has_control &&
        (sandbox_map_renumbers(options->uid_map) ||
         sandbox_map_renumbers(options->gid_map)))
        log_warn(LOG_FS_BACKEND,
                 "undo log stores the ids inside --uid-map and --gid-map; "
                 "\"stepback undo\" requires a daemon with these maps and "
                 "--interceptor-socket");
}

int daemon_run(const struct daemon_program *program,
               const struct daemon_options *options, const void *own_options)
{
    /* Static: the signal thread may outlive this call. */
    static struct daemon daemon = { .listen_fd = -1,
                                    .control_fd = -1,
                                    .watch_fd = -1 };
    g_autoptr(GError) error = NULL;

    daemon.program = program;
    daemon.options = options;
    daemon.own_options = own_options;
    daemon.stop_fd = eventfd(0, EFD_CLOEXEC);
    if (!ic_share_process_state(process_state())) {
        log_error(LOG_FS_BACKEND, "libstepback-interceptor.so is not of this "
                                  "build; install both from one package");
        return EXIT_FAILURE;
    }
    /* Before any thread starts: threads inherit the mask. */
    block_signals(&daemon.signals);
    start_log(&daemon);
    if (daemon.stop_fd < 0) {
        log_error(LOG_FS_BACKEND, "cannot create an eventfd: %s",
                  g_strerror(errno));
        return EXIT_FAILURE;
    }
    warn_of_options(options);
    umask(0);
    set_file_limit((rlim_t)options->file_limit);
    if (run_sandboxed(&daemon, &error))
        return EXIT_SUCCESS;
    log_error(LOG_FS_BACKEND, "%s", error->message);
    return EXIT_FAILURE;
}
