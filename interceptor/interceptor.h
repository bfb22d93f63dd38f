/* SPDX-License-Identifier: Apache-2.0
 *
 * interceptor - the undo engine that a file server links.
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

    /* Bytes copied into one step; default 200 MiB. A step that would copy more
     * becomes unprotected: event.warning, the rest of its changes goes through
     * unkept, and neither it nor what is older can be undone. */
    int64_t max_single_step_size;

    int64_t max_step_count; /* default 100 */

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

    /* Do not watch the share: edits from outside are then noticed by comparing
     * alone, when a step is taken back (for the command line). */
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

/* ---- inodes -------------------------------------------------------------- */

/* The share's root. Borrowed: lives as long as the engine. */
struct ic_inode *ic_root(struct ic *ic);

/* Returns inode. */
struct ic_inode *ic_inode_ref(struct ic_inode *inode);
void ic_inode_unref(struct ic_inode *inode);

/* A hold is less than a reference: it keeps the inode known, but its fd may be
 * closed while there is no reference, and only ic_inode_*() may be called with
 * it, not ic_inode_fd(). ic_inode_hold() wants a reference or hold, and returns
 * inode. ic_inode_use() gives a reference beside the hold: 0, or -ESTALE if the
 * inode cannot be found again (see ic_options.file_handles), or -EMFILE ... As
 * long as its fd is open it takes no lock. */
struct ic_inode *ic_inode_hold(struct ic_inode *inode);
void ic_inode_unhold(struct ic_inode *inode);
int ic_inode_use(struct ic *ic, struct ic_inode *inode);

/* A reference if its fd is open; else false. To look at, not to use: it is
 * still one of the first to be closed. */
bool ic_inode_ref_open(struct ic_inode *inode);

/* A number of the server's own, 0 at first, with each inode; changed from one
 * to another at once, or not: false. */
uint64_t ic_inode_tag(const struct ic_inode *inode);
bool ic_inode_change_tag(struct ic_inode *inode, uint64_t from, uint64_t to);

/* Close so many fds of inodes that are held and not used. Returns how many. */
unsigned ic_release_fds(struct ic *ic, unsigned n);

/* An O_PATH fd of the inode. Borrowed: valid while the reference is held. */
int ic_inode_fd(const struct ic_inode *inode);

/* Identity; equal inodes are equal pointers while a reference is held. */
dev_t ic_inode_dev(const struct ic_inode *inode);
ino_t ic_inode_ino(const struct ic_inode *inode);

/* S_IFMT bits of the mode. */
mode_t ic_inode_type(const struct ic_inode *inode);

/* Look one name up. name must be a single component, not "." or "..", not
 * empty and without '/': else -EINVAL, here and in all calls that take a name.
 * Symlinks are not followed. A new reference. ret_stat may be NULL. */
int ic_lookup(struct ic *ic, struct ic_inode *dir, const char *name,
              struct ic_inode **ret_inode, struct stat *ret_stat);

/* The same for a server that lists many and uses few: where the filesystem lets
 * it, nothing is opened. A new *hold*; if the inode is found elsewhere or
 * replaced before it is used, ic_inode_use() says -ESTALE. */
int ic_lookup_lazy(struct ic *ic, struct ic_inode *dir, const char *name,
                   struct ic_inode **ret_inode, struct stat *ret_stat);

/* The same for a server whose client keeps no names: it looks a name up each
 * time that it uses one. So nothing is opened for the first lookup of a file or
 * a symlink: it has one user. If that removes the name, or replaces it by a
 * rename, the inode is lost to the client then (-ESTALE), which can have no use
 * for it; and until the client looks it up again or uses it otherwise, others
 * who move or replace it, or a rollback, can make it lose it. What is looked up
 * again is opened. A new *hold*. */
int ic_lookup_uncached(struct ic *ic, struct ic_inode *dir, const char *name,
                       struct ic_inode **ret_inode, struct stat *ret_stat);

/* The parent directory; the root's parent is the root. -ENOENT if the
 * directory is no longer in the share. A new reference. */
int ic_lookup_parent(struct ic *ic, struct ic_inode *dir,
                     struct ic_inode **ret_inode);

/* stat(2) of the inode, with st_nlink as the client must see it: links that
 * the undo log holds do not count. */
int ic_stat(struct ic *ic, struct ic_inode *inode, struct stat *ret_stat);

/* The same of one that is held, which needs not be opened for it; or what
 * ic_inode_use() says. */
int ic_stat_held(struct ic *ic, struct ic_inode *inode, struct stat *ret_stat);

/* statvfs(3) of its filesystem. Free is also what a large file had that was
 * removed, and which is being freed still. 0 or -errno. */
int ic_statvfs(struct ic *ic, struct ic_inode *inode,
               struct statvfs *ret_statvfs);

/* ---- changes of names ---------------------------------------------------- */

/* Who creates: the new inode's owner, unless its directory is setgid. umask:
 * the client's, if the server has not applied it to the mode already. */
struct ic_cred {
    uid_t uid;
    gid_t gid;
    mode_t umask;
};

/* open(2) with O_CREAT. flags: O_ACCMODE, O_EXCL, O_TRUNC, O_APPEND, O_DIRECT,
 * O_SYNC, O_DSYNC, O_NOATIME, O_NONBLOCK count, others are masked off. If the
 * name exists (and no O_EXCL) the file is opened, and kept first if O_TRUNC. A
 * symlink of that name is not followed: -ELOOP. Outputs: a new fd, a new
 * reference, its stat (each may be NULL but ret_fd and ret_inode). */
int ic_create(struct ic *ic, const struct ic_cred *cred, struct ic_inode *dir,
              const char *name, int flags, mode_t mode,
              struct ic_inode **ret_inode, struct stat *ret_stat, int *ret_fd);

/* As mkdirat(2), mknodat(2), symlinkat(2): -EEXIST if there is such a name.
 * Outputs as above. */
int ic_mkdirat(struct ic *ic, const struct ic_cred *cred, struct ic_inode *dir,
               const char *name, mode_t mode, struct ic_inode **ret_inode,
               struct stat *ret_stat);
int ic_mknodat(struct ic *ic, const struct ic_cred *cred, struct ic_inode *dir,
               const char *name, mode_t mode, dev_t rdev,
               struct ic_inode **ret_inode, struct stat *ret_stat);
int ic_symlinkat(struct ic *ic, const struct ic_cred *cred, const char *target,
                 struct ic_inode *dir, const char *name,
                 struct ic_inode **ret_inode, struct stat *ret_stat);

/* Give an inode one more name; -EEXIST if there is such a name. ret_stat (may
 * be NULL): after it. */
int ic_linkat(struct ic *ic, struct ic_inode *inode, struct ic_inode *dir,
              const char *name, struct stat *ret_stat);

/* unlinkat(2): flags is 0 or AT_REMOVEDIR. */
int ic_unlinkat(struct ic *ic, struct ic_inode *dir, const char *name,
                int flags);

/* renameat2(2): flags is 0, RENAME_NOREPLACE or RENAME_EXCHANGE; others
 * -EINVAL. */
int ic_renameat2(struct ic *ic, struct ic_inode *old_dir, const char *old_name,
                 struct ic_inode *new_dir, const char *new_name,
                 unsigned flags);

/* An unnamed file in dir (O_TMPFILE); ic_linkat() can give it a name. */
int ic_tmpfile(struct ic *ic, const struct ic_cred *cred, struct ic_inode *dir,
               int flags, mode_t mode, struct ic_inode **ret_inode,
               struct stat *ret_stat, int *ret_fd);

/* ---- changes of inodes --------------------------------------------------- */

/* Open an inode: flags as in ic_create(), and O_DIRECTORY. O_TRUNC keeps the
 * content first. A FIFO, socket or device node is refused with -ENXIO (the
 * client's kernel serves those by itself). A new fd. */
int ic_open(struct ic *ic, struct ic_inode *inode, int flags, int *ret_fd);

/* pwritev2(2) to an fd of that inode from ic_open() or ic_create(). offset is
 * ignored with RWF_APPEND; and with an fd that was opened with O_APPEND, whose
 * every write Linux appends: a server that gives offsets leaves O_APPEND out
 * and says RWF_APPEND. rwf_flags: RWF_APPEND, RWF_DSYNC, RWF_SYNC; others go to
 * the kernel, which answers what it does not know with -EOPNOTSUPP.
 * kill_priv: clear suid, sgid and capabilities as for a write by an
 * unprivileged user. Bytes written or -errno. */
ssize_t ic_pwritev(struct ic *ic, struct ic_inode *inode, int fd,
                   const struct iovec *iov, int iovcnt, off_t offset,
                   int rwf_flags, bool kill_priv);

enum ic_setattr_flags {
    IC_SET_MODE = 1 << 0,
    IC_SET_UID = 1 << 1,
    IC_SET_GID = 1 << 2,
    IC_SET_SIZE = 1 << 3,
    IC_SET_ATIME = 1 << 4, /* from .atime; tv_nsec may be UTIME_NOW */
    IC_SET_MTIME = 1 << 5, /* likewise */
    IC_KILL_PRIV = 1 << 6, /* with SIZE, UID or GID: clear suid and sgid */
};

struct ic_setattr {
    unsigned valid; /* IC_SET_* */
    mode_t mode;
    uid_t uid;
    gid_t gid;
    off_t size;
    struct timespec atime, mtime;
};

/* Change attributes, in the order size, owner, mode, times. fd: an fd of the
 * inode open for writing (for IC_SET_SIZE) or -1. ret_stat (may be NULL): after
 * it. The mode of a symlink cannot be changed: -EOPNOTSUPP. */
int ic_setattr(struct ic *ic, struct ic_inode *inode, int fd,
               const struct ic_setattr *attr, struct stat *ret_stat);

/* setxattr(2) and removexattr(2) on the inode itself (symlinks too). */
int ic_setxattr(struct ic *ic, struct ic_inode *inode, const char *name,
                const void *value, size_t size, int flags);
int ic_removexattr(struct ic *ic, struct ic_inode *inode, const char *name);

/* fallocate(2) on an fd of the inode that is open for writing; all modes. */
int ic_fallocate(struct ic *ic, struct ic_inode *inode, int fd, int mode,
                 off_t offset, off_t length);

/* copy_file_range(2) from any fd into an fd of the inode. Bytes or -errno. */
ssize_t ic_copy_file_range(struct ic *ic, int in_fd, off_t in_offset,
                           struct ic_inode *out_inode, int out_fd,
                           off_t out_offset, size_t length, unsigned flags);

/* ---- steps --------------------------------------------------------------- */

enum ic_step_type { IC_STEP_COMMAND, IC_STEP_API, IC_STEP_AMBIENT };

enum ic_change_type {
    IC_CREATED,
    IC_MODIFIED,
    IC_DELETED,
    IC_RENAMED,
    IC_METADATA,
    IC_CHANGE_TYPES, /* how many there are */
};

/* A path's net change. Paths are relative to the share, without NUL, any
 * other byte. */
struct ic_change {
    enum ic_change_type type;
    char *path;
    char *from;                      /* IC_RENAMED: the old path; else NULL */
    int64_t size_before, size_after; /* bytes; -1: there is none */
};

/* What a step did. */
struct ic_step_info {
    int64_t id; /* > 0: from the caller; < 0: ambient */
    enum ic_step_type type;
    char *command;                /* may be NULL */
    int exit_code;                /* -1: unknown */
    int64_t started_us, ended_us; /* microseconds since the epoch */
    bool undoable;
    bool unprotected;  /* more than was kept; affected tells of a part */
    bool damaged;      /* its record cannot be read */
    bool other_folder; /* what it changed was not the share; from
                        * ic_history() and ic_redo_history() */
    size_t affected;   /* number of changes, also of those cut off */
    size_t counts[IC_CHANGE_TYPES]; /* of them, by type */
    GPtrArray *changes;             /* of struct ic_change *; at most 1,000 */

    /* The step was denied (ic_safeguard_configure()) and taken back: the
     * changes are those that were taken back. */
    bool denied;
};

void ic_step_info_free(struct ic_step_info *info);

/* Open a step, of a command or of the API: every change until ic_step_close()
 * belongs to it. A change that comes while none is open gets an ambient step,
 * with an id below 0, which is closed when there has been no change for a while
 * (ambient_ms), or by this. command may be NULL; it is kept for ic_history()
 * and means nothing here. ERROR_INVALID_FIELD if id is not above
 * ic_last_step_id() or the type is IC_STEP_AMBIENT, which nobody opens by name;
 * ERROR_STEP_ACTIVE if a step is open, ERROR_NOTHING_TO_UNDO if there is no
 * undo log (as in all calls about steps), ERROR_IO_ERROR. */
gboolean ic_step_open(struct ic *ic, int64_t id, enum ic_step_type type,
                      const char *command, GError **error);

/* Close the open step: waits for changes in flight, then until there was no
 * change for quiet_ms, at most max_ms in all (milliseconds; 0 and 0 where the
 * caller knows that none will come), and commits. exit_code: of the command,
 * -1 if there is none. A step without a
 * change is not kept in the history, but its id is used up; nor is a denied
 * one. ret_info (may be NULL): what it did; free with ic_step_info_free().
 * ERROR_INVALID_FIELD if id is not the open step, ERROR_BUSY while a
 * safeguard's decision is pending. */
gboolean ic_step_close(struct ic *ic, int64_t id, int exit_code,
                       unsigned quiet_ms, unsigned max_ms,
                       struct ic_step_info **ret_info, GError **error);

struct ic_file_write {
    const char *path; /* relative to the share */
    const void *data;
    size_t len;
    bool set_mode;       /* to mode; else as it is, 0644 for a new file */
    mode_t mode;         /* permission bits, with set_mode */
    int64_t step_id;     /* as ic_step_open(); 0: the next one */
    const char *command; /* as ic_step_open(); NULL: write_file and the path */
};

/* Write a file, as an API step of its own. A file that exists keeps its inode,
 * and so its other names and whoever has it open: its content is replaced in
 * place, and who reads it meanwhile may see a part. A new file belongs to its
 * folder's owner. No symlink is followed. What a client changes at this moment
 * belongs to the step, too. The thread may have to wait for a safeguard's
 * decision (ic_set_unparked()). ret_info as ic_step_close().
 *
 * If it fails there is no step and no change: ERROR_PATH_OUTSIDE_ROOT,
 * ERROR_NOT_FOUND (a folder of the path), ERROR_INVALID_FIELD (it is no file,
 * or no name of one), ERROR_STEP_ACTIVE, ERROR_READ_ONLY_DIRECTORY,
 * ERROR_DENIED, ERROR_TOO_LARGE (for the file system), ERROR_IO_ERROR. */
gboolean ic_write_file(struct ic *ic, const struct ic_file_write *request,
                       struct ic_step_info **ret_info, GError **error);

/* Take the open step back at once. ERROR_INVALID_FIELD if id is not the open
 * step; ERROR_STEP_UNPROTECTED: that is no longer possible, the step was closed
 * instead; else as ic_rollback(). */
gboolean ic_step_abort(struct ic *ic, int64_t id, GError **error);

/* Something else than this library has changed the share. */
struct ic_barrier {
    int64_t seq;        /* of the log's own: orders barriers and steps */
    int64_t after_step; /* the newest step that is before it; 0: none */
    int64_t noticed_us; /* microseconds since the epoch */
    bool watched;       /* false: found by comparing, at a rollback */
    pid_t pid;          /* who it was; 0: not known */
    char *process;      /* its name, or NULL */
    GPtrArray *paths;   /* char *, relative to the share; some of them */
    size_t more;        /* how many more paths there are */
};

void ic_barrier_free(struct ic_barrier *barrier);

/* The barriers that a rollback may meet, newest first: a new array of struct
 * ic_barrier *. */
GPtrArray *ic_barriers(struct ic *ic);

/* "barrier", "warn", "lock". ERROR_INVALID_FIELD for anything else. */
gboolean ic_outside_policy_parse(const char *name,
                                 enum ic_outside_policy *ret_policy,
                                 GError **error);

/* Can it be enforced? ERROR_INVALID_FIELD if not. */
gboolean ic_outside_policy_check(enum ic_outside_policy policy, GError **error);

/* From now on; likewise. */
gboolean ic_set_outside_policy(struct ic *ic, enum ic_outside_policy policy,
                               GError **error);

/* Take back the newest steps (1 or more), newest first; an open ambient step is
 * closed first and counts. ret_infos (may be NULL): a new array of struct
 * ic_step_info * of the steps taken back. ERROR_INVALID_FIELD (no step),
 * ERROR_NOTHING_TO_UNDO (fewer than steps: nothing is done), ERROR_STEP_ACTIVE,
 * ERROR_STEP_UNPROTECTED (one of them; nothing is done, by force neither; only
 * ic_discard() ends that), ERROR_UNDO_BARRIER, ERROR_PREIMAGE_MISSING,
 * ERROR_PREIMAGE_CORRUPT (the step is not touched), ERROR_BUSY (a file of it is
 * a running program or leased: nothing is touched), ERROR_IO_ERROR (the
 * interrupted rollback is finished by the next ic_rollback() or
 * ic_open_share()). An error in a later step leaves the newer ones taken back,
 * and its text says which: a step can be compared with the folder only when
 * those after it are taken back.
 *
 * Edits from outside. A step is not taken back over a barrier, nor if what it
 * touched is not as it left it: ERROR_UNDO_BARRIER.
 *
 * force goes over both. Then what the step had changed is as it was before,
 * also where others have changed it since. Of a file that was overwritten in
 * place this is what the step had overwritten (in blocks of 128 KiB, where it
 * could not be cloned): what else others have written there stays, and the file
 * may be a mix of both. What they changed elsewhere stays,
 * with one exception: a folder that the step made goes with everything in it,
 * what others have put there too; ic_redo() brings it back. force also undoes
 * as much of a damaged step as its record still says; a step of which nothing
 * can be read is passed by: what it changed stays, its record is put aside in
 * the log (damaged/), and a warning says so. */
gboolean ic_rollback(struct ic *ic, unsigned steps, bool force,
                     GPtrArray **ret_infos, GError **error);

struct ic_rollback_result {
    GPtrArray *steps;    /* struct ic_step_info *: what was taken back; those
                            that are ->damaged were passed by */
    GPtrArray *barriers; /* struct ic_barrier *: in the way, or crossed */
    GPtrArray *warnings; /* char *, UTF-8: what was overwritten or not done */
};

void ic_rollback_result_free(struct ic_rollback_result *result);

/* The same, with all there is to say about it; *ret_result is set in any
 * case. */
gboolean ic_rollback_steps(struct ic *ic, unsigned steps, bool force,
                           struct ic_rollback_result **ret_result,
                           GError **error);

/* The same for step id and all that are newer, however many these are by now:
 * a step of changes outside of steps may have come in between.
 * ERROR_NOTHING_TO_UNDO: it is not in the history. */
gboolean ic_rollback_to(struct ic *ic, int64_t id, bool force,
                        struct ic_rollback_result **ret_result, GError **error);

/* What ic_rollback_steps() would do, without doing it (but an open ambient step
 * is closed): ->steps are those that would be taken back, newest first, with
 * the changes that this would make, e.g. IC_CREATED for a file that the step
 * deleted. Of the newest step they are made out from the folder as it is now,
 * of others from what they noted. *ret_result is set in any case; FALSE and
 * error: what the rollback would refuse with. With more than one step it may
 * still be refused half-way: edits that no watcher saw of what an older step
 * touched, for which the newest alone can be compared. */
gboolean ic_preview(struct ic *ic, unsigned steps, bool force,
                    struct ic_rollback_result **ret_result, GError **error);
gboolean ic_preview_to(struct ic *ic, int64_t id, bool force,
                       struct ic_rollback_result **ret_result, GError **error);

/* How a file was. */
struct ic_version {
    mode_t mode;   /* with S_IFMT; 0: there was none, or it is not known */
    void *data;    /* the bytes of a file, or the target of a symlink; or NULL:
                      there was nothing, it is of another kind, or: */
    bool left_out; /* longer than 2 MiB, or cannot be found or read */
    size_t len;
};

struct ic_file_diff {
    enum ic_change_type type;
    char *path;
    char *from;                      /* IC_RENAMED: the old path; else NULL */
    struct ic_version before, after; /* of IC_METADATA without data */
};

/* What a step changed, as it was before it and after it: for each of its
 * changes (ic_step_info), a part of them at a time. first: 0, and then what
 * *ret_next was, until that is 0. *ret_diffs: a new array of struct
 * ic_file_diff *. What others have changed since is taken for the step's,
 * where no newer step has kept what was there.
 *
 * ERROR_INVALID_FIELD: there is no such step; ERROR_TOO_LARGE: more than 1,000
 * steps are newer; ERROR_STEP_ACTIVE; ERROR_STEP_UNPROTECTED, ERROR_PREIMAGE_*:
 * this step, or a newer one, is not whole. */
gboolean ic_diff(struct ic *ic, int64_t id, unsigned first,
                 GPtrArray **ret_diffs, unsigned *ret_next, GError **error);

/* Redo the newest rollbacks, newest first: the folder is again what it was
 * before them, and the steps are in the history again. Possible until the next
 * change of the folder by a client, also after a restart; not where there was
 * no room for what a redo needs. force and *ret_result as in
 * ic_rollback_steps();
 * ->steps are those that were redone. ERROR_INVALID_FIELD (no step),
 * ERROR_NOTHING_TO_REDO (fewer than steps: nothing is done), else as
 * ic_rollback(); an error in a later one leaves the others redone, and its text
 * says which. */
gboolean ic_redo(struct ic *ic, unsigned steps, bool force,
                 struct ic_rollback_result **ret_result, GError **error);

/* How many steps ic_redo() can bring back now; 0 without an undo log. */
unsigned ic_redoable(struct ic *ic);

/* The first limit of them, in the order in which it would. Else as
 * ic_history(). */
GPtrArray *ic_redo_history(struct ic *ic, unsigned limit, GError **error);

/* The newest limit steps, newest first; none if limit is 0. A new array of
 * struct ic_step_info *, also if it is empty.
 * ERROR_NOTHING_TO_UNDO if there is no undo log. */
GPtrArray *ic_history(struct ic *ic, unsigned limit, GError **error);

/* The greatest step id ever used, also before ic_open_share(); ids of new steps
 * are above it. 0: none. */
int64_t ic_last_step_id(struct ic *ic);

/* What ic_open_share() recovered: a new ic_step_info of the step that it took
 * back (or, ->unprotected, could not and left as it was), or NULL; also the
 * second time. It is not ->undoable. */
struct ic_step_info *ic_recovered(struct ic *ic);

/* ---- safeguards ---------------------------------------------------------- */

/* What a command may not do without being asked. */
struct ic_safeguard_rules {
    /* Delete so many files and folders in a step: the deletion that makes it so
     * many is held. 0: no limit. What the step itself created does not count.
     */
    uint64_t delete_threshold;

    /* Overwrite, truncate or replace (by a rename) a file of more than so many
     * bytes that the step did not create; appending to it is allowed. Negative:
     * no limit. */
    int64_t overwrite_file_size_threshold;

    /* Replace a name by a rename, that the step did not create. */
    bool rename_over_existing;

    /* How long to wait for ic_safeguard_confirm() before it is a no; 0: the
     * default, 30,000. */
    unsigned timeout_ms;
};

/* Set the rules; they hold at once, for command and API steps. A rule that is
 * about to be broken holds the step's changes and sends
 * event.safeguard_triggered. The thread that answers must not be one that makes
 * changes (see Threads). Without a call, there are none.
 * ERROR_NOTHING_TO_UNDO without an undo log: nothing could be taken back. */
gboolean ic_safeguard_configure(struct ic *ic,
                                const struct ic_safeguard_rules *rules,
                                GError **error);
void ic_safeguard_get_rules(struct ic *ic,
                            struct ic_safeguard_rules *ret_rules);

/* Answer event.safeguard_triggered. allow: the step goes on, and the rule is
 * silent until it ends. Else its changes fail with EPERM from now on, and it is
 * taken back before this returns; ic_step_close() or ic_step_abort() ends that.
 * ERROR_UNKNOWN_SAFEGUARD if this is not (no longer) asked; ERROR_IO_ERROR if
 * the step could not be taken back (as of ic_rollback()). */
gboolean ic_safeguard_confirm(struct ic *ic, const char *safeguard_id,
                              bool allow, GError **error);

/* ---- control protocol ---------------------------------------------------- */

/* Serve the control protocol (JSON Lines; doc/control-protocol.md) from a
 * thread of its own, until ic_close(). Several clients may be connected.
 *
 * ic_control_listen(): on a Unix socket that is made here, with mode 0600, and
 * removed by ic_close(); a socket that is there and that nobody listens on is
 * replaced. Once for an engine; name the same path in
 * ic_options.control_socket. ic_control_attach(): to the client at the other
 * end of a connected stream socket, which is taken in any case; as often as you
 * like. ERROR_IO_ERROR, ERROR_BUSY (somebody listens there). */
gboolean ic_control_listen(struct ic *ic, const char *path, GError **error);
gboolean ic_control_attach(struct ic *ic, int fd, GError **error);

/* As ic_control_listen(), on a socket that listens already (taken). */
void ic_control_accept(struct ic *ic, int fd);

/* The server's root has no /proc: its current folder, which must not change
 * any more, is what /proc/self/fd was. Before ic_open_share(). */
void ic_use_fd_folder(void);

G_END_DECLS

#endif
