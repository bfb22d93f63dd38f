/* SPDX-License-Identifier: Apache-2.0
 *
 * stepback-virtiofsd - serves a folder to a virtual machine over virtio-fs,
 * with undo.
 *
 * The daemon serves one front-end. It exits 0 when the front-end closes the
 * connection, 1 on an error, 2 on a wrong command line. SIGTERM and SIGINT end
 * it cleanly.
 *
 * Threads: the main thread runs the vhost-user connection, one waits for
 * signals, each queue has one and a pool of helpers, and the undo engine has
 * its own.
 */
#include <config.h>

#include <errno.h>
#include <jansson.h>
#include <locale.h>
#include <mntent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/errors.h"
#include "common/host_environ.h"
#include "common/inherited.h"
#include "common/real_path.h"
#include "daemon/daemon.h"
#include "virtiofs/fuse/mount.h"
#include "virtiofs/fuse/notify_peer.h"
#include "virtiofs/options.h"
#include "virtiofs/vhost/vhost_user.h"

#define PROGRAM "stepback-virtiofsd"

/* With this option all others are ignored (docs/interop/vhost-user.rst). */
static bool asks_for_capabilities(char *const *argv)
{
    return g_strv_contains((const char *const *)argv + 1,
                           "--print-capabilities");
}

static int print_capabilities(void)
{
    json_t *capabilities = json_pack("{s:s,s:[s]}", "type", "fs", "features",
                                     "separate-options");

    json_dumpf(capabilities, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(capabilities);
    return 0;
}

static gboolean refuse_mount(const struct options *options, const char *why,
                             const char *place, GError **error)
{
    g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_DIRECTORY,
                "--mount=%s %s%s; mount on a folder outside of it",
                options->mount_dir, why, place);
    return FALSE;
}

/* Return whether a mount of this daemon is at path. Another mount would hide
 * it, and its daemon would seem to do nothing. Mounts of other user-space file
 * systems may contain the mount point. */
static bool is_our_mount(const char *path)
{
    FILE *mounts = setmntent("/proc/self/mounts", "r");
    const struct mntent *mount;
    bool found = false;

    while (mounts && (mount = getmntent(mounts))) {
        if (strcmp(mount->mnt_dir, path) == 0)
            found = strcmp(mount->mnt_type, "fuse.stepback") == 0;
    }
    if (mounts)
        endmntent(mounts);
    return found;
}

/* Run this check before any access to the path: the mount of a hung daemon does
 * not respond. */
static gboolean check_unmounted(const struct options *options, const char *path,
                                GError **error)
{
    if (!path || !is_our_mount(path))
        return TRUE;
    g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_DIRECTORY,
                "--mount=%s: a stepback daemon is mounted there; end that "
                "daemon, or run 'fusermount3 -u %s' if it was killed",
                options->mount_dir, path);
    return FALSE;
}

/* Return a new string without a suffix that requires a directory: "LINK/",
 * "DIR/.". */
static char *strip_end(const char *path)
{
    char *stripped = g_strdup(path);
    size_t len = strlen(stripped);

    while (len > 1 && (stripped[len - 1] == '/' ||
                       (stripped[len - 1] == '.' && stripped[len - 2] == '/')))
        stripped[--len] = '\0';
    return stripped;
}

/* Return a new path: the parent as realpath(3) resolves it, plus the last
 * component, which is not accessed. NULL on failure. */
static char *path_by_parent(const char *path)
{
    g_autofree char *parent = g_path_get_dirname(path);
    g_autofree char *name = g_path_get_basename(path);
    g_autofree char *above = realpath(parent, NULL);

    return above && strcmp(name, "..") != 0 && strcmp(name, ".") != 0
               ? g_build_filename(above, name, NULL)
               : NULL;
}

/* *ret_path: without symlinks. */
static gboolean find_mount_dir(const struct options *options, char **ret_path,
                               GError **error)
{
    g_autofree char *path = strip_end(options->mount_dir);
    g_autofree char *named = path_by_parent(path);

    *ret_path = NULL;
    if (!check_unmounted(options, named, error))
        return FALSE;
    *ret_path = realpath(path, NULL);
    if (*ret_path)
        return check_unmounted(options, *ret_path, error);
    /* Fail before the undo log creates its parent directories. */
    g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_DIRECTORY,
                "--mount=%s: %s", options->mount_dir, g_strerror(errno));
    return FALSE;
}

/* Refuse a mount point that would loop the daemon's own requests back to it, or
 * hide the folder or the log. *ret_path: the real path that was checked and is
 * to be mounted on; set on failure, too. */
static gboolean check_mount(const struct options *options, char **ret_path,
                            GError **error)
{
    const struct daemon_options *daemon = &options->daemon;
    g_autofree char *share = realpath(daemon->shared_dir, NULL);
    g_autofree char *log = daemon->undo_dir ? real_path_of(daemon->undo_dir)
                                            : NULL;
    const char *mount;
    struct stat st;

    if (!find_mount_dir(options, ret_path, error))
        return FALSE;
    mount = *ret_path;
    if (!share) /* opening the folder reports the reason */
        return TRUE;
    if (real_path_is_beneath(mount, share))
        return refuse_mount(options, "is inside the shared folder ",
                            daemon->shared_dir, error);
    if (real_path_is_beneath(share, mount))
        return refuse_mount(options, "would hide the shared folder ",
                            daemon->shared_dir, error);
    if (log &&
        (real_path_is_beneath(mount, log) || real_path_is_beneath(log, mount)))
        return refuse_mount(options, "overlaps the undo log ", daemon->undo_dir,
                            error);
    if (stat(mount, &st) != 0 || S_ISDIR(st.st_mode))
        return TRUE;
    g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_DIRECTORY,
                "--mount=%s: not a directory", options->mount_dir);
    return FALSE;
}

struct server {
    struct fuse_server *fuse;
    struct notify_peer *peer; /* or NULL */
};

static void end(void *opaque)
{
    struct server *server = opaque;

    if (server->peer)
        notify_peer_stop(server->peer);
    fuse_server_free(server->fuse);
    notify_peer_free(server->peer);
    g_free(server);
}

static void *start(struct ic *ic, const struct daemon_places *places,
                   const void *own_options, GError **error)
{
    const struct options *options = own_options;
    struct server *server = g_new0(struct server, 1);
    int rc;

    if (options->cache_bounded)
        log_warn(LOG_FS_BACKEND,
                 "--cache with --undo-dir: %s; attributes stay valid for 1 s "
                 "at most, and data until the file changes",
                 options->cache_bounded);
    server->fuse = fuse_server_new(ic, &options->server);
    if (options->notify_fd < 0)
        return server;
    server->peer = notify_peer_new(server->fuse, options->notify_fd, &rc);
    if (server->peer)
        return server;
    g_set_error(error, STEPBACK_ERROR, ERROR_BACKEND_FAILED,
                "cannot start a thread: %s", g_strerror(-rc));
    end(server);
    return NULL;
}

static gboolean serve(void *opaque, const void *own_options, int listen_fd,
                      int stop_fd, GError **error)
{
    struct fuse_server *server = ((struct server *)opaque)->fuse;
    const struct options *options = own_options;
    const struct daemon_options *daemon = &options->daemon;

    if (options->mount_dir)
        return mount_serve(server, options->mount_dir, stop_fd, error);
    if (options->mount_fd >= 0)
        return mount_serve_fd(server, options->mount_fd, stop_fd, error);
    log_info(LOG_FS_BACKEND, "ready: %s listens on %s", daemon->shared_dir,
             daemon->socket_path ? daemon->socket_path
                                 : "the inherited socket");
    return vhost_user_serve(server, &options->vhost_user, listen_fd, stop_fd,
                            error);
}

static int serve_options(struct options *options)
{
    const struct daemon_program program = {
        .name = PROGRAM,
        .human = options->mount_dir != NULL,
        .notifies = options->mount_dir || options->mount_fd >= 0 ||
                    options->server.cache == FUSE_CACHE_LEASE,
        .start = start,
        .serve = serve,
        .end = end,
    };
    g_autoptr(GError) error = NULL;

    if (options->mount_dir) {
        g_autofree char *path = NULL;

        if (!check_mount(options, &path, &error)) {
            fprintf(stderr, PROGRAM ": %s\n", error->message);
            return EXIT_FAILURE;
        }
        g_free(options->mount_dir);
        options->mount_dir = g_steal_pointer(&path);
    }
    return daemon_run(&program, &options->daemon, options);
}

int main(int argc, char **argv)
{
    g_autoptr(GError) error = NULL;
    struct options *options;
    int status;

    if (!inherited_streams_fill())
        return EXIT_FAILURE;
    host_environ_restrict();
    if (asks_for_capabilities(argv))
        return print_capabilities();
    setlocale(LC_CTYPE, ""); /* for GLib's messages about options */
    options = options_parse(argv, &error);
    if (!options) {
        fprintf(stderr, PROGRAM ": %s\n", error->message);
        return 2;
    }
    if (options->daemon.print_version)
        status = printf(PROGRAM " " PACKAGE_VERSION "\n") < 0;
    else
        status = serve_options(options);
    options_free(options);
    return status;
}
