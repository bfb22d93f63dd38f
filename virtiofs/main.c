/* SPDX-License-Identifier: Apache-2.0
 *
 * stepback-virtiofsd - serves a folder to a virtual machine over virtio-fs,
 * with undo.
 *
 * It serves one front-end and exits 0 when that closes the connection; 1 for
 * an error, 2 for a wrong command line. SIGTERM and SIGINT end it cleanly.
 *
 * Threads: this one runs the vhost-user connection, one waits for signals, one
 * serves each queue, and the undo engine has its own.
 */
#include <config.h>

#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/errors.h"
#include "common/fd.h"
#include "common/keeper.h"
#include "common/proc_fd.h"
#include "common/sandbox.h"
#include "common/unix_socket.h"
#include "virtiofs/mount.h"
#include "virtiofs/options.h"
#include "virtiofs/vhost_user.h"

#define PROGRAM "stepback-virtiofsd"

/* After a signal, work in progress may take so long. */
#define GRACE_US (3 * G_USEC_PER_SEC)

static int print_capabilities(void)
{
    json_t *capabilities = json_pack("{s:s,s:[s]}", "type", "fs", "features",
                                     "separate-options");

    json_dumpf(capabilities, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(capabilities);
    return 0;
}

static void block_signals(sigset_t *ret_set)
{
    sigemptyset(ret_set);
    sigaddset(ret_set, SIGTERM);
    sigaddset(ret_set, SIGINT);
    sigaddset(ret_set, SIGHUP);
    pthread_sigmask(SIG_BLOCK, ret_set, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a client's write beyond the limit is EFBIG */
}

struct signal_wait {
    sigset_t set;
    int stop_fd;
};

/* A request may hang in a slow file system; the end must not hang with it.
 * The undo log bears an end at any moment. */
static gpointer wait_for_signal(gpointer data)
{
    struct signal_wait *wait = data;
    static const uint64_t one = 1;
    int number;

    sigwait(&wait->set, &number);
    log_info(LOG_FS_BACKEND, "ends by signal %d", number);
    if (write(wait->stop_fd, &one, sizeof(one)) == sizeof(one))
        g_usleep(GRACE_US);
    log_warn(LOG_FS_BACKEND, "a request still hangs; ends without it");
    _exit(0);
}

/* One for each file that the guest knows. */
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
        log_warn(LOG_FS_BACKEND, "cannot set the limit of open files: %s",
                 g_strerror(errno));
}

/* Requests of the daemon for the folder would come to the daemon. */
static gboolean check_mount(const struct options *options, GError **error)
{
    g_autofree char *share = realpath(options->shared_dir, NULL);
    g_autofree char *mount = realpath(options->mount_dir, NULL);
    size_t len = share ? strlen(share) : 0;

    if (!share || !mount || strncmp(mount, share, len) != 0 ||
        (len > 1 && mount[len] != '/' && mount[len] != '\0'))
        return TRUE;
    g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_DIRECTORY,
                "--mount=%s lies in the shared folder %s; mount outside of it",
                options->mount_dir, options->shared_dir);
    return FALSE;
}

/* What the sandbox must not hide: made before it. */
struct outside {
    int listen_fd, control_fd, watch_fd; /* -1: none */
    struct keeper *keeper;
    struct sandbox *sandbox;
};

static gboolean open_sockets(const struct options *options,
                             struct outside *outside, GError **error)
{
    outside->listen_fd = options->listen_fd;
    if (options->socket_path) {
        outside->listen_fd = unix_socket_listen(options->socket_path, error);
        if (outside->listen_fd < 0 ||
            (options->socket_group &&
             !unix_socket_share(options->socket_path, options->socket_group,
                                error)))
            return FALSE;
    }
    if (options->interceptor_socket) {
        outside->control_fd = unix_socket_listen(options->interceptor_socket,
                                                 error);
        if (outside->control_fd < 0)
            return FALSE;
    }
    return TRUE;
}

/* Those that are ours; the keeper does it otherwise. */
static void remove_sockets(const struct options *options,
                           const struct outside *outside)
{
    if (options->socket_path && outside->listen_fd >= 0)
        unix_socket_remove(options->socket_path);
    if (options->interceptor_socket && outside->control_fd >= 0)
        unix_socket_remove(options->interceptor_socket);
}

static gboolean enter_sandbox(const struct options *options,
                              struct outside *outside, GError **error)
{
    const char *sockets[3] = { NULL };
    size_t n = 0;

    if (options->socket_path)
        sockets[n++] = options->socket_path;
    if (options->interceptor_socket)
        sockets[n++] = options->interceptor_socket;
    if (options->sandbox.mode != SANDBOX_NONE) {
        outside->keeper = keeper_start(sockets, error);
        if (!outside->keeper)
            return FALSE;
        if (options->undo_dir)
            outside->watch_fd = ic_watch_open();
    }
    outside->sandbox = sandbox_enter(&options->sandbox, error);
    if (!outside->sandbox || !sandbox_confine(outside->sandbox, error))
        return FALSE;
    if (sandbox_fds_are_here(outside->sandbox)) {
        ic_use_fd_folder();
        proc_fd_use_current_folder();
    }
    return TRUE;
}

static gboolean serve(const struct options *options,
                      const struct outside *outside, struct fuse_server *server,
                      int stop_fd, GError **error)
{
    if (!sandbox_filter(outside->sandbox, error))
        return FALSE;
    if (options->mount_dir)
        return check_mount(options, error) &&
               mount_serve(server, options->mount_dir, stop_fd, error);
    log_info(LOG_FS_BACKEND, "ready: %s listens on %s", options->shared_dir,
             options->socket_path ? options->socket_path
                                  : "the inherited socket");
    return vhost_user_serve(server, outside->listen_fd, stop_fd, error);
}

static gboolean serve_control(const struct options *options,
                              const struct outside *outside, struct ic *ic,
                              GError **error)
{
    if (outside->control_fd >= 0)
        ic_control_accept(ic, outside->control_fd);
    return options->interceptor_fd < 0 ||
           ic_control_attach(ic, options->interceptor_fd, error);
}

static gboolean run(const struct options *options,
                    const struct outside *outside, int stop_fd, GError **error)
{
    const struct ic_options ic_options = {
        .share = sandbox_share(outside->sandbox),
        .undo_dir = sandbox_undo_dir(outside->sandbox),
        .watch_fd = MAX(outside->watch_fd, 0),
        .process_name = outside->keeper ? keeper_process_name : NULL,
        .process_name_opaque = outside->keeper,
        .control_socket = options->interceptor_socket,
        .read_only = options->server.read_only,
        .limits = options->limits,
        .durability = options->durability,
        .outside_policy = options->outside_policy,
    };
    struct ic *ic = ic_open_share(&ic_options, error);
    struct fuse_server *server;
    gboolean ok;

    if (!ic)
        return FALSE;
    server = fuse_server_new(ic, &options->server);
    ok = serve_control(options, outside, ic, error) &&
         serve(options, outside, server, stop_fd, error);
    fuse_server_free(server);
    ic_close(ic);
    return ok;
}

/* The library has a log of its own to set. */
static void start_log(const struct options *options)
{
    const char *human = options->mount_dir || isatty(STDERR_FILENO) ? PROGRAM
                                                                    : NULL;

    log_set_human(human);
    log_set_level(options->log_level);
    ic_set_log((int)options->log_level, human);
}

static gboolean run_sandboxed(const struct options *options,
                              struct signal_wait *wait, GError **error)
{
    struct outside outside = { .listen_fd = -1,
                               .control_fd = -1,
                               .watch_fd = -1 };
    gboolean ok = open_sockets(options, &outside, error) &&
                  enter_sandbox(options, &outside, error);

    if (ok) {
        g_thread_unref(g_thread_new("signals", wait_for_signal, wait));
        ok = run(options, &outside, wait->stop_fd, error);
    }
    if (!outside.keeper)
        remove_sockets(options, &outside);
    sandbox_free(outside.sandbox);
    keeper_free(outside.keeper);
    return ok;
}

static int serve_options(const struct options *options)
{
    struct signal_wait wait = { .stop_fd = eventfd(0, EFD_CLOEXEC) };
    g_autoptr(GError) error = NULL;

    /* Before any thread is made: all inherit the mask. */
    block_signals(&wait.set);
    start_log(options);
    if (wait.stop_fd < 0) {
        log_error(LOG_FS_BACKEND, "cannot make an eventfd: %s",
                  g_strerror(errno));
        return EXIT_FAILURE;
    }
    umask(0);
    set_file_limit((rlim_t)options->file_limit);
    if (run_sandboxed(options, &wait, &error))
        return EXIT_SUCCESS;
    log_error(LOG_FS_BACKEND, "%s", error->message);
    return EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    g_autoptr(GError) error = NULL;
    struct options *options = options_parse(argc, argv, &error);
    int status;

    if (!options) {
        fprintf(stderr, PROGRAM ": %s\n", error->message);
        return 2;
    }
    if (options->print_version)
        status = printf(PROGRAM " " PACKAGE_VERSION "\n") < 0;
    else if (options->print_capabilities)
        status = print_capabilities();
    else
        status = serve_options(options);
    options_free(options);
    return status;
}
