/* SPDX-License-Identifier: Apache-2.0
 *
 * engine - see engine.h: open and close the engine; ambient steps.
 */
#include "interceptor/engine/engine.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "common/errors.h"
#include "common/fd.h"
#include "common/log.h"
#include "common/process_state.h"
#include "interceptor/engine/ambient.h"
#include "interceptor/engine/configure.h"
#include "interceptor/engine/durable.h"
#include "interceptor/engine/folder.h"
#include "interceptor/engine/gate.h"
#include "interceptor/engine/limits.h"
#include "interceptor/engine/parking.h"
#include "interceptor/engine/recover.h"
#include "interceptor/engine/rollback.h"
#include "interceptor/engine/safeguard.h"
#include "interceptor/engine/stale.h"
#include "interceptor/engine/watching.h"
#include "interceptor/ic_process.h"
#include "interceptor/log/barriers.h"
#include "interceptor/sys/clock.h"
#include "interceptor/sys/rights.h"
#include "interceptor/sys/sys.h"
#include "interceptor/sys/thread.h"

enum { AMBIENT_MS = 5000 };

/* ---- the timer ----------------------------------------------------------- */

static bool ambient_is_due(struct ic *ic, const struct step *step)
{
    return step->type == IC_STEP_AMBIENT &&
           clock_ms() - atomic_load(&ic->last_change_ms) >=
               (int64_t)ic->ambient_ms;
}

static void tick(struct ic *ic)
{
    bool due;

    /* The gate, because a step's end needs it; names, because a step's begin
     * does. */
    pthread_rwlock_rdlock(&ic->gate);
    pthread_mutex_lock(&ic->names);
    if (ic->log && ic->wal.step)
        undo_log_beat(ic->log);
    due = ic->wal.step && ambient_is_due(ic, ic->wal.step);
    pthread_mutex_unlock(&ic->names);
    pthread_rwlock_unlock(&ic->gate);
    if (due)
        ambient_close_quiet(ic);
}

static unsigned tick_ms(const struct ic *ic)
{
    return MAX(ic->ambient_ms / 4, 10);
}

static void *run_timer(void *data)
{
    struct ic *ic = data;
    unsigned period_ms = tick_ms(ic);

    pthread_mutex_lock(&ic->timer_lock);
    while (!ic->timer_stop) {
        struct timespec until;

        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_sec += period_ms / 1000;
        until.tv_nsec += period_ms % 1000 * 1000000;
        if (until.tv_nsec >= 1000000000) {
            until.tv_sec++;
            until.tv_nsec -= 1000000000;
        }
        pthread_cond_timedwait(&ic->timer_cond, &ic->timer_lock, &until);
        if (ic->timer_stop)
            break;
        pthread_mutex_unlock(&ic->timer_lock);
        tick(ic);
        pthread_mutex_lock(&ic->timer_lock);
    }
    pthread_mutex_unlock(&ic->timer_lock);
    return NULL;
}

static void init_timer(struct ic *ic)
{
    pthread_condattr_t attr;

    pthread_mutex_init(&ic->timer_lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&ic->timer_cond, &attr);
    pthread_condattr_destroy(&attr);
}

static void stop_timer(struct ic *ic)
{
    if (ic->timer_runs) {
        pthread_mutex_lock(&ic->timer_lock);
        ic->timer_stop = true;
        pthread_cond_signal(&ic->timer_cond);
        pthread_mutex_unlock(&ic->timer_lock);
        pthread_join(ic->timer, NULL);
    }
    pthread_cond_destroy(&ic->timer_cond);
    pthread_mutex_destroy(&ic->timer_lock);
}

/* ---- opening ------------------------------------------------------------- */

static bool open_root(struct ic *ic, const char *share, GError **error)
{
    fd_auto int fd = sys_openat(AT_FDCWD, share, O_PATH | O_DIRECTORY, 0);
    struct stat st;
    int rc = fd < 0 ? fd : sys_stat_fd(fd, &st);

    if (rc < 0) {
        g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_DIRECTORY,
                    "%s: cannot serve this folder: %s", ic->share,
                    g_strerror(-rc));
        return false;
    }
    ic->dev = st.st_dev;
    if (ic->undo_dir)
        ic->log_links = log_links_new(ic->dev);
    ic->inodes = inode_table_new(ic->log_links ? log_links_count : NULL,
                                 ic->log_links);
    if (!ic->undo_dir)
        inode_table_free_later(ic->inodes);
    if (ic->log_links)
        log_links_set_table(ic->log_links, ic->inodes);
    if (ic->undo_dir) /* see engine_is_mounted() */
        inode_table_set_mount(ic->inodes, fd);
    ic->root = inode_table_take(ic->inodes, fd_steal(&fd), &st, 0, NULL, NULL);
    return true;
}

/* On overlayfs over several filesystems, without xino, a file has its layer's
 * device and number: then it could not be saved, and the client could not write
 * the files it makes. A file without a name shows it (Linux 6.3). */
static bool check_overlay(const struct ic *ic, GError **error)
{
    struct statfs fs;
    fd_auto int fd = -1;
    struct stat st;

    if (ic->read_only || fstatfs(ic->root->fd, &fs) != 0 ||
        fs.f_type != OVERLAYFS_SUPER_MAGIC)
        return true;
    fd = sys_openat(ic->root->fd, ".", O_TMPFILE | O_RDWR, 0600);
    if (fd < 0 || sys_stat_fd(fd, &st) < 0 || st.st_dev == ic->dev)
        return true;
    g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_DIRECTORY,
                "%s: undo on this overlayfs, whose layers are on several "
                "filesystems, needs the mount option xino=on",
                ic->share);
    return false;
}

/* Local filesystems with a btime for every inode, by the kernel's clock, that
 * cannot be set. Inodes opened by file handles are opened at once. */
static bool keeps_btimes(const struct statfs *fs)
{
    switch (fs->f_type) {
    case EXT4_SUPER_MAGIC:
    case XFS_SUPER_MAGIC:
    case BTRFS_SUPER_MAGIC:
    case F2FS_SUPER_MAGIC:
    case TMPFS_MAGIC:
        return true;
    default:
        return false;
    }
}

/* Decide how inodes are identified. Network filesystems may give an inode
 * another handle; an overlay changes the btime at the copy-up. */
static void find_fingerprints(int rootfd, struct inode_table_limits *limits)
{
    struct {
        struct file_handle handle;
        char room[MAX_HANDLE_SZ];
    } h = { .handle.handle_bytes = MAX_HANDLE_SZ };
    struct statfs fs;
    int mount;

    if (fstatfs(rootfd, &fs) != 0)
        return;
    limits->has_btimes = fs.f_type != OVERLAYFS_SUPER_MAGIC;
    limits->has_lazy = limits->handles == IC_FILE_HANDLES_NEVER &&
                       keeps_btimes(&fs);
    limits->has_handles = fs.f_type != FUSE_SUPER_MAGIC &&
                          fs.f_type != OVERLAYFS_SUPER_MAGIC &&
                          name_to_handle_at(rootfd, "", &h.handle, &mount,
                                            AT_EMPTY_PATH) == 0;
    if (limits->handles != IC_FILE_HANDLES_NEVER && limits->has_handles) {
        fd_auto int fd = sys_open_handle(limits->mount_fd, &h.handle, O_PATH);

        if (fd >= 0)
            return;
    }
    fd_close(&limits->mount_fd);
}

static bool limit_inodes(struct ic *ic, const struct ic_options *options,
                         GError **error)
{
    struct inode_table_limits limits = {
        .max_open = options->max_inode_fds,
        .handles = options->file_handles,
        .is_reserved_fd = options->is_reserved_fd,
        .dev = ic->dev,
        .mount_fd = -1,
    };
    struct rlimit nofile;

    if (limits.max_open == 0 && getrlimit(RLIMIT_NOFILE, &nofile) == 0)
        limits.max_open = (unsigned)MIN(nofile.rlim_cur / 2, UINT_MAX);
    if (limits.handles != IC_FILE_HANDLES_NEVER)
        limits.mount_fd = sys_openat(ic->root->fd, ".", O_RDONLY | O_DIRECTORY,
                                     0);
    find_fingerprints(ic->root->fd, &limits);
    folder_mark_look(&ic->folder, ic->root->fd, !limits.has_btimes, ic->share);
    if (limits.mount_fd < 0) {
        if (limits.handles == IC_FILE_HANDLES_MANDATORY) {
            g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_DIRECTORY,
                        "%s: cannot open files by file handles: the filesystem "
                        "has none, or CAP_DAC_READ_SEARCH is missing",
                        ic->share);
            return false;
        }
        limits.handles = IC_FILE_HANDLES_NEVER;
    }
    inode_table_set_limits(ic->inodes, &limits);
    return true;
}

/* The client must not be able to reach the log. If the log's folder does not
 * exist yet, its nearest existing ancestor decides. */
static bool check_outside(struct ic *ic, const struct ic_options *options,
                          GError **error)
{
    g_autofree char *share = realpath(options->share, NULL);
    g_autofree char *at = g_canonicalize_filename(options->undo_dir, NULL);
    g_autofree char *real = NULL;
    size_t len = share ? strlen(share) : 0;

    while (!(real = realpath(at, NULL)) && strcmp(at, "/") != 0) {
        char *up = g_path_get_dirname(at);

        g_free(at);
        at = up;
    }
    if (share && real && strncmp(real, share, len) == 0 &&
        (real[len] == '/' || real[len] == '\0' || len == 1)) {
        g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_DIRECTORY,
                    "%s: the undo log must lie outside the shared folder %s; "
                    "choose another path",
                    ic->undo_dir, ic->share);
        return false;
    }
    return true;
}

static bool recover(struct ic *ic, bool keep_unfinished, GError **error)
{
    g_autoptr(GError) cause = NULL;

    if (recover_at_start(ic, &cause))
        return true;
    if (!keep_unfinished && error_code_of(cause) == ERROR_INVALID_DIRECTORY) {
        g_propagate_error(error, g_steal_pointer(&cause)); /* it is complete as
                                                            * it is */
        return false;
    }
    if (!keep_unfinished) {
        g_set_error(error, cause->domain, cause->code,
                    "%s: cannot finish or roll back the interrupted step: %s; "
                    "try again, or give it up with 'stepback undo --discard' "
                    "(ic_discard() after opening with keep_unfinished)",
                    ic->share, cause->message);
        return false;
    }
    log_warn(LOG_UNDO, "%s", cause->message);
    ic->broken = -EIO;
    return true;
}

/* False also for callers that only look or undo. */
static bool serves_with_log(const struct ic_options *options)
{
    return options->undo_dir && !options->no_watch;
}

static bool open_log(struct ic *ic, const struct ic_options *options,
                     GError **error)
{
    if (!check_outside(ic, options, error))
        return false;
    ic->closed_log = undo_log_open(options->undo_dir, options->control_socket,
                                   options->no_recovery, error);
    if (!ic->closed_log)
        return false;
    if (undo_log_dev(ic->closed_log) == ic->dev)
        g_clear_pointer(&ic->folder.subvolume, g_free);
    if (undo_log_other_version(ic->closed_log)) {
        configure_tell_version(ic);
        return true;
    }
    if (!undo_log_check_ids(ic->closed_log, ic->undo_dir, options->id_maps,
                            error))
        return false;
    configure_use_log(ic);
    if (options->no_recovery && recover_leave_unfinished(ic))
        return true;
    if (!recover(ic, options->keep_unfinished, error))
        return false;
    if (!ic->broken)
        undo_log_take_over(ic->log, options->no_timer ? 0 : tick_ms(ic));
    undo_log_take_reserve(ic->log);
    /* No other thread runs yet. A caller that only looks or undoes must not
     * evict steps, nor one that may have named this log by mistake. */
    if (serves_with_log(options) && !folder_warn_of_other(ic))
        limits_apply_locked(ic);
    return true;
}

struct ic *ic_open_share(const struct ic_options *options, GError **error)
{
    struct ic *ic = g_new0(struct ic, 1);

    rights_prepare();
    ic->share = g_strdup(options->share_name ? options->share_name
                                             : options->share);
    ic->undo_dir = g_strdup(options->undo_dir && options->undo_dir_name
                                ? options->undo_dir_name
                                : options->undo_dir);
    ic->read_only = options->read_only;
    ic->grants.suid = options->allow_suid;
    ic->grants.devices = options->allow_devices;
    ic->outside_policy = options->outside_policy;
    ic->switch_ids = geteuid() == 0;
    ic->watch_fd = options->watch_fd > 0 ? options->watch_fd : -1;
    ic->process_name = options->process_name;
    ic->process_name_opaque = options->process_name_opaque;
    ic->progress_ms = options->progress_ms;
    ic->ambient_ms = options->ambient_ms ? options->ambient_ms : AMBIENT_MS;
    ic->wal.dir = ic->wal.blobs = -1;
    ic->ambient_rest.wal.dir = ic->ambient_rest.wal.blobs = -1;
    ic->unkept = barriers_new();
    gate_init(ic);
    pthread_mutex_init(&ic->names, NULL);
    init_timer(ic);
    durable_init(&ic->durable);
    atomic_store(&ic->durable.power,
                 options->durability == IC_DURABILITY_POWER);
    parking_init(&ic->parking);
    safeguard_init(&ic->guard, rollback_open_step_locked);
    stale_init(&ic->stale);
    ic->stale.writes = options->watch_writes;
    open_writes_init(&ic->open_writes);
    ic->events = events_new(options->event, options->event_opaque);
    ic->writers = writers_new(ic->events);
    ic->packer = packer_new();
    ic->drain = options->no_timer;
    ic->default_limits = true;
    if (!limits_set(ic, &options->limits, error) ||
        !ic_outside_policy_check(ic->outside_policy, error) ||
        !open_root(ic, options->share, error) ||
        (serves_with_log(options) && !check_overlay(ic, error)) ||
        !limit_inodes(ic, options, error) ||
        (ic->undo_dir && !open_log(ic, options, error))) {
        ic_close(ic);
        return NULL;
    }
    if (serves_with_log(options)) {
        struct watch_host host = watching_host(ic);

        ic->watch = watch_new(&host);
    }
    if (ic->undo_dir && !options->no_timer)
        ic->timer_runs = thread_start(&ic->timer, "undo-timer", run_timer,
                                      ic) == 0;
    return ic;
}

void ic_close(struct ic *ic)
{
    if (!ic)
        return;
    safeguard_refuse(ic);
    if (ic->control)
        ic->control_free(g_steal_pointer(&ic->control));
    safeguard_clear(&ic->guard);
    stop_timer(ic);
    watch_free(g_steal_pointer(&ic->watch));
    fd_close(&ic->watch_fd);
    ambient_close_at_exit(ic);
    packer_free(ic->packer);
    if (ic->log && ic->drain)
        undo_log_drain_trash(ic->log);
    undo_log_close(ic->log);
    undo_log_close(ic->closed_log);
    ic_inode_unref(ic->root);
    inode_table_free(ic->inodes);
    log_links_free(ic->log_links);
    ic_step_info_free(ic->recovered);
    writers_free(ic->writers);
    events_free(ic->events);
    parking_clear(&ic->parking);
    stale_clear(&ic->stale);
    open_writes_clear(&ic->open_writes);
    durable_clear(&ic->durable);
    pthread_mutex_destroy(&ic->names);
    pthread_rwlock_destroy(&ic->gate);
    g_ptr_array_unref(ic->unkept);
    folder_mark_clear(&ic->folder);
    g_free(ic->undo_dir);
    g_free(ic->share);
    g_free(ic);
}

void ic_set_log(int level, const char *program)
{
    log_set_level(
        (enum log_level)CLAMP(level, LOG_LEVEL_ERROR, LOG_LEVEL_TRACE));
    log_set_human(program);
}

bool ic_share_process_state(struct process_state *state)
{
    return process_state_use(state);
}
