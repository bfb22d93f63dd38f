/* SPDX-License-Identifier: Apache-2.0
 *
 * inode - the inodes that the file server knows.
 *
 * Each inode of the share that the server knows has one ic_inode. parent and
 * name are its last known location: a hint to be verified before use, since
 * other processes may rename.
 *
 * References and holds. While there is a reference, the O_PATH fd is open: it
 * pins the inode, so that (dev, ino) identifies it and it stays reachable
 * whatever happens to its names. A server that knows a million inodes holds
 * them, and takes a reference for each request (inode_use()). A held inode
 * keeps its fd, too, until the table has more than its limit; then the least
 * recently used ones are closed (inode_fds.c).
 *
 * A closed inode is opened again by parent and name, or by its file handle
 * (name_to_handle_at(2)), and accepted if its fingerprint matches: a hash of
 * the handle, which contains the inode's generation, or else of its btime. If
 * it is not found, it is lost: -ESTALE. An inode that the mutation layer moves
 * or removes is never lost: the layer reports it (inode_set_place(),
 * inode_note_removed()), and an inode without a name, which could not be opened
 * again, is not closed. An inode that another process moved may be lost.
 *
 * An inode listed with its attributes is known without ever having been open
 * (inode_table_meet()): it is closed from the start, and its fingerprint is of
 * its btime. A number that is reused within a clock tick would have the same
 * btime, so an inode as young as that is opened.
 *
 * Epochs. data_epoch and meta_epoch hold the engine's epoch (a number for each
 * step, never 0) in which the inode's content or metadata was captured
 * completely; a later change then needs one atomic compare and no lock. If a
 * part of the content was captured, content_epoch is the engine's epoch and
 * content says which part (content.h). content is set before content_epoch, and
 * its target lives until the step is closed, which write-locks the engine's
 * gate.
 *
 * counts has the references (bits 0-30), CLOSED, and the holds (from bit 32).
 * Using an inode whose fd is open is one compare-and-swap and no lock. CLOSED
 * is only set while there is no reference, and cleared under inode->lock; the
 * fd may be closed while CLOSED is set, under that lock. So a reference allows
 * reading fd without it.
 *
 * Locks: the table is split into shards, whose locks guard the hash, the ring
 * of the inodes that may be closed, and the drop of the last reference or hold.
 * inode->lock guards parent and name, fd while CLOSED, fingerprint, handle and
 * looked_up*, and is held to change has_btime_fingerprint. Order: the engine's
 * locks, then a shard's; the engine's, then one inode->lock. Neither of the
 * last two is taken within the other.
 */
#ifndef INTERCEPTOR_INODE_INODE_H
#define INTERCEPTOR_INODE_INODE_H

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "interceptor/interceptor.h"

#define INODE_REFERENCE  1ull
#define INODE_REFERENCES 0x7fffffffull
#define INODE_CLOSED     0x80000000ull
#define INODE_HOLD       (1ull << 32)

struct content;
struct file_handle;
struct inode_table;

struct ic_inode {
    struct inode_table *table;
    dev_t dev;
    ino_t ino;
    mode_t type;                        /* S_IFMT */
    bool other_mount;                   /* see inode_table_set_mount() */
    _Atomic bool has_btime_fingerprint; /* closed, and never was open */
    int fd;                             /* O_PATH, owned; -1: closed */
    int64_t opened;                     /* fd: at or before this time, by
                                         * inode_clock() */
    _Atomic uint64_t counts;
    _Atomic uint64_t tag; /* for the server */
    int64_t young_ms;     /* see inode_table_note_young(); or 0 */

    _Atomic uint64_t data_epoch;
    _Atomic uint64_t content_epoch; /* the epoch in which content is valid */
    struct content *content;        /* of the open step; borrowed */
    _Atomic uint64_t meta_epoch;
    _Atomic uint64_t guard_epoch; /* the epoch in which safeguards skip it */
    _Atomic unsigned log_links;   /* links in the undo log */
    _Atomic bool has_much;        /* it once had INODE_MUCH_DATA */
    _Atomic bool suspect;         /* see inode_note_suspect() */
    _Atomic unsigned stale_pages; /* see inode_begin_stale_pages() */
    _Atomic uint64_t pages_undo;  /* its last number */

    /* Under the shard's lock: */
    bool in_table;
    unsigned ring_index; /* INODE_NOT_IN_RING */

    _Atomic bool used; /* since the ring's hand last passed */
    pthread_mutex_t lock;
    struct ic_inode *parent; /* a hold, or NULL: the root or unnamed */
    char *name;              /* NULL if parent is NULL */

    /* Hash of both, to compare a location without the lock; 0: none. */
    _Atomic uint64_t place_hash;

    /* Of a closed inode; handle may be NULL. And has_btime_fingerprint. */
    uint64_t fingerprint;
    struct file_handle *handle;
    bool looked_up;        /* with has_btime_fingerprint: see INODE_LOOKED_UP */
    unsigned looked_up_at; /* inode_table_n_moved() before that lookup */
};

#define INODE_NOT_IN_RING UINT_MAX

/* Bytes that take some milliseconds to free (ext4: 3). With
 * inode_table_free_later(), a file this large is open when the mutation layer
 * removes it, so that closing the last fd frees it, and a thread does that
 * (closer.h). */
#define INODE_MUCH_DATA ((off_t)64 << 20)

/* A rollback may have removed the inode from the share: a change of it must
 * check first. */
void inode_note_suspect(struct ic_inode *inode);

/* A rollback, the undo with this number, changes the file, whose old pages the
 * client may have, and have changed. With the gate write-locked; until as many
 * calls of the second. */
void inode_begin_stale_pages(struct ic_inode *inode, uint64_t undo);
void inode_end_stale_pages(struct ic_inode *inode);

/* Return whether pages that the client wrote when there had been so many undos
 * are from before one. With the gate locked. */
#define INODE_NO_PAGES UINT64_MAX
bool inode_pages_are_stale(const struct ic_inode *inode, uint64_t undos);

/* A client has looked the inode up: if it has a name, it is no longer suspect.
 * With a reference or a hold. */
void inode_note_found(struct ic_inode *inode);

/* Return whether the inode has no name in the share, as far as is known without
 * opening it. The log's links do not count. With a reference or a hold. */
bool inode_is_gone(struct ic_inode *inode);

/* Return 0, or -ESTALE if a rollback has removed it. */
static inline int inode_check(struct ic_inode *inode)
{
    return atomic_load_explicit(&inode->suspect, memory_order_relaxed) &&
                   inode_is_gone(inode)
               ? -ESTALE
               : 0;
}

/* A hint: the inode has, or had, this much data. */
void inode_note_size(struct ic_inode *inode, off_t size);

/* Note what a fresh stat(2) says about the inode, and subtract the undo log's
 * links. */
void inode_take_stat(struct ic_inode *inode, struct stat *inout_stat);

struct inode_table_limits {
    unsigned max_open;            /* fds kept open without a reference */
    enum ic_file_handles handles; /* whether handles may reopen inodes */
    dev_t dev;                    /* of the share; handles are for it alone */
    int mount_fd;     /* of a folder in it, not O_PATH; owned; -1: none */
    bool has_handles; /* handles are usable as fingerprints */
    bool has_btimes;  /* btimes are usable as fingerprints */
    bool has_lazy;    /* btimes never change and cannot be set */

    /* Return whether an fd of this number is reserved for fds that can never be
     * closed. May be NULL. */
    bool (*is_reserved_fd)(int fd);
};

/* log_links (may be NULL) returns how many links the log has to a new inode. */
struct inode_table *inode_table_new(unsigned (*log_links)(dev_t dev, ino_t ino,
                                                          void *opaque),
                                    void *opaque);

/* Call once, before the server uses the table; without it no fd is closed. */
void inode_table_set_limits(struct inode_table *table,
                            const struct inode_table_limits *limits);

/* Call once, before the first inode. An inode that is not on this folder's
 * mount is marked, and kept apart from the same inode on it. A bind mount may
 * be of the same filesystem, even of the share itself, but rename(2) and
 * link(2) to another mount fail with EXDEV. */
void inode_table_set_mount(struct inode_table *table, int dirfd);

/* From now on, note in each new inode the time (clock_ms()) when it was met, if
 * it had changed within INODE_YOUNG_S before. The watcher may not have seen yet
 * that it is in the share. */
void inode_table_note_young(struct inode_table *table);
enum { INODE_YOUNG_S = 2 };

/* Free the table; all inodes must have been given back. */
void inode_table_free(struct inode_table *table);

/* stat(2) an O_PATH fd. *ret_mount: for inode_table_take(), the id of its mount
 * if the table needs it, or 0. Returns 0 or -errno. */
int inode_table_stat(const struct inode_table *table, int fd,
                     struct stat *ret_stat, uint64_t *ret_mount);

/* Return the inode of an O_PATH fd (ownership taken) whose stat is st: the one
 * in the table, or a new one. A new reference. mount: its mount's id; 0: not
 * queried yet. parent (borrowed) and name: where it was found; NULL: nowhere.
 */
struct ic_inode *inode_table_take(struct inode_table *table, int fd,
                                  const struct stat *st, uint64_t mount,
                                  struct ic_inode *parent, const char *name);

/* Stat a name in dir, and return its inode if that is certain without an
 * open(2): the inode was last seen there, and has been open, so that its number
 * was not reused, since before the call. A new reference; NULL: not certain, or
 * no such name, and *ret_stat is invalid. */
struct ic_inode *inode_table_look(struct inode_table *table,
                                  struct ic_inode *dir, const char *name,
                                  struct stat *ret_stat);

/* The reason why an inode is met. */
enum inode_meeting {
    INODE_LISTED, /* many are listed, few are used */

    /* A client looked the name up, as it does each time that it uses one. So an
     * inode that was looked up once has one user; if that user removes it, it
     * has none. A second lookup opens it, and so does the first of an inode
     * that is neither a file nor a symlink. */
    INODE_LOOKED_UP,
};

/* The same without a known location, and without the inode having been open: a
 * new inode starts closed. Returns 0 and a new hold; -ENOENT; -EAGAIN: it must
 * be opened. */
int inode_table_meet(struct inode_table *table, struct ic_inode *dir,
                     const char *name, enum inode_meeting meeting,
                     struct ic_inode **ret_inode, struct stat *ret_stat);

/* Stat a held inode if that needs no open(2). Returns 0 or -EAGAIN. */
int inode_stat_held(struct ic_inode *inode, struct stat *ret_stat);

/* Return the inode if it is known on the share's mount, else NULL. A new hold:
 * it may be closed. */
struct ic_inode *inode_table_find(struct inode_table *table, dev_t dev,
                                  ino_t ino);

/* Return the inode last seen in dir under that name, if known: a hint. A new
 * hold, or NULL. */
struct ic_inode *inode_table_find_at(struct inode_table *table,
                                     const struct ic_inode *dir,
                                     const char *name);

/* Turn a hold, which stays the caller's, into a reference beside it. Returns 0
 * or -errno: -ESTALE (it is lost), -EMFILE ... Opens the inode and its parents
 * if needed. */
int inode_use(struct ic_inode *inode);

/* The same if the inode is open; false if not. */
bool inode_try_use(struct ic_inode *inode);

/* The same, without counting as a use: an inode that is only examined is closed
 * before used ones. */
bool inode_ref_open(struct ic_inode *inode);

/* The client has removed this folder: set its tag to 0. */
void inode_end_tag(struct inode_table *table, dev_t dev, ino_t ino);

/* An inode of which the mutation layer is about to remove a name. */
struct inode_victim {
    struct ic_inode *inode; /* NULL: unknown, or lost because no fd was free */
    bool is_open;           /* a reference; else a hold: INODE_LOOKED_UP */
};

/* Return the inode that the name in dir leads to: open, unless its one user is
 * about to remove it. As long as no inode is closed, no system call checks
 * where the name leads: the location of the inode last seen there is cleared.
 * Call between inode_table_begin_move() and _end_move(). */
struct inode_victim inode_table_hold_name(struct inode_table *table,
                                          const struct ic_inode *dir,
                                          const char *name);

/* The inode was removed from there: it has no location until it is met again,
 * and stays open if it is open. Clears the victim. */
void inode_note_removed(struct inode_victim *victim, const struct ic_inode *dir,
                        const char *name);
void inode_victim_clear(struct inode_victim *victim);

/* Return whether inodes are closed or soon may be. If not, the mutation layer
 * can skip the bookkeeping. */
bool inode_table_is_crowded(const struct inode_table *table);

/* Mark the time in which the mutation layer or a rollback moves or removes
 * names: an inode met meanwhile is opened. */
void inode_table_begin_move(struct inode_table *table);
void inode_table_end_move(struct inode_table *table);

/* Return how many moves have ended; return whether none is running and none has
 * ended since that count. */
unsigned inode_table_n_moved(struct inode_table *table);
bool inode_table_is_quiet(struct inode_table *table, unsigned n_moved);

/* The same for a caller that moves names: whether no other move runs or ran. */
bool inode_table_is_moving_alone(struct inode_table *table, unsigned n_moved);

/* Call once, before the first inode: a request may return before the space of
 * large removed files is free. Not with an undo log, which depends on the free
 * space. */
void inode_table_free_later(struct inode_table *table);

/* Return the bytes still to be freed so; wait until they are. False: there were
 * none. */
int64_t inode_table_freeing(struct inode_table *table);
bool inode_table_wait_freed(struct inode_table *table);

/* Close this many unused fds. Returns how many were closed. */
unsigned inode_table_release(struct inode_table *table, unsigned n);

/* Return whether the inode was last seen there. */
bool inode_is_at(const struct ic_inode *inode, const struct ic_inode *parent,
                 const char *name);

/* Set the inode's location; called by the mutation layer, which knows it. */
void inode_set_place(struct ic_inode *inode, struct ic_inode *parent,
                     const char *name);

/* Clear the inode's location if it is this one. */
void inode_clear_place(struct ic_inode *inode, const struct ic_inode *dir,
                       const char *name);

/* As inode_set_place(), by a lookup, during which names may move. */
void inode_see_place(struct ic_inode *inode, struct ic_inode *parent,
                     const char *name);

/* Call after that for an open inode (a reference), with dir open, in a lookup
 * that began when this many moves had ended. If there were more since, the
 * move's own report may have come before the lookup's: unless the inode is
 * there now, its location is cleared until it is found again, and it stays
 * open. */
void inode_check_place(struct ic_inode *inode, const struct ic_inode *dir,
                       const char *name, unsigned n_moved);

/* inode_see_place() for an inode that may be closed, and must not lose its
 * location: false, and the location is kept, if names have moved since. */
bool inode_see_place_quietly(struct ic_inode *inode, struct ic_inode *parent,
                             const char *name, unsigned n_moved);

/* Return the last known location. 1: a new reference and a new string; 0: none,
 * or the parent is lost; -errno. */
int inode_get_place(struct ic_inode *inode, struct ic_inode **ret_parent,
                    char **ret_name);

/* ---- inode.c, inode_fds.c and inode_place.c ------------------------------ */

/* Return CLOCK_MONOTONIC in ns: a smaller value is an earlier time. */
int64_t inode_clock(void);

/* Return whether the fd is behind another mount than the share's. mount: its
 * mount's id, or 0 if unknown. */
bool inode_table_is_other_mount(const struct inode_table *table, int fd,
                                uint64_t mount);

/* As inode_table_find() on that mount, if the inode is open: a reference. */
struct ic_inode *inode_table_find_open(struct inode_table *table,
                                       const struct stat *st, bool other_mount);

/* Forget the hashed location of an inode that is freed or moved. With
 * inode->lock held, or by the thread that frees it. */
void inode_leave_place(struct ic_inode *inode);

/* Slots for the locations of known inodes, which tell whether a stat is
 * worthwhile. Locations may displace one another. */
#define INODE_PLACES (1u << 18)

_Atomic uint64_t *inode_places_new(void);
void inode_places_free(_Atomic uint64_t *places);
_Atomic uint64_t *inode_table_places(struct inode_table *table);

/* Allow the fd to be closed when it is unused. Not while the inode is removed.
 */
void inode_ring_add(struct ic_inode *inode);

/* Set the first location, before other threads know the inode. noted: for
 * inode_table_find_at(), too. */
void inode_init_place(struct ic_inode *inode, struct ic_inode *parent,
                      const char *name, bool noted);

/* The inode is open now, or about to be freed. With inode->lock, or without
 * other users. */
void inode_end_lazy(struct ic_inode *inode);

/* Return the fingerprint of a btime, as has_btime_fingerprint means it. */
uint64_t inode_btime_fingerprint(int64_t seconds, uint32_t nanoseconds);

/* Give a held, closed inode this fd (taken if it is used), with a reference.
 * btime: the fd's btime as a fingerprint; 0: not queried yet. -ESTALE if the fd
 * is of another inode. */
int inode_adopt(struct ic_inode *inode, int *inout_fd, uint64_t btime);

/* Finish closing an inode that was marked CLOSED with a hold, which is taken.
 * False: it could not be opened again, so it stays open. */
bool inode_close(struct ic_inode *inode);

const struct inode_table_limits *
inode_table_limits(const struct inode_table *table);

#endif
