/* SPDX-License-Identifier: Apache-2.0
 *
 * stepback-virtiofsd - serves a folder to a virtual machine over virtio-fs,
 * with undo.
 *
 * It serves one front-end and exits 0 when that closes the connection; 1 for
 * an error, 2 for a wrong command line. SIGTERM and SIGINT end it cleanly.
 *
 * Threads: this one runs the vhost-user connection, one waits for signals, one
 * serves each queue and has some to help it, and the undo engine has its own.
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
#include "virtiofs/options.h"
#include "virtiofs/vhost/vhost_user.h"

#define PROGRAM "stepback-virtiofsd"

/* Whatever else there is on the command line is ignored then
 * (docs/interop/vhost-user.rst). */
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

/* Is a daemon's mount there? One more would hide it, and that daemon would seem
 * to do nothing. Other file systems in user space may well have a folder to
 * mount on. */
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

/* Asked before anything of the mount is, which does not answer if its
 * daemon hangs. */
static gboolean check_unmounted(const struct options *options, const char *path,
                                GError **error)
{
    if (!path || !is_our_mount(path))
        return TRUE;
    g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_DIRECTORY,
                "--mount=%s is a mount of stepback already: end its daemon, "
                "or, if that was killed, 'fusermount3 -u %s'",
                options->mount_dir, path);
    return FALSE;
}

/* Without what asks for a folder at the end: "LINK/", "DIR/.". A new string. */
static char *strip_end(const char *path)
{
    char *stripped = g_strdup(path);
    size_t len = strlen(stripped);

    while (len > 1 && (stripped[len - 1] == '/' ||
                       (stripped[len - 1] == '.' && stripped[len - 2] == '/')))
        stripped[--len] = '\0';
    return stripped;
}

/* The path by that of the folder above, as realpath(3) finds it. Its last part
 * is not looked at. A new string, or NULL. */
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
    /* Before the log makes folders on the way to itself. */
    g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_DIRECTORY,
                "--mount=%s: %s", options->mount_dir, g_strerror(errno));
    return FALSE;
}

/* Requests of the daemon for the folder would come to the daemon, and a folder
 * or a log below the mount would be hidden by it. *ret_path: the real path that
 * was looked at, and is to be mounted on; also if it is refused. */
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
    if (!share) /* what is done with it tells why */
        return TRUE;
    if (real_path_is_beneath(mount, share))
        return refuse_mount(options, "lies in the shared folder ",
                            daemon->shared_dir, error);
    if (real_path_is_beneath(share, mount))
        return refuse_mount(options, "would hide the shared folder ",
                            daemon->shared_dir, error);
    if (log &&
        (real_path_is_beneath(mount, log) || real_path_is_beneath(log, mount)))
        return refuse_mount(options, "is not apart from the undo log ",
                            daemon->undo_dir, error);
    if (stat(mount, &st) != 0 || S_ISDIR(st.st_mode))
        return TRUE;
    g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_DIRECTORY,
                "--mount=%s is not a folder", options->mount_dir);
    return FALSE;
}

static void *start(struct ic *ic, const struct daemon_places *places,
                   const void *own_options, GError **error)
{
    const struct options *options = own_options;

    if (options->cache_bounded)
        log_warn(LOG_FS_BACKEND,
                 "--cache with --undo-dir: %s; attributes are valid for a "
                 "second at most, and data until the file changes",
                 options->cache_bounded);
    return fuse_server_new(ic, &options->server);
}

static gboolean serve(void *server, const void *own_options, int listen_fd,
                      int stop_fd, GError **error)
{
    const struct options *options = own_options;
    const struct daemon_options *daemon = &options->daemon;

    if (options->mount_dir)
        return mount_serve(server, options->mount_dir, stop_fd, error);
    log_info(LOG_FS_BACKEND, "ready: %s listens on %s", daemon->shared_dir,
             daemon->socket_path ? daemon->socket_path
                                 : "the inherited socket");
    return vhost_user_serve(server, &options->vhost_user, listen_fd, stop_fd,
                            error);
}

static void end(void *server)
{
    fuse_server_free(server);
}

static int serve_options(struct options *options)
{
    const struct daemon_program program = {
        .name = PROGRAM,
        .human = options->mount_dir != NULL,
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
    setlocale(LC_CTYPE, ""); /* for what GLib prints of the options */
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
