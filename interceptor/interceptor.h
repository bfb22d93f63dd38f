/* SPDX-License-Identifier: Apache-2.0
 *
 * interceptor - the undo engine, a library for file servers.
 *
 * This header has the rules common to all calls, and the set-up. It includes
 * ic_files.h, for the requests of a server's client, and ic_steps.h, for undo.
 *
 * A server that serves a folder to an untrusted client makes every change of
 * the folder through this library and no change without it. Each call writes
 * its intent to the undo log, saves what the change is about to destroy,
 * changes the folder, and returns. Changes are grouped in steps; a rollback
 * undoes the newest steps, exactly.
 *
 * Model. Inodes are found by name (ic_lookup()) and kept by reference. Calls
 * that change names take a directory inode and one name; calls that change an
 * inode take the inode and, if the client has the file open, its fd.
 *
 * Terms. A *safeguard* is a rule that holds a step before it destroys much. A
 * *parked* change must wait, and the server must repeat it (IC_PARKED). An
 * *ambient* step was opened by no caller: it has changes made while no step was
 * open. A *barrier* is an outside edit of the folder, over which no step is
 * rolled back without force. An *unprotected* step changed more than could be
 * saved: neither it nor older steps can be undone.
 *
 * Reading is the server's own task and needs no call here: preadv(2), lseek(2),
 * fsync(2), flock(2) and fcntl(2) locks on an fd of ic_open(); and with
 * ic_inode_fd(), which is O_PATH, openat(2) of "." to list a directory,
 * readlinkat(2) and statx(2) of "", fstatfs(2), and through its name in
 * /proc/self/fd getxattr(2), listxattr(2) and faccessat(2).
 *
 * Errors. Calls on the data path return 0 (or a count) or -errno. Set-up and
 * steps return FALSE (or NULL) and a GError in IC_ERROR; of its codes, enum
 * ic_error, the names below lack the prefix IC_. If the preimage of a change
 * cannot be saved (ENOSPC, EIO ...), the change is refused with that errno and
 * nothing has happened. While a rollback is unfinished (it failed half-way, or
 * keep_unfinished or no_recovery left it), every change returns -EIO;
 * ic_rollback() finishes it, ic_discard() gives it up.
 *
 * Structs. Zero-initialise structs that are passed in, by name: struct
 * ic_options o = { .share = dir }. Zero is the default, except for
 * ic_safeguard_rules.overwrite_file_size_threshold, where -1 is off. While the
 * version is 0.x, each minor version may add members and calls, and change
 * them; the soname changes with it (IC_VERSION_*).
 *
 * Ownership. Strings and structs that are passed in are borrowed for the call.
 * ret_* are set on success only, and are the caller's: give back an inode with
 * ic_inode_unref(), close(2) an fd, g_ptr_array_unref() an array (which frees
 * its elements), g_free() a string. NULL may be freed, closed and given back.
 *
 * Threads. Every call may be made by any thread, except ic_close(), which must
 * be the last. Changes wait while a step closes, and while a rollback runs or a
 * safeguard's decision is pending; or they are parked, see ic_set_unparked().
 * So a server with safeguards needs a second thread that answers them, or must
 * park: its only thread would wait for itself until the timeout.
 *
 * Credentials. No call here checks what the client may do: the server must have
 * done so, or the client's kernel (FUSE's default_permissions). The calling
 * thread must have the rights that serving needs (root, or the folder's owner).
 * Calls that create take the client's uid and gid, so that new files belong to
 * that user, if the process may change to it; this sets ownership and is no
 * permission check. Modes are also masked by the process's umask: set it to 0.
 *
 * Other filesystems mounted below the share can be read. A change there is
 * refused with -EROFS (their inode numbers mean nothing to the log), one
 * between two filesystems with -EXDEV.
 *
 * The process. Each reference of an inode costs an fd: a server whose client
 * knows many inodes holds those that it does not need at present
 * (ic_inode_hold()), and raises RLIMIT_NOFILE. The engine has its own threads
 * and locks and does not survive fork(2) without exec. Avoid even fork(2) with
 * exec while files change: until its exec the child has them open, and if its
 * close of a written file is the last, the kernel reports an edit by another
 * process. The engine's threads block all signals except those that a thread
 * causes itself (SIGBUS, ...). The kernel's constants (RENAME_*, RWF_*, O_PATH)
 * need _GNU_SOURCE.
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

/* The numbers are those of the control protocol. None is ever reused for
 * another meaning; new ones may be added. */
enum ic_error {
    IC_ERROR_INVALID_FIELD = 1004,
    IC_ERROR_INVALID_DIRECTORY = 2002,
    IC_ERROR_NOTHING_TO_UNDO = 3000,
    IC_ERROR_UNDO_BARRIER = 3001,
    IC_ERROR_STEP_UNPROTECTED = 3002,
    IC_ERROR_UNDO_VERSION_MISMATCH = 3003,
    IC_ERROR_PREIMAGE_MISSING =
        3004, /* saved content is missing from the log */
    IC_ERROR_PREIMAGE_CORRUPT = 3005, /* saved content is corrupt */
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

/* The size limits of the undo log. 0: the default, -1: no limit. Removed files
 * are moved into the log and take no more room than before; they count only
 * against min_free. Before a step is evicted, always the oldest, event.warning
 * reports its id. */
struct ic_limits {
    int64_t max_log_size; /* bytes copied into all steps; default 1 GiB */

    /* Bytes copied into one step; default 200 MiB, or, while the disk has room
     * and neither this nor max_log_size is set, more: up to a quarter of the
     * free bytes beyond min_free. A step that would copy more becomes
     * unprotected: event.warning, the rest of its changes is made without
     * saving, and neither it nor older steps can be undone. */
    int64_t max_single_step_size;

    int64_t max_step_count; /* default 100; the same again for ambient steps */

    /* Evict steps, but not the newest, while the log's filesystem has fewer
     * bytes free; default 5 %, at most 10 GiB. */
    int64_t min_free;
};

/* The effect of an outside edit of the share. */
enum ic_outside_policy {
    IC_OUTSIDE_BARRIER, /* undoing steps before it needs force */
    IC_OUTSIDE_WARN,    /* it is reported, and undo overrides it */
    IC_OUTSIDE_LOCK,    /* forbidden: no host can enforce this */
};

/* What undo survives. PROCESS, the default: SIGKILL of the server, at any
 * moment. POWER: a power cut as well. Then the preimage of a change is on disk
 * before the change is made; and a closed step is on disk with all its changes,
 * by syncfs(2), before ic_step_close() returns. For files of a step that is
 * still open, the client must call fsync(2), as always. POWER requires that the
 * filesystem keeps the order of changes of names (ext4, XFS and btrfs do). */
enum ic_durability {
    IC_DURABILITY_DEFAULT,
    IC_DURABILITY_PROCESS,
    IC_DURABILITY_POWER,
};

/* How inodes whose fd was closed are opened again: by name, which fails with
 * -ESTALE if another process has moved them, or by name and then by file
 * handle, which needs CAP_DAC_READ_SEARCH. */
enum ic_file_handles {
    IC_FILE_HANDLES_NEVER,
    IC_FILE_HANDLES_PREFER,    /* if the filesystem has them */
    IC_FILE_HANDLES_MANDATORY, /* else ic_open_share() fails */
};

struct ic_options {
    const char *share; /* the folder to serve; must exist */

    /* The log's folder, made with missing parents (mode 0700); outside the
     * share, and empty if it is not a log yet. NULL: no undo, every call passes
     * straight through. */
    const char *undo_dir;

    /* The names of the two for messages and "status", if this process has other
     * paths for them: in a chroot(2), a mount namespace of its own, or for a
     * relative path. NULL: as above. */
    const char *share_name, *undo_dir_name;

    /* The path that ic_control_listen() will get, or NULL. It is written into
     * the log's lock file, through which the command line finds and asks the
     * log's owner. */
    const char *control_socket;

    /* The maps of the user namespace in which this engine runs, if they change
     * any id; else NULL. Any text; only compared: a log with other ids is
     * refused (ERROR_INVALID_DIRECTORY). */
    const char *id_maps;

    /* Refuse every change with EROFS. */
    bool read_only;

    /* Unless set, changes by which a client could give rights on this host to
     * other users are refused with EPERM, and event.warning reports the first
     * of a step (code "rights_refused"): set-user-ID and set-group-ID bits of
     * files and file capabilities, writes to such files, and device nodes. Undo
     * and redo restore existing ones. */
    bool allow_suid, allow_devices;

    /* Do not run the timer that closes ambient steps, and let ic_close() wait
     * until all pending removals are done (for tests and for the command line).
     */
    bool no_timer;

    /* Open even if an earlier process's unfinished work cannot be rolled back
     * now: as after a failed rollback, changes are refused until another one
     * succeeds or ic_discard() gives it up. */
    bool keep_unfinished;

    /* Leave an earlier process's unfinished work as it is, for callers that
     * only look (ic_history(), ic_preview()): event.warning with the code
     * "step_unfinished" and the step's report describes it, and changes are
     * refused as with keep_unfinished. If there is none, no effect. */
    bool no_recovery;

    struct ic_limits limits;
    enum ic_durability durability;

    /* Milliseconds without a change after which an ambient step is closed; 0:
     * the default, 5000. */
    unsigned ambient_ms;

    /* Milliseconds after which a rollback or redo sends the first
     * "event.progress"
     * {"operation":"rollback"|"redo","step_id","done","total"}; 0: the default,
     * 1000. Then one follows every half second, and one at the end. */
    unsigned progress_ms;

    enum ic_outside_policy outside_policy;

    /* Maximum number of fds of inodes without a reference (ic_inode_hold()). 0:
     * half of RLIMIT_NOFILE. */
    unsigned max_inode_fds;
    enum ic_file_handles file_handles;

    /* Return whether an fd of this number is one of the last, which no client
     * may keep. An inode that is removed while held cannot be opened again, so
     * its fd stays open; but not one of these: then the inode is lost
     * (-ESTALE). Also called for each inode that is opened again. Any thread.
     * NULL: none is. */
    bool (*is_reserved_fd)(int fd);

    /* Nothing is served: for a command line that looks or undoes. The share is
     * not watched, so outside edits are noticed only by comparison, at a
     * rollback. The limits are not applied at the start, and the share is not
     * checked for whether it can have an undo log. */
    bool no_watch;

    /* For a server that drops privileges before it opens the share: the fd from
     * ic_watch_open() (ownership taken), 0: none; and a callback that returns
     * the name of a process if /proc is out of reach: a new string (free()) or
     * NULL, in any thread. NULL: use /proc. */
    int watch_fd;

    /* Watch for writes to files that stay open, too, for ic_set_stale(). Only
     * if ic_watch_spare_mount() succeeded: otherwise each write of the client
     * is reported as well. */
    bool watch_writes;
    char *(*process_name)(pid_t pid, void *opaque);
    void *process_name_opaque;

    /* Called for each event with its payload, a JSON object; both borrowed for
     * the call. In any thread, within ic_open_share() too, and with the
     * engine's locks held: it must not call the engine. May be NULL. More
     * events and members may be added:
     *
     * event.warning                message; code, and its members
     * event.recovery               a step's report, taken_back, restored_paths;
     *                              message, if it could not be rolled back
     * event.progress               operation, step_id, done, total
     * event.safeguard_triggered    safeguard_id (for ic_safeguard_confirm()),
     *                              step_id, kind, message, sample_paths,
     *                              timeout_seconds; delete_count and threshold,
     *                              or file_size
     * event.safeguard_decided      safeguard_id, step_id, action (allow, deny),
     *                              reason
     * event.writers                pids, see ic_follow_writers()
     * event.external_modification  paths, more, pid, process, timestamp
     * event.undo_version_mismatch  found, supported, undo_dir, message
     *
     * doc/control-protocol.md has the details. Warnings are also messages of
     * the library, which go to stderr unless ic_set_log() says otherwise. */
    void (*event)(const char *type, const char *payload, void *opaque);
    void *event_opaque;
};

/* Open the watcher's event queue early, with CAP_SYS_ADMIN: then it reports
 * which process made an edit, and has no limit of folders (fanotify(7)).
 * Returns an fd for ic_options.watch_fd, or -errno; without the call there is a
 * watcher, too. */
int ic_watch_open(void);

/* Exclude the server's own writes from the queue (watch_fd). path: the folder,
 * through a mount of the server's own by which no other process writes. Writes
 * there are not reported, since each report slows the writer down. Writes of a
 * root process that enters the server's mounts (nsenter(1), /proc/PID/root) are
 * not reported either; if a step is open, they belong to it. Needs
 * CAP_SYS_ADMIN. Return whether that succeeded; without it, closed files are
 * reported as before. */
bool ic_watch_spare_mount(int watch_fd, const char *path);

/* Open a folder and its log, take the log's lock, and roll back the step that
 * was open when a process died, or called ic_close(), if there is one
 * (ic_recovered()). Free with ic_close(). NULL and error: ERROR_INVALID_FIELD
 * (a policy that cannot be enforced), ERROR_INVALID_DIRECTORY (share; or
 * undo_dir, also if it has files that belong to no log), ERROR_BUSY (another
 * process owns the log), ERROR_PREIMAGE_* (recovery failed), ERROR_IO_ERROR.
 *
 * The lock is the log's and not the folder's: if one folder is served twice,
 * with two logs, there are two histories that know nothing of each other, and
 * each takes the other's changes for outside edits.
 *
 * A log of another version is left as it is: event.undo_version_mismatch, and
 * changes are made without saving. Steps can be opened and closed, and are not
 * undoable; rollback and history fail with ERROR_UNDO_VERSION_MISMATCH. */
struct ic *ic_open_share(const struct ic_options *options, GError **error);

/* Close the open ambient step, free everything. An open command or API step is
 * not committed: the next ic_open_share() rolls it back. No other call may run,
 * and every ic_inode must have been given back. */
void ic_close(struct ic *ic);

/* Set the limits from now on; here 0 leaves one unchanged; steps beyond them
 * are evicted at once. ERROR_INVALID_FIELD: one is below -1, and nothing was
 * changed. */
gboolean ic_configure(struct ic *ic, const struct ic_limits *limits,
                      GError **error);

/* Write the library's messages to stderr, as JSON Lines, up to this level: 0
 * errors, 1 warnings (the default), 2 information, 3 and 4 debugging. program
 * (borrowed for the life of the process; may be NULL): write "program: message"
 * instead of JSON. */
void ic_set_log(int level, const char *program);

/* Return the default path of a folder's log: <parent>/.stepback/.git/<name>,
 * or, if the parent is not writable or is another filesystem,
 * $XDG_STATE_HOME/stepback/undo/<name>-<hash>. A new string; NULL and error
 * (ERROR_INVALID_DIRECTORY) if the folder does not exist or is "/". */
char *ic_default_undo_dir(const char *share, GError **error);

/* Keep "git clean" from removing an existing log, if it is at a default path
 * beside the folder. Opening a log does this if its parent is reachable; a
 * sandbox must call it before the parent becomes unreachable. */
void ic_hide_undo_dir(const char *path);

/* The use of a log: ic_log_examine(). */
enum ic_log_use {
    IC_LOG_NONE,   /* no log of this user and format beside a folder */
    IC_LOG_BUSY,   /* a process uses it */
    IC_LOG_USED,   /* a folder of its steps, or the one beside it, exists */
    IC_LOG_UNSURE, /* the same cannot be told */
    IC_LOG_ORPHAN, /* its folder is gone, or has moved elsewhere */
};

/* Examine the log at undo_dir, without a change. *ret_bytes: the disk space of
 * an orphan. *ret_reason: of UNSURE, else NULL; a new string. Any thread. */
enum ic_log_use ic_log_examine(const char *undo_dir, uint64_t *ret_bytes,
                               char **ret_reason);

/* Remove a log, with all that only it has of its folder's files, if it is an
 * orphan by now. Fails with ERROR_BUSY (it is none) or ERROR_IO_ERROR. */
gboolean ic_log_remove_orphan(const char *undo_dir, GError **error);

/* Set the durability from now on. DEFAULT changes nothing. */
void ic_set_durability(struct ic *ic, enum ic_durability durability);

/* The share is also mounted on this host with this st_dev; "status" reports it,
 * so that a path on that mount is recognised as the share. 0: no longer. Any
 * thread. */
void ic_set_mount_dev(struct ic *ic, dev_t dev);

/* Discard all steps and begin a new log, also in place of one of another
 * version; undo works from then on. Step ids go on rising. A half-done rollback
 * is given up: the folder stays as it is, and the log's content of the step is
 * moved to damaged/. ERROR_STEP_ACTIVE, ERROR_NOTHING_TO_UNDO (there is no
 * log), ERROR_INVALID_DIRECTORY (the log's folder has other files),
 * ERROR_IO_ERROR. */
gboolean ic_discard(struct ic *ic, GError **error);

/* ---- parking ------------------------------------------------------------- */

/* The return value of a parked change, beside 0 and -errno: it was not begun,
 * nothing has happened, and the server must repeat it from its start when the
 * callback says so. Outside the range of errors. */
#define IC_PARKED (-4097)

/* From now on changes that must wait for long (while a rollback runs, while a
 * safeguard's decision is pending) return IC_PARKED. unparked is called when
 * all changes parked so far must be repeated (verdict 0), or must fail with
 * that error (verdict -EPERM: their step was denied). It runs in any thread,
 * with the engine's locks held, and must not call the engine. NULL: changes
 * wait in the call, and once this returns, the former callback is not running.
 *
 * unparked may come before the server has even seen the IC_PARKED to which it
 * applies. So it counts its calls, and each worker checks:
 *
 *     again: before = calls;            // under a lock, as all but the try
 *     rc = try_the_change();
 *     if (rc == IC_PARKED && calls == before)
 *         put it on the list;           // unparked repeats or fails it
 *     else if (rc == IC_PARKED && last_verdict == 0)
 *         goto again;
 *     else if (rc == IC_PARKED)
 *         rc = last_verdict; */
void ic_set_unparked(struct ic *ic, void (*unparked)(int verdict, void *opaque),
                     void *opaque);

G_END_DECLS

#include "ic_files.h"
#include "ic_steps.h"

#endif
