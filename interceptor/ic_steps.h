/* SPDX-License-Identifier: Apache-2.0
 *
 * ic_steps - part of interceptor.h: steps, undo, safeguards, control protocol.
 */
#ifndef STEPBACK_IC_STEPS_H
#define STEPBACK_IC_STEPS_H

#include "interceptor.h"

G_BEGIN_DECLS

/* ---- steps --------------------------------------------------------------- */

enum ic_step_type { IC_STEP_COMMAND, IC_STEP_API, IC_STEP_AMBIENT };

enum ic_change_type {
    IC_CREATED,
    IC_MODIFIED,
    IC_DELETED,
    IC_RENAMED,
    IC_METADATA,
    IC_CHANGE_TYPES, /* the number of types */
};

/* The most executions that a change lists; if there are more, the last one is
 * 0. */
#define IC_MAX_BY 6

/* The net change of a path. Paths are relative to the share and may have any
 * bytes except NUL. */
struct ic_change {
    enum ic_change_type type;
    char *path;
    char *from;                      /* IC_RENAMED: the old path; else NULL */
    int64_t size_before, size_after; /* bytes; -1: no size */

    /* The executions (ic_name_writers()) that made it, the first one first; 0:
     * an unknown one. None if the host made it, or if writers were not followed
     * (ic_follow_writers()). */
    int64_t by[IC_MAX_BY];
    unsigned n_by;
};

/* The report of a step. */
struct ic_step_info {
    int64_t id; /* > 0: from the caller; < 0: ambient */
    enum ic_step_type type;
    char *command;                /* may be NULL */
    int exit_code;                /* -1: unknown */
    int64_t started_us, ended_us; /* microseconds since the epoch */
    bool undoable;
    bool unchanged;    /* only times differ from before the step: files that it
                        * rewrote have their former content */
    bool unprotected;  /* beyond the limit for saved content; affected counts
                        * only a part */
    int64_t below;     /* this newer unprotected step makes this one not
                        * undoable; 0: none; from ic_history() */
    bool damaged;      /* its record is unreadable */
    bool other_folder; /* it changed another folder; from ic_history() and
                        * ic_redo_history() */
    size_t affected;   /* number of changes, including unlisted ones */
    size_t counts[IC_CHANGE_TYPES]; /* the same by type */
    GPtrArray *changes;             /* struct ic_change *; at most 1,000 */

    /* The step was denied (ic_safeguard_configure()) and rolled back: the
     * changes are those that were rolled back. */
    bool denied;
};

void ic_step_info_free(struct ic_step_info *info);

/* Open a step, of a command or of the API: every change until ic_step_close()
 * belongs to it. A change while none is open gets an ambient step, with an id
 * below 0, which is closed after a while without changes (ambient_ms), or by
 * this call; the next such change reopens it, unless another step or an outside
 * edit came in between or it is large. command may be NULL; it is stored for
 * ic_history() and has no other use. ERROR_INVALID_FIELD if id is not above
 * ic_last_step_id() or the type is IC_STEP_AMBIENT, which no caller may open;
 * ERROR_STEP_ACTIVE if a step is open, ERROR_NOTHING_TO_UNDO if there is no
 * undo log (as in all calls about steps), ERROR_IO_ERROR. */
gboolean ic_step_open(struct ic *ic, int64_t id, enum ic_step_type type,
                      const char *command, GError **error);

/* Close the open step: wait for changes in flight, then for quiet_ms without a
 * change, at most max_ms in all (milliseconds; 0 and 0 if the caller knows that
 * no change follows), and commit. exit_code: of the command, -1 if there is
 * none. A step without a change is not kept in the history, but its id is used
 * up; the same holds for a denied one. ret_info (may be NULL): its report; free
 * with ic_step_info_free(). ERROR_INVALID_FIELD if id is not the open step,
 * ERROR_BUSY while a safeguard's decision is pending. */
gboolean ic_step_close(struct ic *ic, int64_t id, int exit_code,
                       unsigned quiet_ms, unsigned max_ms,
                       struct ic_step_info **ret_info, GError **error);

/* Wait for what the client still writes in the background (ic_write_opened())
 * of a step whose processes have all ended: until the files that were opened
 * for writing since the step was opened are closed; or until nothing has
 * changed for quiet_ms, at most max_ms in all, because another process may keep
 * such a file. ic_step_close() with 0 and 0 follows. Without such an open file,
 * return at once. */
void ic_step_settle(struct ic *ic, unsigned quiet_ms, unsigned max_ms);

struct ic_file_write {
    const char *path; /* relative to the share */
    const void *data;
    size_t len;
    bool set_mode;     /* apply mode; else unchanged, 0644 for a new file */
    mode_t mode;       /* permission bits, with set_mode */
    bool make_parents; /* make folders of the path that do not exist */
    int64_t step_id;   /* as in ic_step_open(); 0: the next one */
    const char
        *command; /* as in ic_step_open(); NULL: write_file and the path */
};

/* Write a file, as an API step of its own. An existing file keeps its inode,
 * and so its other names and open fds: its content is replaced in place, and a
 * concurrent reader may see a part. A new file belongs to its folder's owner,
 * and so does a new folder, of mode 0755. No symlink is followed. Changes by a
 * client at the same time belong to the step, too. The thread may have to wait
 * for a safeguard's decision (ic_set_unparked()). ret_info as in
 * ic_step_close().
 *
 * If it fails there is no step and no change: ERROR_PATH_OUTSIDE_ROOT,
 * ERROR_NOT_FOUND (a folder of the path), ERROR_INVALID_FIELD (not a file, or
 * not a valid path of one, or of PATH_MAX bytes with a missing folder),
 * ERROR_STEP_ACTIVE, ERROR_READ_ONLY_DIRECTORY, ERROR_DENIED, ERROR_TOO_LARGE
 * (for the filesystem), ERROR_IO_ERROR. */
gboolean ic_write_file(struct ic *ic, const struct ic_file_write *request,
                       struct ic_step_info **ret_info, GError **error);

/* Roll back the open step at once. ERROR_INVALID_FIELD if id is not the open
 * step; ERROR_STEP_UNPROTECTED: the step cannot be rolled back, it was closed
 * instead; else as ic_rollback(). */
gboolean ic_step_abort(struct ic *ic, int64_t id, GError **error);

/* A change of the share that was not made through this library. */
struct ic_barrier {
    int64_t seq;        /* orders barriers and steps in the log */
    int64_t after_step; /* the newest step before it; 0: none */
    int64_t noticed_us; /* microseconds since the epoch */
    bool watched;       /* false: found by comparison, at a rollback */
    pid_t pid;          /* of the process; 0: unknown */
    char *process;      /* name of the process, or NULL */
    GPtrArray *paths;   /* char *, relative to the share; possibly not all */
    size_t more;        /* number of further paths */
};

void ic_barrier_free(struct ic_barrier *barrier);

/* Return the barriers that a rollback may meet, newest first: a new array of
 * struct ic_barrier *. */
GPtrArray *ic_barriers(struct ic *ic);

/* Parse "barrier", "warn" or "lock". ERROR_INVALID_FIELD for anything else. */
gboolean ic_outside_policy_parse(const char *name,
                                 enum ic_outside_policy *ret_policy,
                                 GError **error);

/* Check that the policy can be enforced. ERROR_INVALID_FIELD if not. */
gboolean ic_outside_policy_check(enum ic_outside_policy policy, GError **error);

/* Apply a policy from now on. Errors as above. */
gboolean ic_set_outside_policy(struct ic *ic, enum ic_outside_policy policy,
                               GError **error);

/* Roll back the newest steps (1 or more), newest first; an open ambient step is
 * closed first and counts. ret_infos (may be NULL): a new array of struct
 * ic_step_info * of the steps rolled back. ERROR_INVALID_FIELD (no step),
 * ERROR_NOTHING_TO_UNDO (there are fewer steps: nothing is done),
 * ERROR_STEP_ACTIVE, ERROR_STEP_UNPROTECTED (one of them; nothing is done, even
 * with force; only ic_discard() helps), ERROR_UNDO_BARRIER,
 * ERROR_PREIMAGE_MISSING, ERROR_PREIMAGE_CORRUPT (the step is not touched),
 * ERROR_BUSY (a file of it is a running program or leased: nothing is touched),
 * ERROR_IO_ERROR (the next ic_rollback() or ic_open_share() finishes the
 * interrupted rollback). After an error in an older step the newer ones stay
 * rolled back, and the error's text says which: a step can be compared with the
 * folder only once later steps are rolled back.
 *
 * Outside edits. A step is not rolled back over a barrier, nor if what it
 * touched is not as it left it: ERROR_UNDO_BARRIER.
 *
 * force overrides both. Then everything that the step had changed is as before
 * it, even if another process has changed it since. Of a file that the step
 * overwrote in place, the overwritten parts are restored (in blocks of 128 KiB,
 * unless it was cloned): other processes' writes elsewhere in the file stay,
 * and the file may be a mix of both. Other processes' changes elsewhere stay,
 * with one exception: a folder that the step made is removed with everything in
 * it, including other processes' files; ic_redo() restores it. force also
 * undoes as much of a damaged step as its record still describes; a step whose
 * record is entirely unreadable is skipped: its changes stay, its record is
 * moved to the log's damaged/, and a warning says so. */
gboolean ic_rollback(struct ic *ic, unsigned steps, bool force,
                     GPtrArray **ret_infos, GError **error);

struct ic_rollback_result {
    GPtrArray *steps;    /* struct ic_step_info *: rolled back; those that are
                          * ->damaged were skipped */
    GPtrArray *barriers; /* struct ic_barrier *: blocking, or crossed */
    GPtrArray *warnings; /* char *, UTF-8: what was overwritten or not done */
    GPtrArray *not_restored; /* char *, paths in any bytes, that a forced undo
                              * or redo left as they were: their content is
                              * gone; and folders that it could only make anew
                              */
};

void ic_rollback_result_free(struct ic_rollback_result *result);

/* The same, with a full report; *ret_result is set in any case. */
gboolean ic_rollback_steps(struct ic *ic, unsigned steps, bool force,
                           struct ic_rollback_result **ret_result,
                           GError **error);

/* The same for step id and all newer ones, however many there are by now: an
 * ambient step may have come in between. ERROR_NOTHING_TO_UNDO: the step is not
 * in the history. */
gboolean ic_rollback_to(struct ic *ic, int64_t id, bool force,
                        struct ic_rollback_result **ret_result, GError **error);

/* Report what ic_rollback_steps() would do, without doing it (but an open
 * ambient step is closed): ->steps are those that would be rolled back, newest
 * first, with the changes that this would make, e.g. IC_CREATED for a file that
 * the step deleted. For the newest step these follow from the folder as it is
 * now, for others from their records. *ret_result is set in any case; FALSE and
 * error: the rollback's error. With more than one step the rollback may still
 * fail half-way: outside edits that no watcher saw can be found by comparison
 * for the newest step only. */
gboolean ic_preview(struct ic *ic, unsigned steps, bool force,
                    struct ic_rollback_result **ret_result, GError **error);
gboolean ic_preview_to(struct ic *ic, int64_t id, bool force,
                       struct ic_rollback_result **ret_result, GError **error);

struct ic_restore {
    int64_t step_id;          /* paths become what they were before this step */
    const char *const *paths; /* relative to the share, any bytes; "." is all */
    size_t n;                 /* number of paths: 1 or more */
    bool force;               /* override outside edits */
    bool dry;                 /* report what would change, and change nothing */
    int64_t new_id;           /* of the new step; 0: the next one */
};

/* Restore only these paths, with everything below them, as an API step of its
 * own, which can be undone and redone; no other step leaves the history. A file
 * that is still the same inode is changed in place, and so under its other
 * names, too (with a warning). Any other is recreated as a copy; paths that
 * were links of one inode are links again. Missing parent folders are made as
 * they were. As exact as a rollback, except for inode numbers. Safeguards do
 * not ask.
 *
 * ->steps: the new step, or none if nothing differs; with dry the changes that
 * it would make, under the id 0. *ret_result is set in any case. If it fails,
 * nothing is changed: ERROR_INVALID_FIELD (no such step; no path),
 * ERROR_PATH_OUTSIDE_ROOT, ERROR_NOT_FOUND (the path existed neither then nor
 * now), ERROR_STEP_ACTIVE, ERROR_STEP_UNPROTECTED or ERROR_PREIMAGE_* (of this
 * step or a newer one; or a path's former state is unknown), ERROR_UNDO_BARRIER
 * (an outside edit of a path since, and no force), ERROR_TOO_LARGE (the log's
 * limits; more than 1,000 steps are newer), ERROR_READ_ONLY_DIRECTORY,
 * ERROR_BUSY (a client has just changed a path), ERROR_IO_ERROR (no room). If
 * the changes made so far cannot be rolled back, as ic_step_abort(). */
gboolean ic_restore_paths(struct ic *ic, const struct ic_restore *request,
                          struct ic_rollback_result **ret_result,
                          GError **error);

/* A former state of a file. */
struct ic_version {
    mode_t mode;   /* includes S_IFMT; 0: none existed, or unknown */
    void *data;    /* the bytes of a file, or the target of a symlink; or NULL:
                    * none existed, it is of another type, or: */
    bool left_out; /* longer than 2 MiB, or unavailable */
    size_t len;
};

struct ic_file_diff {
    enum ic_change_type type;
    char *path;
    char *from;                      /* IC_RENAMED: the old path; else NULL */
    struct ic_version before, after; /* without data if only the mode or the
                                      * path differs */
};

/* Return the changes of a step with the states before and after it, path by
 * path: those in its report (ic_step_info) and, for a renamed folder, all files
 * in it. A path occurs once, unless a folder replaced a file or the other way
 * round. The result comes in parts. first: 0, then the last *ret_next, until
 * that is 0. *ret_diffs: a new array of struct ic_file_diff *. *ret_cut: how
 * many of the step's changes the log does not list. *ret_partial: the step is
 * unprotected, and only the files are there of which the log saved all old
 * content before it became so. Later outside edits are attributed to the step,
 * unless a newer step has saved the state in between.
 *
 * ERROR_INVALID_FIELD: there is no such step; ERROR_TOO_LARGE: more than 1,000
 * steps are newer; ERROR_STEP_ACTIVE; ERROR_STEP_UNPROTECTED: a newer
 * step is; ERROR_PREIMAGE_*: this step, or a newer one, is incomplete. */
gboolean ic_diff(struct ic *ic, int64_t id, unsigned first,
                 GPtrArray **ret_diffs, unsigned *ret_next, size_t *ret_cut,
                 bool *ret_partial, GError **error);

/* Redo the newest rollbacks, newest first: the folder is as before them, and
 * the steps are in the history again. Possible until a client next changes the
 * folder, also after a restart; not if there was no room for what a redo needs,
 * nor if the disk was nearly full after the rollback (event.warning), unless
 * that had put aside other processes' work. force and *ret_result as in
 * ic_rollback_steps(); ->steps are those redone. ERROR_INVALID_FIELD (no step),
 * ERROR_NOTHING_TO_REDO (there are fewer: nothing is done), else as
 * ic_rollback(); after an error in a later one the others stay redone, and the
 * error's text says which. */
gboolean ic_redo(struct ic *ic, unsigned steps, bool force,
                 struct ic_rollback_result **ret_result, GError **error);

/* Return how many steps ic_redo() can redo now; 0 without an undo log. */
unsigned ic_redoable(struct ic *ic);

/* Return the first limit of these, in the order of ic_redo(). Otherwise as
 * ic_history(). */
GPtrArray *ic_redo_history(struct ic *ic, unsigned limit, GError **error);

/* Return the newest limit steps, newest first; none if limit is 0. A new array
 * of struct ic_step_info *, even if it is empty. ERROR_NOTHING_TO_UNDO if there
 * is no undo log. */
GPtrArray *ic_history(struct ic *ic, unsigned limit, GError **error);

/* Return the greatest step id ever used, also before ic_open_share(); new steps
 * need greater ids. 0: none. */
int64_t ic_last_step_id(struct ic *ic);

/* Return what ic_open_share() recovered: a new ic_step_info of the step that it
 * rolled back (or, if ->unprotected, could not roll back and left as it was),
 * or NULL; further calls return it again. It is not ->undoable. */
struct ic_step_info *ic_recovered(struct ic *ic);

/* ---- safeguards ---------------------------------------------------------- */

/* Limits on what a command may do without confirmation. */
struct ic_safeguard_rules {
    /* Delete this many files and folders in a step: the deletion that reaches
     * the number is held. 0: no limit. Files that the step itself created do
     * not count. */
    uint64_t delete_threshold;

    /* Overwrite, truncate or replace (by a rename) a file of more than this
     * many bytes that the step did not create; appending is allowed. Negative:
     * no limit. */
    int64_t overwrite_file_size_threshold;

    /* Replace, by a rename, a name that the step did not create. */
    bool rename_over_existing;

    /* How long to wait for ic_safeguard_confirm() before the answer is deny, in
     * ms; 0: the default, 30,000. */
    unsigned timeout_ms;
};

/* Set the rules; they take effect at once, for command and API steps. A change
 * that is about to break a rule holds the step's changes and sends
 * event.safeguard_triggered. The thread that answers must not be one that makes
 * changes (see Threads). Without a call there are no rules.
 * ERROR_NOTHING_TO_UNDO without an undo log: nothing could be rolled back. */
gboolean ic_safeguard_configure(struct ic *ic,
                                const struct ic_safeguard_rules *rules,
                                GError **error);
void ic_safeguard_get_rules(struct ic *ic,
                            struct ic_safeguard_rules *ret_rules);

/* Answer event.safeguard_triggered. allow: the step goes on, and the rule is
 * silent until it ends. Otherwise its changes fail with EPERM from now on, and
 * it is rolled back before this call returns; ic_step_close() or
 * ic_step_abort() ends that state. ERROR_UNKNOWN_SAFEGUARD if this question is
 * not, or no longer, pending; ERROR_IO_ERROR if the step could not be rolled
 * back (as in ic_rollback()). */
gboolean ic_safeguard_confirm(struct ic *ic, const char *safeguard_id,
                              bool allow, GError **error);

/* ---- writers ------------------------------------------------------------- */

/* Report in each change of a step from now on which executions made it
 * (ic_change.by). An execution is a set of processes of the client that the
 * caller has numbered. When a process makes its first change of a step,
 * event.writers asks for it, and again after some seconds; one question is open
 * at a time. ic_name_writers() answers. A step that closes waits for an answer
 * for at most 200 ms. A change by a process without an answer is by execution
 * 0. */
void ic_follow_writers(struct ic *ic);

struct ic_writer {
    uint32_t pid;      /* as in ic_set_writer() */
    int64_t execution; /* above 0; 0: unknown */
};

/* Answer event.writers, for all of its processes at once. */
void ic_name_writers(struct ic *ic, const struct ic_writer *list, size_t n);

/* ---- control protocol ---------------------------------------------------- */

/* Serve the control protocol (JSON Lines; doc/control-protocol.md) from a
 * thread of its own, until ic_close(). Several clients may be connected.
 *
 * ic_control_listen(): on a new Unix socket with mode 0600, which ic_close()
 * removes; an existing socket without a listener is replaced. Once per engine;
 * set ic_options.control_socket to the same path. ic_control_attach(): to the
 * client at the other end of a connected stream socket, whose ownership is
 * taken in any case; any number of times. ERROR_IO_ERROR, ERROR_BUSY (another
 * process listens there). */
gboolean ic_control_listen(struct ic *ic, const char *path, GError **error);
gboolean ic_control_attach(struct ic *ic, int fd, GError **error);

/* As ic_control_listen(), on a listening socket (ownership taken). */
void ic_control_accept(struct ic *ic, int fd);

G_END_DECLS

#endif
