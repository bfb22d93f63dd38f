/* SPDX-License-Identifier: Apache-2.0
 *
 * ic_steps - a part of interceptor.h: steps, undo, safeguards, and the protocol
 * that steers them.
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
    bool unchanged;    /* nothing but times differs from before the step: what
                        * it wrote anew has the same content as before */
    bool unprotected;  /* more than was kept; affected tells of a part */
    int64_t below;     /* this newer step is unprotected, so that this one is
                        * not undoable; 0: none; from ic_history() */
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
 * (ambient_ms), or by this; the next such change opens it again, if no other
 * step and no edit from outside came in between and it is not large. command
 * may be NULL; it is kept for ic_history() and means nothing here.
 * ERROR_INVALID_FIELD if id is not above ic_last_step_id() or the type is
 * IC_STEP_AMBIENT, which nobody opens by name; ERROR_STEP_ACTIVE if a step is
 * open, ERROR_NOTHING_TO_UNDO if there is no undo log (as in all calls about
 * steps), ERROR_IO_ERROR. */
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
    GPtrArray *not_restored; /* char *, paths in any bytes, that a forced undo or
                                redo left as they were: their content is gone */
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

struct ic_restore {
    int64_t step_id;          /* paths become what they were before this step */
    const char *const *paths; /* relative to the share, any bytes; "." is all */
    size_t n;                 /* of the paths: 1 or more */
    bool force;               /* over edits from outside */
    bool dry;                 /* tell what would change, and change nothing */
    int64_t new_id;           /* of the new step; 0: the next one */
};

/* Restore these paths alone, with all that is below them, as an API step of its
 * own, which can be undone and redone; no other step leaves the history. A file
 * that is still the same inode is changed in place, and so under its other
 * names, too (a warning tells). Another is made anew, as a copy; paths that
 * were links of one inode are links again. Folders above that are missing are
 * made as they were. Exact as a rollback, but for inode numbers. Safeguards do
 * not ask.
 *
 * ->steps: the new step, or none if nothing differs; with dry the changes that
 * it would make, under the id 0. *ret_result is set in any case. If it fails,
 * nothing is changed: ERROR_INVALID_FIELD (no such step; no path),
 * ERROR_PATH_OUTSIDE_ROOT, ERROR_NOT_FOUND (there was nothing, nor is there
 * now), ERROR_STEP_ACTIVE, ERROR_STEP_UNPROTECTED or ERROR_PREIMAGE_* (of this
 * step or a newer one; or what a path was cannot be found out),
 * ERROR_UNDO_BARRIER (a path was edited from outside since, and no force),
 * ERROR_TOO_LARGE (the log's limits; more than 1,000 steps are newer),
 * ERROR_READ_ONLY_DIRECTORY, ERROR_BUSY (a client has just changed a path),
 * ERROR_IO_ERROR (no room). If what has been changed until then cannot be taken
 * back, as ic_step_abort(). */
gboolean ic_restore_paths(struct ic *ic, const struct ic_restore *request,
                          struct ic_rollback_result **ret_result,
                          GError **error);

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
    struct ic_version before, after; /* without data where only the mode or
                                      * the path is another */
};

/* What a step changed, as it was before it and after it, path by path: those of
 * its changes (ic_step_info) and, where a folder was renamed, of all files in
 * it. No path is there twice, but for a folder that came where a file was, or
 * the other way round. A part at a time. first: 0, and then what *ret_next was,
 * until that is 0. *ret_diffs: a new array of struct ic_file_diff *. *ret_cut:
 * how many of the step's changes the log does not list. What others have
 * changed since is taken for the step's,
 * where no newer step has kept what was there.
 *
 * ERROR_INVALID_FIELD: there is no such step; ERROR_TOO_LARGE: more than 1,000
 * steps are newer; ERROR_STEP_ACTIVE; ERROR_STEP_UNPROTECTED, ERROR_PREIMAGE_*:
 * this step, or a newer one, is not whole. */
gboolean ic_diff(struct ic *ic, int64_t id, unsigned first,
                 GPtrArray **ret_diffs, unsigned *ret_next, size_t *ret_cut,
                 GError **error);

/* Redo the newest rollbacks, newest first: the folder is again what it was
 * before them, and the steps are in the history again. Possible until the next
 * change of the folder by a client, also after a restart; not where there was
 * no room for what a redo needs, nor if the disk was nearly full after the
 * rollback, unless what others wrote went along (event.warning). force and
 * *ret_result as in ic_rollback_steps();
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

G_END_DECLS

#endif
