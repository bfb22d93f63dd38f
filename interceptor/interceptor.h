/* SPDX-License-Identifier: Apache-2.0
 *
 * interceptor - the undo engine that a file server links.
 *
 * This header has what is true of all calls, and the set-up. It includes
 * ic_files.h, what a server makes of its client's requests, and ic_steps.h,
 * what those who undo call.
 *
 * A server that serves a folder to an untrusted client makes every change of
 * the folder through this library and no change without it. Each call here
 * writes its intent to the undo log, keeps what the change is about to
 * destroy, changes the folder, and returns. Changes are grouped in steps; a
 * rollback takes back the newest steps, exactly.
 *
 * Model. Inodes are met by name (ic_lookup()) and held by reference. Calls
 * that change names take a directory inode and one name; calls that change an
 * inode take the inode, and where the client has the file open, its fd.
 *
 * Words. A *safeguard* is a rule that holds a step before it destroys much. A
 * change is *parked* when it must wait and the server is to make it again
 * (IC_PARKED). A step is *ambient* if nobody opened it: it holds changes that
 * came while none was open. A *barrier* is an edit of the folder by others,
 * over which no step is taken back without force. A step is *unprotected* when
 * it changed more than was kept of it: it cannot be undone, nor what is older.
 *
 * Reading is the server's own, and needs no call here: preadv(2), lseek(2),
 * fsync(2), flock(2) and fcntl(2) locks on an fd of ic_open(); and with
 * ic_inode_fd(), which is O_PATH, openat(2) of "." to list a directory,
 * readlinkat(2) and statx(2) of "", fstatfs(2), and by its name in
 * /proc/self/fd getxattr(2), listxattr(2) and faccessat(2).
 *
 * Errors. Calls on the data path return 0 (or a count) or -errno. Set-up and
 * steps return FALSE (or NULL) and a GError in IC_ERROR; of its codes, enum
 * ic_error, the names below lack the prefix IC_. If what a change would destroy
 * cannot be kept (ENOSPC, EIO ...), the change is refused with that errno and
 * nothing has happened. While a rollback is unfinished (it failed half-way, or
 * keep_unfinished or no_recovery left it), every change returns -EIO;
 * ic_rollback() finishes it, ic_discard() gives it up.
 *
 * Structs. Zero-initialise those that are passed in, by name:
 * struct ic_options o = { .share = dir }. Zero is the default, but for
 * ic_safeguard_rules.overwrite_file_size_threshold, where -1 is off. While the
 * version is 0.x, each minor version may add members and calls, and change
 * them; the soname changes with it (IC_VERSION_*).
 *
 * Ownership. Strings and structs that are passed in are borrowed for the call.
 * ret_* are set on success only, and are the caller's: give an inode back with
 * ic_inode_unref(), close(2) an fd, g_ptr_array_unref() an array (which frees
 * what is in it), g_free() a string. NULL may be freed, closed and given back.
 *
 * Threads. Every call may be made by any thread, except ic_close(), which
 * must be the last. Changes wait while a step closes, and while a rollback runs
 * or a safeguard's decision is pending; or are parked, see ic_set_unparked().
 * So a server with safeguards needs a second thread, which answers them, or
 * must park: its only thread would wait for itself until the timeout.
 *
 * Credentials. No call here checks what the client may do: the server must have
 * done so, or the client's kernel (FUSE's default_permissions). The caller's
 * thread must have the rights that serving needs (root, or the folder's owner).
 * Calls that create take the client's uid and gid, so that what they make is
 * that user's, where the process may change to it; that is ownership and no
 * permission. Modes are masked by the process's umask, too: set it to 0.
 *
 * Other filesystems that are mounted below the share can be read. A change
 * there is refused with -EROFS (their inode numbers mean nothing to the log),
 * one between two filesystems with -EXDEV.
 *
 * The process. Each reference of an inode costs an fd: a server whose client
 * knows many inodes holds those that it does not need just now
 * (ic_inode_hold()), and raises RLIMIT_NOFILE. The engine has threads and locks
 * of its own and does not survive fork(2) without exec. Nor should there be one
 * while files change: until its exec the child has them open, and when its
 * close of a file that was written is the last, the kernel tells of an edit by
 * another process. The engine's threads block all signals but those that a
 * thread causes itself (SIGBUS, ...). Constants of the kernel's (RENAME_*,
 * RWF_*, O_PATH) want _GNU_SOURCE.
 */
#ifndef STEPBACK_INTERCEPTOR_H
#define STEPBACK_INTERCEPTOR_H

#define IC_VERSION_MAJOR 0
#define IC_VERSION_MINOR 1
#define IC_VERSION_PATCH 0

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/types.h>
#include <sys/uio.h>

G_BEGIN_DECLS

struct ic;       /* an engine: one shared folder and its undo log */
struct ic_inode; /* an inode of the shared folder; refcounted */

/* ---- errors -------------------------------------------------------------- */

#define IC_ERROR (ic_error_quark())
GQuark ic_error_quark(void);

/* Numbers are those of the control protocol. None is ever given another
 * meaning; new ones may come. */
enum ic_error {
    IC_ERROR_INVALID_FIELD = 1004,
    IC_ERROR_INVALID_DIRECTORY = 2002,
    IC_ERROR_NOTHING_TO_UNDO = 3000,
    IC_ERROR_UNDO_BARRIER = 3001,
    IC_ERROR_STEP_UNPROTECTED = 3002,
    IC_ERROR_UNDO_VERSION_MISMATCH = 3003,
    IC_ERROR_PREIMAGE_MISSING = 3004, /* what the log held is gone */
    IC_ERROR_PREIMAGE_CORRUPT = 3005, /* or is not what it was */
    IC_ERROR_STEP_ACTIVE = 3006,
    IC_ERROR_NOTHING_TO_REDO = 3007,
    IC_ERROR_PATH_OUTSIDE_ROOT = 4000,
    IC_ERROR_NOT_FOUND = 4001,
    IC_ERROR_READ_ONLY_DIRECTORY = 4002,
    IC_ERROR_TOO_LARGE = 4003,
    IC_ERROR_IO_ERROR = 4004,
    IC_ERROR_UNKNOWN_SAFEGUARD = 5000,
    IC_ERROR_DENIED = 5001,
    IC_ERROR_BUSY = 6000,
    IC_ERROR_INTERNAL = 9000,
};

/* ---- set-up -------------------------------------------------------------- */

/* How much the undo log may hold. 0: the default, -1: no limit. What is
 * removed is moved into the log and takes no more room than before; it does
 * not count but for min_free. Before a step is forgotten, always the oldest,
 * its id is told by event.warning. */
struct ic_limits {
    int64_t max_log_size; /* bytes copied into all steps; default 1 GiB */

    /* Bytes copied into one step; default 200 MiB, or more while the disk has
     * room, if neither this nor max_log_size is set: up to a quarter of what is
     * free beyond min_free. A step that would copy more becomes unprotected: event.warning, the rest of its changes goes through
     * unkept, and neither it nor what is older can be undone. */
    int64_t max_single_step_size;

    int64_t max_step_count; /* default 100; of ambient steps as many more */

    /* Forget steps, but not the newest, while the log's filesystem has fewer
     * bytes free; default 5 %, at most 10 GiB. */
    int64_t min_free;
};

/* What an edit of the share by somebody else does. */
enum ic_outside_policy {
    IC_OUTSIDE_BARRIER, /* steps before it need force to be taken back */
    IC_OUTSIDE_WARN,    /* it is told, and undo goes over it */
    IC_OUTSIDE_LOCK,    /* it must not happen: no host enforces that */
};

/* What undo survives, beside its own end. PROCESS, the default: SIGKILL of the
 * server, at any moment. POWER: a power cut as well. Then what a change
 * destroys is on disk before the change is made; and a step that was closed is
 * on disk with all that it changed, by syncfs(2), before ic_step_close()
 * returns. Files that a step has not closed yet are the client's to fsync(2),
 * as ever. It asks of the file system that it keeps the order of changes of
 * names (ext4, XFS and btrfs do). */
enum ic_durability {
    IC_DURABILITY_DEFAULT,
    IC_DURABILITY_PROCESS,
    IC_DURABILITY_POWER,
};

/* How inodes whose fd was closed are opened again: by name, which fails with
 * -ESTALE if others have moved them, or by name and then by file handle, which
 * needs CAP_DAC_READ_SEARCH. */
enum ic_file_handles {
    IC_FILE_HANDLES_NEVER,
    IC_FILE_HANDLES_PREFER,    /* where the filesystem has them */
    IC_FILE_HANDLES_MANDATORY, /* or ic_open_share() fails */
};

struct ic_options {
    const char *share; /* the folder to serve; must exist */

    /* The log's folder, made if missing (mode 0700), with its parents; outside
     * the share, and empty if it is no log yet. NULL: no undo, every call
     * passes straight through. */
    const char *undo_dir;

    /* What others call the two, for messages and "status", if this process has
     * other paths for them: in a chroot(2), a mount namespace of its own, or
     * for a relative path. NULL: as above. */
    const char *share_name, *undo_dir_name;

    /* The path that ic_control_listen() will be given, or NULL. It is written
     * into the log's lock file, so that the command line finds the log's owner
     * and asks it. */
    const char *control_socket;

    /* The maps of the user namespace in which this engine runs, if they give
     * anybody another number than outside; else NULL. Any text, which is
     * compared: a log with other numbers is refused
     * (ERROR_INVALID_DIRECTORY). */
    const char *id_maps;

    /* Refuse every change with EROFS. */
    bool read_only;

    /* Else changes by which a client could give rights on this host to other
     * users are refused with EPERM, and the first is told by event.warning:
     * set-user-ID and set-group-ID bits of files and file capabilities, and
     * device nodes. Undo and redo bring back what was there. */
    bool allow_suid, allow_devices;

    /* Do not run the timer that closes ambient steps, and end only when
     * everything that is done with is removed (for tests and for the command
     * line). */
    bool no_timer;

    /* Open also if what an earlier process left half-way cannot be taken back
     * now: as after a rollback that failed, so changes are refused until
     * another one succeeds or ic_discard() gives it up. */
    bool keep_unfinished;

    /* What an earlier process left half-way stays as it is, for those who look
     * and change nothing (ic_history(), ic_preview()): event.warning with the
     * code "step_unfinished" and the step's report tells of it, and changes are
     * refused as with keep_unfinished. Else as without it. */
    bool no_recovery;

    struct ic_limits limits;
    enum ic_durability durability;

    /* How long an ambient step stays open without a change, in ms; 0: the
     * default, 5000. */
    unsigned ambient_ms;

    /* How long a rollback or redo takes before it sends "event.progress"
     * {"operation":"rollback"|"redo","step_id","done","total"}, in ms; 0: the
     * default, 1000. Then one comes every half second, and one at the end. */
    unsigned progress_ms;

    enum ic_outside_policy outside_policy;

    /* Inodes that are held (ic_inode_hold()) keep so many fds at most. 0: half
     * of RLIMIT_NOFILE. */
    unsigned max_inode_fds;
    enum ic_file_handles file_handles;

    /* Is an fd of this number one of the last, which no client may keep? An
     * inode that is removed while it is held cannot be opened again, so its fd
     * stays open; but not these: then it is lost (-ESTALE). Asked, too, of each
     * inode that is opened again. Called from any thread. NULL: none is. */
    bool (*is_reserved_fd)(int fd);

    /* Nothing is served, as by the command line, which looks or undoes. The
     * share is not watched: edits from outside are noticed by comparing alone,
     * when a step is taken back. And the limits are not applied at the start,
     * nor is the share asked whether an undo log can be kept of it. */
    bool no_watch;

    /* For a server that gives up privileges before it opens the share: what
     * ic_watch_open() returned (taken), 0: none; and how to learn the name of
     * a process where /proc is out of reach: a new string (free()) or NULL,
     * called from any thread. NULL: from /proc. */
    int watch_fd;
    char *(*process_name)(pid_t pid, void *opaque);
    void *process_name_opaque;

    /* Called for each event with its payload, a JSON object; both borrowed for
     * the call. From any thread, ic_open_share() included, and with the
     * engine's locks held: it must not call the engine. May be NULL. More
     * events and members may come:
     *
     * event.warning                message; code, and what belongs to it
     * event.recovery               a step's report, taken_back, restored_paths;
     *                              message, if it could not be taken back
     * event.progress               operation, step_id, done, total
     * event.safeguard_triggered    safeguard_id (for ic_safeguard_confirm()),
     *                              step_id, kind, message, sample_paths,
     *                              timeout_seconds; delete_count and threshold,
     *                              or file_size
     * event.safeguard_decided      safeguard_id, step_id, action (allow, deny),
     *                              reason
     * event.external_modification  paths, more, pid, process, timestamp
     * event.undo_version_mismatch  found, supported, undo_dir, message
     *
     * doc/control-protocol.md has the details. Warnings are messages of the
     * library, too, which go to stderr unless ic_set_log() says otherwise. */
    void (*event)(const char *type, const char *payload, void *opaque);
    void *event_opaque;
};

/* With CAP_SYS_ADMIN: the watcher's queue of events, which then tells which
 * process made an edit, and has no limit of folders (fanotify(7)). An fd for
 * ic_options.watch_fd, or -errno; there is a watcher without it, too. */
int ic_watch_open(void);

/* The folder is reached here (path) through a mount of the server's own, by
 * which nobody else writes: the watcher, whose fd that is, is not to be told
 * what is closed there after writing, since telling costs the writer. Nor is it
 * told what root writes who enters the server's mounts (nsenter(1),
 * /proc/PID/root): who does that to a server while a step is open makes the
 * change the step's. For who has CAP_SYS_ADMIN; who has not is told, as
 * before. */
void ic_watch_spare_mount(int watch_fd, const char *path);

/* Open a folder and its log, take the log's lock, and roll back the step that
 * was open when a process died, or called ic_close(), if there is one
 * (ic_recovered()). Free with ic_close(). NULL and error: ERROR_INVALID_FIELD
 * (a policy that cannot be enforced), ERROR_INVALID_DIRECTORY (share; or
 * undo_dir, also if it holds files that belong to no log), ERROR_BUSY (another
 * process owns the log), ERROR_PREIMAGE_* (recovery failed), ERROR_IO_ERROR.
 *
 * The lock is the log's and not the folder's: whoever serves one folder twice,
 * with two logs, has two histories that know nothing of each other, and each
 * takes the other's changes for edits from outside.
 *
 * A log of another version is left as it is: event.undo_version_mismatch, and
 * changes go through unkept. Steps can be opened and closed, and are not
 * undoable; rollback and history fail with ERROR_UNDO_VERSION_MISMATCH. */
struct ic *ic_open_share(const struct ic_options *options, GError **error);

/* Close the open ambient step, free everything. A command or API step that is
 * still open is not committed: the next ic_open_share() takes it back. No other
 * call may run, and every ic_inode must have been given back. */
void ic_close(struct ic *ic);

/* Set the limits from now on; 0 leaves one as it is, here; what is over them is
 * forgotten at once. ERROR_INVALID_FIELD: one is below -1, and nothing was
 * changed. */
gboolean ic_configure(struct ic *ic, const struct ic_limits *limits,
                      GError **error);

/* The library's messages go to stderr, as JSON Lines, up to this level: 0
 * errors, 1 warnings (the default), 2 information, 3 and 4 debugging. program
 * (borrowed for the life of the process; may be NULL): print lines for people,
 * "program: message", in place of JSON. */
void ic_set_log(int level, const char *program);

/* stderr is a socket of the system's log: begin lines with a priority. */
void ic_set_syslog(bool on);

/* The default place of a folder's log: <parent>/.stepback/<name>, or, where
 * the parent cannot be written or is another filesystem,
 * $XDG_STATE_HOME/stepback/undo/<name>-<hash>. A new string; NULL and error
 * (ERROR_INVALID_DIRECTORY) if the folder does not exist or is "/". */
char *ic_default_undo_dir(const char *share, GError **error);

/* Hide a log that exists from the git repository around it, and keep "git clean
 * -x" from removing it, if it is at a default place beside the folder. Opening
 * a log does so where its parent can be reached; a sandbox must do it before
 * that is out of reach. */
void ic_hide_undo_dir(const char *path);

/* From now on. DEFAULT changes nothing. */
void ic_set_durability(struct ic *ic, enum ic_durability durability);

/* The share is to be seen also through a file system on this host, whose
 * st_dev is this; "status" tells it, so that who names the folder by a path
 * there is known to mean the share. 0: not any more. Any thread. */
void ic_set_mount_dev(struct ic *ic, dev_t dev);

/* Forget all steps and begin a new log, also in place of one of another
 * version; there is undo from then on. Step ids go on rising. A rollback that
 * stopped half-way is given up: the folder stays as it is, and what the log
 * holds of the step is put into its damaged/.
 * ERROR_STEP_ACTIVE, ERROR_NOTHING_TO_UNDO (there is no log),
 * ERROR_INVALID_DIRECTORY (the log's folder holds other files), ERROR_IO_ERROR.
 */
gboolean ic_discard(struct ic *ic, GError **error);

/* The server's root has no /proc: its current folder, which must not change
 * any more, is what /proc/self/fd was. Before ic_open_share(). */
void ic_use_fd_folder(void);

/* ---- parking ------------------------------------------------------------- */

/* What a change returns, beside 0 and -errno, to a server that can park: it was
 * not begun, nothing has happened, and it is to be made again from its start
 * when the server is told. Outside the range of errors. */
#define IC_PARKED (-4097)

/* From now on changes that must wait for long (while a rollback runs, while a
 * safeguard's decision is pending) return IC_PARKED. unparked is called when
 * those that were parked until then are to be made again (verdict 0), or are to
 * fail with that error (verdict -EPERM: their step was denied). It runs in any
 * thread, with the engine's locks held, and must not call the engine. NULL:
 * changes wait in the call, and when this has returned, the former one is not
 * running.
 *
 * unparked may come before the server has even seen the IC_PARKED that it is
 * about. So it counts its calls, and each worker looks:
 *
 *     again: before = calls;            // under a lock, as all but the try
 *     rc = try_the_change();
 *     if (rc == IC_PARKED && calls == before)
 *         put it on the list;           // unparked has it made again, or fail
 *     else if (rc == IC_PARKED && last_verdict == 0)
 *         goto again;
 *     else if (rc == IC_PARKED)
 *         rc = last_verdict;
 */
void ic_set_unparked(struct ic *ic, void (*unparked)(int verdict, void *opaque),
                     void *opaque);

G_END_DECLS

#include "ic_files.h"
#include "ic_steps.h"

#endif
