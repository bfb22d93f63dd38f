/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox - see sandbox.h: the stages in order.
 */
#include "common/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/errors.h"
#include "common/log.h"
#include "common/real_path.h"
#include "common/sandbox_ids.h"
#include "common/sandbox_landlock.h"
#include "common/sandbox_mounts.h"
#include "common/sandbox_parts.h"

/* ---- names --------------------------------------------------------------- */

static const char *const mode_names[] = {
    [SANDBOX_AUTO] = "auto",
    [SANDBOX_NAMESPACE] = "namespace",
    [SANDBOX_CHROOT] = "chroot",
    [SANDBOX_NONE] = "none",
};

static const char *const action_names[] = {
    [SANDBOX_KILL] = "kill",
    [SANDBOX_LOG] = "log",
    [SANDBOX_TRAP] = "trap",
    [SANDBOX_OFF] = "none",
};

bool sandbox_mode_parse(const char *name, enum sandbox_mode *ret_mode)
{
    for (size_t i = 0; i < G_N_ELEMENTS(mode_names); i++) {
        if (strcmp(name, mode_names[i]) == 0) {
            *ret_mode = (enum sandbox_mode)i;
            return true;
        }
    }
    return false;
}

bool sandbox_action_parse(const char *name, enum sandbox_action *ret_action)
{
    for (size_t i = 0; i < G_N_ELEMENTS(action_names); i++) {
        if (strcmp(name, action_names[i]) == 0) {
            *ret_action = (enum sandbox_action)i;
            return true;
        }
    }
    return false;
}

/* ---- paths --------------------------------------------------------------- */

#define UNDO_LOG "the undo log"
#define METADATA "the metadata"

static void places_clear(struct sandbox_places *places)
{
    free(places->share);
    free(places->undo_dir);
    free(places->store_dir);
    g_free(places->common);
}

/* Return whether names can be moved between the two. */
static bool is_one_mount(const char *a, const char *b)
{
    struct statx x, y;

    return statx(AT_FDCWD, a, 0, STATX_INO | STATX_MNT_ID, &x) == 0 &&
           statx(AT_FDCWD, b, 0, STATX_INO | STATX_MNT_ID, &y) == 0 &&
           x.stx_dev_major == y.stx_dev_major &&
           x.stx_dev_minor == y.stx_dev_minor &&
           (!(x.stx_mask & y.stx_mask & STATX_MNT_ID) ||
            x.stx_mnt_id == y.stx_mnt_id);
}

/* Return the longest path above both. Both are real paths, so a text comparison
 * suffices. */
static char *common_parent(const char *a, const char *b)
{
    size_t end = 0, i;

    for (i = 0; a[i] && a[i] == b[i]; i++) {
        if (a[i] == '/')
            end = i;
    }
    if ((a[i] == '/' || a[i] == '\0') && (b[i] == '/' || b[i] == '\0'))
        end = i;
    return end == 0 ? g_strdup("/") : g_strndup(a, end);
}

/* Create a directory of the server if it is missing. Return its real path; NULL
 * and error on failure. */
static char *make_place(const char *path, const char *what, GError **error)
{
    char *real = g_mkdir_with_parents(path, 0700) == 0 ? realpath(path, NULL)
                                                       : NULL;

    if (!real)
        g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_DIRECTORY,
                    "%s: cannot store %s here: %s", path, what,
                    g_strerror(errno));
    return real;
}

static gboolean refuse_place(GError **error, const char *path, const char *what,
                             const char *must, const char *other)
{
    g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_DIRECTORY,
                "%s: %s must %s %s; choose another path", path, what, must,
                other);
    return FALSE;
}

gboolean sandbox_check_place(const char *path, const char *share,
                             const char *what, GError **error)
{
    g_autofree char *real = path ? real_path_of(path) : NULL;

    if (!real || !real_path_is_beneath(real, share))
        return TRUE;
    return refuse_place(error, path, what, "lie outside the shared folder",
                        share);
}

/* A log directory must contain nothing else, and a server that was taken over
 * can reach all of the store. */
static gboolean check_store(const struct sandbox_options *options,
                            const char *share, GError **error)
{
    const char *path = options->store_dir, *log = options->undo_dir;
    g_autofree char *real = path ? real_path_of(path) : NULL;
    g_autofree char *real_log = log ? real_path_of(log) : NULL;

    if (!sandbox_check_place(path, share, METADATA, error))
        return FALSE;
    if (real_log && real && real_path_is_beneath(real, real_log))
        return refuse_place(error, path, METADATA, "lie outside the undo log",
                            log);
    if (real && real_path_is_beneath(share, real))
        return refuse_place(error, path, METADATA,
                            "not lie above the shared folder", share);
    return TRUE;
}

static gboolean refuse_share(const char *share, int why, GError **error)
{
    g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_DIRECTORY,
                "%s: cannot serve this folder: %s", share, g_strerror(why));
    return FALSE;
}

static gboolean find_share(const struct sandbox_options *options,
                           struct sandbox_places *places, GError **error)
{
    struct stat st;

    places->share = realpath(options->share, NULL);
    if (places->share && stat(places->share, &st) == 0 && S_ISDIR(st.st_mode))
        return faccessat(AT_FDCWD, places->share, X_OK, AT_EACCESS) == 0 ||
               refuse_share(options->share, EACCES, error);
    return refuse_share(options->share, places->share ? ENOTDIR : errno, error);
}

static gboolean find_places(const struct sandbox_options *options,
                            struct sandbox_places *places, GError **error)
{
    if (!find_share(options, places, error) ||
        !sandbox_check_place(options->undo_dir, places->share, UNDO_LOG,
                             error) ||
        !check_store(options, places->share, error))
        return FALSE;
    if (options->store_dir &&
        !(places->store_dir = make_place(options->store_dir, METADATA, error)))
        return FALSE;
    if (!options->undo_dir)
        return TRUE;
    places->undo_dir = make_place(options->undo_dir, UNDO_LOG, error);
    if (!places->undo_dir)
        return FALSE;
    if (options->undo_dir_made)
        options->undo_dir_made(places->undo_dir);
    if (is_one_mount(places->share, places->undo_dir))
        places->common = common_parent(places->share, places->undo_dir);
    return TRUE;
}

/* ---- entering ------------------------------------------------------------ */

/* ENOSPC does not mean a full disk here: the limit of namespaces is reached
 * (unshare(2)). */
static gboolean refuse_namespaces(GError **error)
{
    g_set_error(error, STEPBACK_ERROR, ERROR_IO_ERROR,
                "sandbox: namespaces are unavailable (%s); use "
                "--sandbox=chroot (as root) or --sandbox=none",
                errno == ENOSPC ? "a limit of sysctl user.max_*_namespaces"
                                : g_strerror(errno));
    return FALSE;
}

static gboolean unshare_all(const struct sandbox_options *options,
                            GError **error)
{
    bool users = geteuid() != 0 || options->uid_map || options->gid_map;
    struct sandbox_mapper *mapper = NULL;
    gboolean ok;

    if (users && !(mapper = sandbox_mapper_new(options, error)))
        return FALSE;
    ok = unshare(CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC |
                 (users ? CLONE_NEWUSER : 0)) == 0 ||
         refuse_namespaces(error);
    if (ok && mapper)
        ok = sandbox_mapper_run(mapper, error);
    sandbox_mapper_free(mapper);
    return ok;
}

static gboolean enter(struct sandbox *sandbox,
                      const struct sandbox_options *options,
                      const struct sandbox_places *places, GError **error)
{
    switch (sandbox->mode) {
    case SANDBOX_NONE:
        sandbox->share = g_strdup(options->share);
        sandbox->undo_dir = g_strdup(options->undo_dir);
        sandbox->store_dir = g_strdup(places->store_dir);
        return TRUE;
    case SANDBOX_CHROOT:
        return sandbox_change_root(sandbox, places, error);
    default:
        return unshare_all(options, error) &&
               sandbox_mount_root(sandbox, places, error);
    }
}

/* Return whether the host allows namespaces. Tested in another process, since a
 * partial sandbox cannot be left again. */
static bool host_has_namespaces(void)
{
    int flags = CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC |
                (geteuid() != 0 ? CLONE_NEWUSER : 0);
    pid_t pid = fork();
    int status = -1;

    if (pid == 0)
        _exit(unshare(flags) == 0 ? 0 : 1);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return pid > 0 && status == 0;
}

struct sandbox *sandbox_enter(const struct sandbox_options *options,
                              GError **error)
{
    struct sandbox *sandbox = g_new0(struct sandbox, 1);
    struct sandbox_places places = { 0 };
    bool ok = (options->mode == SANDBOX_NONE && !options->store_dir) ||
              find_places(options, &places, error);

    sandbox->mode = options->mode;
    sandbox->action = options->action;
    sandbox->read_only = options->read_only;
    sandbox->modcaps = g_strdup(options->modcaps);
    sandbox->file_handles = options->file_handles;
    if (ok && options->mode == SANDBOX_AUTO)
        sandbox->mode = host_has_namespaces() ? SANDBOX_NAMESPACE
                                              : SANDBOX_AUTO;
    if (ok && sandbox->mode == SANDBOX_AUTO) {
        log_warn(LOG_FS_BACKEND,
                 "this host allows no namespaces; the sandbox runs without "
                 "them (--sandbox=namespace makes this an error)");
        sandbox->share = g_strdup(places.share);
        sandbox->undo_dir = g_strdup(places.undo_dir);
        sandbox->store_dir = g_strdup(places.store_dir);
    } else if (ok) {
        ok = enter(sandbox, options, &places, error);
    }
    places_clear(&places);
    if (!ok)
        g_clear_pointer(&sandbox, sandbox_free);
    return sandbox;
}

const char *sandbox_share(const struct sandbox *sandbox)
{
    return sandbox->share;
}

const char *sandbox_undo_dir(const struct sandbox *sandbox)
{
    return sandbox->undo_dir;
}

const char *sandbox_store_dir(const struct sandbox *sandbox)
{
    return sandbox->store_dir;
}

bool sandbox_has_own_mounts(const struct sandbox *sandbox)
{
    return sandbox->mode == SANDBOX_NAMESPACE;
}

bool sandbox_fds_are_here(const struct sandbox *sandbox)
{
    return sandbox->mode == SANDBOX_CHROOT;
}

/* ---- confining ----------------------------------------------------------- */

gboolean sandbox_confine(struct sandbox *sandbox, GError **error)
{
    g_autoptr(GError) cause = NULL;

    if (sandbox->mode == SANDBOX_NONE)
        return TRUE;
    sandbox_skip_leak_check();
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return sandbox_fail(error, "no_new_privs");
    if (!sandbox_drop_capabilities(sandbox->modcaps, sandbox->file_handles,
                                   error))
        return FALSE;
    if (sandbox_restrict_paths(sandbox, &cause))
        return TRUE;
    if (cause) {
        g_propagate_error(error, g_steal_pointer(&cause));
        return FALSE;
    }
    if (sandbox->mode == SANDBOX_AUTO) {
        g_set_error(error, STEPBACK_ERROR, ERROR_IO_ERROR,
                    "sandbox: this host allows neither namespaces nor "
                    "Landlock; --sandbox=none serves without protection");
        return FALSE;
    }
    log_warn(LOG_FS_BACKEND,
             "kernel without Landlock for renames (Linux 5.19); the sandbox "
             "runs without Landlock");
    return TRUE;
}

void sandbox_free(struct sandbox *sandbox)
{
    if (!sandbox)
        return;
    g_free(sandbox->share);
    g_free(sandbox->undo_dir);
    g_free(sandbox->store_dir);
    g_free(sandbox->modcaps);
    g_free(sandbox);
}
