/* SPDX-License-Identifier: Apache-2.0
 *
 * undo_log - a folder's undo log on disk.
 *
 *     version              "1\n"
 *     lock                 flock'd by the owner: {"pid":N,"socket":"PATH",
 *                          "beat_ms":N}; its mtime: when that was last alive
 *     reserve              room for a rollback on a full disk
 *     spare/               a staging folder for when none can be made
 *     wal/in_progress/     the open step, or one that is being rolled back
 *     wal/inverse/         the inverse of wal/in_progress, being made or used
 *     wal/trash/<n>/       what is being removed
 *     steps/<id>/          committed steps
 *     redo/<seq>/          inverses of steps that were taken back
 *     history.jsonl        notes about steps, see below
 *     own.jsonl            what undo itself has changed (own.h)
 *     discarded/           what was all of this, until undo_log_discard()
 *     damaged/<n>/         steps that could not be undone, and were passed by
 *
 * A step's folder holds manifest.jsonl (step.h) and blobs/. It is made in
 * wal/, is renamed to steps/ when it is committed, back to wal/in_progress to
 * be rolled back, and to wal/trash/ when it is done with. So each of these is
 * one rename, and whatever is found in wal/in_progress at the start is to be
 * undone.
 *
 * Inverses. Taking back a step makes its inverse, a step of the same form that
 * leads the other way; taking that back is redoing, and makes the step again.
 * The inverse is complete (it has its end record) before anything is changed,
 * what is put aside moves into it, and when all is done it becomes redo/<seq>,
 * or, of a redo, steps/<id>. The next change by a client drops all in redo/.
 *
 * The order of steps is that of "seq" in their manifests. history.jsonl has
 * what is not in them:
 *     {"t":"done","id":7,"seq":3}          committed
 *     {"t":"popped","id":7,"seq":3}        rolled back
 *     {"t":"alias","from":12,"to":99,"seq":3,"at":5,"born":T,"made":U}
 *         rolling back step 3 had to make inode 12 anew, as 99; 5 was then the
 *         newest seq; the births of both, where they are known
 *
 *     {"t":"barrier",...} and {"t":"crossed",...}: see barriers.h
 *
 * Aliases. A number is an inode's only while the inode lives: 12 may be
 * another inode's later, and 99 may have been one's before. So what a step s
 * calls 12 is followed through time: the first step after s in which a 12 was
 * lost is where this one was; rolled back, it is 99 from then ("at") on; and
 * so on. An alias is noted also if both numbers are equal. If on this way a
 * number was given to something else, or if the 12 that was lost was born after
 * s had met its own, the inode was dead by then: others have removed it
 * (undo_log_alias.c).
 *
 * Threads: all calls under the engine's locks.
 */
#ifndef INTERCEPTOR_LOG_UNDO_LOG_H
#define INTERCEPTOR_LOG_UNDO_LOG_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

struct ic_barrier;
struct overlap;
struct own;
struct own_state;

enum { UNDO_LOG_FORMAT = 1 };

struct undo_log;

struct undo_log_entry {
    int64_t id, seq;
    int64_t copied;   /* bytes of content and records that the log wrote */
    int64_t moved;    /* bytes that the removed inodes which it holds occupy */
    bool unprotected; /* it cannot be taken back: a wall */
    bool unchanged;   /* nothing but times differs from before it */
    bool damaged;     /* its record cannot be read */
};

/* Open or make the log at path and lock it. socket (may be NULL) is written
 * into the lock file; but with look not while a step lies in wal/in_progress.
 * How long that one's owner lived stays to be read there in any case. NULL and
 * error as ic_open_share(). A log of another version is locked, and that is
 * all: it can be discarded and closed. */
struct undo_log *undo_log_open(const char *path, const char *socket, bool look,
                               GError **error);

/* Nothing is in wal/in_progress any more that another owner has left. beat_ms:
 * how often undo_log_beat() will be called while a step is open; 0: never. */
void undo_log_take_over(struct undo_log *log, const char *socket,
                        unsigned beat_ms);

/* A step is open or is being taken back, and its owner alive: when it begins,
 * and as often as was noted. Any thread. */
void undo_log_beat(struct undo_log *log);

/* When the owner of what is in wal/in_progress since the log was opened was
 * gone for certain: microseconds since the epoch, by the kernel's clock for
 * files. INT64_MAX: not known, or it is not gone. */
int64_t undo_log_owner_gone(const struct undo_log *log);

/* From when on what was changed may be another process's work: some time before
 * the owner was last known to live. The same clock; INT64_MAX: as above. */
int64_t undo_log_owner_doubt(const struct undo_log *log);

/* Once, after opening: its steps have the numbers of a user namespace with
 * these maps (a text; NULL: of none). ERROR_INVALID_DIRECTORY: they have
 * others. An empty log gets these. */
bool undo_log_check_ids(struct undo_log *log, const char *path, const char *ids,
                        GError **error);

/* The version of a log that is not of ours, as it says; NULL: it is of ours.
 * Borrowed. */
const char *undo_log_other_version(const struct undo_log *log);

/* Forget everything, of whatever version; ids stay used. The steps of a log of
 * ours are forgotten one by one. Of another's, all that a log consists of is
 * moved away, each part by one rename, and the version is written last: killed
 * before, it is of another version still. Other files in the folder are not
 * touched; -EEXIST if there are some, for then it may be no log at all. 0 or
 * -errno. */
int undo_log_discard(struct undo_log *log);

/* Forget everything, also what is in wal/in_progress, half-way: what is kept of
 * that, and of its inverse, may be the only copy, and is put aside. 0 or
 * -errno; then it can be done again. */
int undo_log_give_up(struct undo_log *log, int64_t id, int64_t seq);

/* Write the history anew, without what no step needs any more, if it has become
 * long. Not while a rollback is unfinished, which needs its aliases. */
void undo_log_maybe_compact(struct undo_log *log);

/* These are used up. */
void undo_log_use(struct undo_log *log, int64_t id, int64_t seq);
void undo_log_close(struct undo_log *log);

/* A committed step's id and seq: newest last. Borrowed; valid until the next
 * change. */
const struct undo_log_entry *undo_log_entries(struct undo_log *log,
                                              size_t *ret_count);
bool undo_log_has(struct undo_log *log, int64_t id);
int64_t undo_log_last_id(struct undo_log *log);  /* greatest ever used, >= 0 */
int64_t undo_log_least_id(struct undo_log *log); /* least ever used, <= 0 */
int64_t undo_log_next_seq(struct undo_log *log);
int64_t undo_log_last_seq(struct undo_log *log); /* of the newest step */

/* What undo itself has changed since. Borrowed. */
struct own *undo_log_own(struct undo_log *log);

/* Is there something in wal/in_progress? Its folder, opened: the caller's. */
int undo_log_open_wal(struct undo_log *log);

/* Make wal/in_progress with an empty blobs/. Its fd is the caller's. 0 or
 * -errno; -EEXIST if there is one. */
int undo_log_create_wal(struct undo_log *log, int *ret_dirfd);

/* wal/in_progress was made, and nothing is kept in it: remove it, without any
 * block of a disk that may be full. What fails is tried again by the next
 * undo_log_create_wal(). */
void undo_log_remove_begun(struct undo_log *log);

/* wal/in_progress becomes steps/<entry->id>; entry->copied is measured. */
int undo_log_commit(struct undo_log *log, const struct undo_log_entry *entry);

/* Measure anew what a committed step occupies, which becomes less when it is
 * compressed. index: in undo_log_entries(). */
void undo_log_measure(struct undo_log *log, size_t index);

/* Forget the oldest committed step: one rename, and then it is removed. The
 * step as it was (may be NULL). 0 or -errno; -ENOENT if there is none. */
int undo_log_evict(struct undo_log *log, struct undo_log_entry *ret_entry);

/* Bytes that are free for us on the log's filesystem, what is being removed
 * counted in, and the filesystem's size. 0 or -errno. */
int undo_log_free_bytes(struct undo_log *log, int64_t *ret_free,
                        int64_t *ret_total);

/* Does this -errno of reading a record say that it is damaged? Else another try
 * may do better. */
bool undo_log_is_damage(int rc);

/* steps/<id>, opened: the caller's fd, or -errno. */
int undo_log_open_step(struct undo_log *log, int64_t id);

/* steps/<id> becomes wal/in_progress, to be rolled back. */
int undo_log_reopen(struct undo_log *log, int64_t id);

/* The name of a step's folder, or of one below damaged/. */
struct undo_log_name {
    char text[24];
};

/* wal/in_progress cannot be undone, and is passed by: put it aside, as
 * damaged/<ret_name>, where it stays until all is discarded. */
int undo_log_set_aside(struct undo_log *log, int64_t id, int64_t seq,
                       struct undo_log_name *ret_name);

/* The same of a step that the history has already. */
int undo_log_move_aside(struct undo_log *log, struct undo_log_name *ret_name);

/* All of wal/in_progress is restored, and its inverse, which cannot be redone,
 * may have the only copy of something: that goes into the step's folder, which
 * records this at the same time. 0 or -errno. */
int undo_log_set_undone(struct undo_log *log);

/* dir: of wal/in_progress. 1 if all of it is restored and it only needs to be
 * put aside, 0, or -errno. */
int undo_log_is_undone(int dir);

/* With its inverse, if there is one: what that keeps may be the only copy. */
int undo_log_set_aside_whole(struct undo_log *log, int64_t id, int64_t seq,
                             struct undo_log_name *ret_name);

/* wal/in_progress is done with: note that the step is no more (unless it is
 * an empty one that is merely dropped: popped false), and remove it. */
int undo_log_discard_wal(struct undo_log *log, int64_t id, int64_t seq,
                         bool popped);

/* What is done with is moved to wal/trash, and small things are removed there
 * at once. The rest, which may be a million files, is left to a thread.
 *
 * Called, by any thread, for each inode that is about to leave the log, as
 * i<ino> in blobs, or as a link of another name, then blobs is -1. If it says
 * -errno, that stays until another time. */
void undo_log_on_forget(struct undo_log *log,
                        int (*forget)(int blobs, uint64_t ino, void *opaque),
                        void *opaque);

/* A start: remove what an earlier process left in wal/trash. */
void undo_log_empty_trash(struct undo_log *log);

/* Wait until nothing is left to be removed. */
void undo_log_drain_trash(struct undo_log *log);

/* The blobs folder of each thing in wal/trash, opened for the callback, which
 * returns 0 or -errno. 0 or -errno: some were not visited. */
int undo_log_each_trash(struct undo_log *log,
                        int (*each)(int blobs, void *opaque), void *opaque);

/* Drop the blobs folder of wal/in_progress, which occupies about so many
 * bytes. 0 or -errno. */
int undo_log_drop_blobs(struct undo_log *log, int64_t bytes);
/* Inverses: their seqs, rising; borrowed, valid until the next change. */
const int64_t *undo_log_redos(struct undo_log *log, size_t *ret_count);

/* redo/<seq>, opened: the caller's fd, or -errno. */
int undo_log_open_redo(struct undo_log *log, int64_t seq);

/* wal/inverse goes to damaged/: it cannot be used, and has what is nowhere else.
 * 0 or -errno. */
int undo_log_set_inverse_aside(struct undo_log *log);

/* Make wal/inverse with an empty blobs/; open it; remove it (0 also if there
 * is none). fds are the caller's. 0, or an fd, or -errno. */
int undo_log_create_inverse(struct undo_log *log, int *ret_dirfd);
int undo_log_open_inverse(struct undo_log *log);
int undo_log_drop_inverse(struct undo_log *log);
bool undo_log_has_inverse(struct undo_log *log);

/* wal/inverse becomes redo/<seq>; steps/<id>. */
int undo_log_keep_inverse(struct undo_log *log, int64_t seq);
int undo_log_commit_inverse(struct undo_log *log,
                            const struct undo_log_entry *entry);

/* redo/<seq> becomes wal/in_progress; and back; wal/in_progress, which was
 * one, is done with; all of redo/ is. */
int undo_log_reopen_redo(struct undo_log *log, int64_t seq);
int undo_log_return_redo(struct undo_log *log, int64_t seq);
int undo_log_finish_redo(struct undo_log *log);
int undo_log_drop_redos(struct undo_log *log);

/* With sync, a step's move from one place to another is on disk when the call
 * returns. */
void undo_log_set_sync(struct undo_log *log, bool sync);

/* fsync(2) of wal/ and steps/; the first time syncfs(2) too, for what the log
 * consists of and the folders it is in. 0 or -errno. */
int undo_log_sync_folders(struct undo_log *log);

/* Some room kept for bad times: a step that fills the disk could not be taken
 * back if that needed a block. Give it up before a rollback, take it again
 * after it. */
bool undo_log_release_reserve(struct undo_log *log); /* was there any? */
void undo_log_take_reserve(struct undo_log *log);    /* and a spare folder */

/* Move the spare folder to dirfd/name: 0, -ENOENT if there is none, or
 * -errno. */
int undo_log_give_spare(struct undo_log *log, int dirfd, const char *name);

/* Taking back step seq, an inode had to be made anew. */
struct undo_log_remade {
    uint64_t from, to; /* its numbers, which may be equal */
    int64_t seq;
    int64_t born, made; /* birth.h: of the one, of the other */
};

int undo_log_add_alias(struct undo_log *log,
                       const struct undo_log_remade *remade);

/* A step_alias(). *ret_born: when undo made it, INT64_MAX if nobody knows; 0:
 * it is still the same inode. */
uint64_t undo_log_alias(const struct own_state *then, int64_t seq,
                        int64_t *ret_born, void *log);

/* Barriers, oldest first: struct ic_barrier, borrowed. Those that no step is
 * before may be among them. */
GPtrArray *undo_log_barriers(struct undo_log *log);

/* Give a barrier (taken) its place, at the end, and note it. 0 or -errno; it
 * counts in any case. */
int undo_log_add_barrier(struct undo_log *log, struct ic_barrier *barrier);

/* The step with this seq is being taken back in spite of the barriers above it:
 * those that overlap with it do not count any more. */
int undo_log_cross_barriers(struct undo_log *log, int64_t seq,
                            const struct overlap *overlap);

/* Device of the log's folder. */
dev_t undo_log_dev(struct undo_log *log);

#endif
