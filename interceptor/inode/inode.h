/* SPDX-License-Identifier: Apache-2.0
 *
 * inode - the inodes that the file server knows.
 *
 * An ic_inode exists once for each inode of the share that the server knows.
 * parent and name are where it was last seen: a hint that is checked before it
 * is believed, since others may rename.
 *
 * References and holds. While there is a reference, the O_PATH fd is open: it
 * pins the inode, so that (dev, ino) is its identity and it can be reached
 * whatever happens to its names. A server that knows a million inodes holds
 * them instead, and takes a reference for each request (inode_use()). An inode
 * that is only held keeps its fd, too, until there are more than the table may
 * have: then those that were not used for longest are closed (inode_fds.c).
 *
 * A closed inode is opened again by parent and name, or by its file handle
 * (name_to_handle_at(2)), and is believed to be the same if its print is: a
 * hash of the handle, which has the inode's generation in it, or else of its
 * time of birth. If it is not found so, it is lost: -ESTALE. What the door
 * itself moves or removes is never lost: it says so (inode_set_place(),
 * inode_note_removed()), and what could not be opened again, as it has no
 * name (any more), is not closed. What others moved meanwhile may be lost.
 *
 * What is listed with its attributes is known without ever having been open
 * (inode_table_meet()): it is closed from the start, and its print is of its
 * time of birth. A number that was given again within a tick of the clock would
 * have the same, so what is as young as that is opened.
 *
 * Epochs. data_epoch and meta_epoch hold the engine's epoch (a number for
 * each step, never 0) in which the inode's content or metadata was already
 * captured as a whole: then a change needs one atomic compare and no lock.
 * Where a part of the content was captured, content_epoch is the engine's and
 * content says which part (content.h). content is set before content_epoch,
 * and what it points to lives until the step is closed, for which the engine's
 * gate has to be write-locked.
 *
 * counts has the references (bits 0-30), CLOSED, and the holds (from bit 32).
 * Using an inode whose fd is open is one compare-and-swap and no lock. CLOSED
 * is only set where there is no reference, and is taken away under inode->lock;
 * the fd may be closed while it is set, with that lock. So whoever has a
 * reference reads fd without it.
 *
 * Locks: the table is in shards, whose locks guard the hash, the ring of those
 * that may be closed, and the step from one reference or hold to none.
 * inode->lock guards parent and name, fd while CLOSED, print, handle and
 * looked_up*, and is held to change is_print_of_birth. Order:
 * the engine's locks, then a shard's; the engine's, then one inode->lock.
 * Neither of the last two is taken within the other.
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
    mode_t type;                    /* S_IFMT */
    bool other_mount;               /* see inode_table_set_mount() */
    _Atomic bool is_print_of_birth; /* it is closed and never was open */
    int fd;                         /* O_PATH, owned; -1: closed */
    int64_t opened;                 /* fd: not after this, by inode_clock() */
    _Atomic uint64_t counts;
    _Atomic uint64_t tag; /* the server's */

    _Atomic uint64_t data_epoch;
    _Atomic uint64_t content_epoch; /* in which content is valid */
    struct content *content;        /* the open step's; borrowed */
    _Atomic uint64_t meta_epoch;
    _Atomic uint64_t guard_epoch; /* in which no safeguard asks about it */
    _Atomic unsigned log_links;   /* links that the undo log holds */
    _Atomic bool has_much;        /* it had INODE_MUCH_DATA once */
    _Atomic bool suspect;         /* inode_note_suspect() */

    /* The shard's lock. */
    bool in_table;
    unsigned ring_index; /* INODE_NOT_IN_RING */

    _Atomic bool used; /* since the ring's hand came by */
    pthread_mutex_t lock;
    struct ic_inode *parent; /* a hold, or NULL: the root or unnamed */
    char *name;              /* NULL with parent */

    /* Of both, to see without the lock that they are known; 0: nowhere. */
    _Atomic uint64_t place_print;

    /* Of a closed one; handle may be NULL. And is_print_of_birth. */
    uint64_t print;
    struct file_handle *handle;
    bool looked_up;        /* is_print_of_birth: see INODE_LOOKED_UP */
    unsigned looked_up_at; /* inode_table_n_moved() before that */
};

#define INODE_NOT_IN_RING UINT_MAX

/* Bytes that take some milliseconds to be freed (ext4: 3). With
 * inode_table_free_later(), such a file is open when the door removes it, so
 * that it is freed by its last fd, and that is closed by a thread (closer.h).
 */
#define INODE_MUCH_DATA ((off_t)64 << 20)

/* A rollback may have removed it from the share: whoever changes it is to look
 * first. */
void inode_note_suspect(struct ic_inode *inode);

/* A client has looked it up: if it is there it is no suspect any more. With a
 * reference or a hold. */
void inode_note_found(struct ic_inode *inode);

/* Has it no name in the share, as far as that can be told without opening it?
 * Links that the log holds are none. With a reference or a hold. */
bool inode_is_gone(struct ic_inode *inode);

/* 0, or -ESTALE: a rollback has removed it. */
static inline int inode_check(struct ic_inode *inode)
{
    return atomic_load_explicit(&inode->suspect, memory_order_relaxed) &&
                   inode_is_gone(inode)
               ? -ESTALE
               : 0;
}

/* It has, or had, so much data: a hint. */
void inode_note_size(struct ic_inode *inode, off_t size);

/* What stat(2) has just said of it: note what it tells of the inode, and leave
 * the undo log's links out. */
void inode_take_stat(struct ic_inode *inode, struct stat *inout_stat);

struct inode_table_limits {
    unsigned max_open;            /* fds that are kept open with no reference */
    enum ic_file_handles handles; /* are inodes opened by them? */
    dev_t dev;                    /* of the share: they are for that alone */
    int mount_fd;     /* of a folder in it, not O_PATH; taken; -1: none */
    bool has_handles; /* to know inodes by */
    bool has_births;  /* the same */
    bool has_lazy;    /* births never change and are nobody's to set */

    /* Is an fd of this number not for what can never be closed? May be NULL. */
    bool (*is_reserved_fd)(int fd);
};

/* link_count (may be NULL) says how many links the log holds of an inode that
 * is met anew. */
struct inode_table *inode_table_new(unsigned (*log_links)(dev_t dev, ino_t ino,
                                                          void *opaque),
                                    void *opaque);

/* Once, before the server comes: without it nothing is closed. */
void inode_table_set_limits(struct inode_table *table,
                            const struct inode_table_limits *limits);

/* Once, before the first inode: what is not on the mount of this folder is
 * marked, and is apart from the same inode on it. A bind mount may be of the
 * same filesystem, even of the share itself, but nothing can be moved to
 * another mount, nor linked (rename(2), EXDEV). */
void inode_table_set_mount(struct inode_table *table, int dirfd);

/* Frees the table; all inodes must have been given back. */
void inode_table_free(struct inode_table *table);

/* stat(2) of an O_PATH fd, and for inode_table_take() the id of its mount, if
 * the table needs it, or 0. 0 or -errno. */
int inode_table_stat(const struct inode_table *table, int fd,
                     struct stat *ret_stat, uint64_t *ret_mount);

/* The inode of an O_PATH fd (taken) whose stat is st: the one in the table, or
 * a new one. A new reference. mount: its mount's id; 0: not asked yet. parent
 * (borrowed) and name: where it was found; NULL: nowhere. */
struct ic_inode *inode_table_take(struct inode_table *table, int fd,
                                  const struct stat *st, uint64_t mount,
                                  struct ic_inode *parent, const char *name);

/* What a stat(2) of the name in dir tells, and its inode, if that is certain
 * without an open(2): it was met there, and has been open, so that its number
 * was no other's, since before the call. A new reference; NULL: not certain, or
 * not there, and *ret_stat is not valid. */
struct ic_inode *inode_table_look(struct inode_table *table,
                                  struct ic_inode *dir, const char *name,
                                  struct stat *ret_stat);

/* Who meets an inode, and what for. */
enum inode_meeting {
    INODE_LISTED, /* many are, few are used */

    /* A client looked the name up, as it does each time that it uses one. So
     * what was looked up once has one user; if that removes it, it is
     * nobody's. What is looked up again is to be opened, and so is what is no
     * file and no symlink. */
    INODE_LOOKED_UP,
};

/* The same without a place that is known, and without the inode's having been
 * open: what is met anew is closed. 0 and a new hold; -ENOENT; -EAGAIN: it is
 * to be opened. */
int inode_table_meet(struct inode_table *table, struct ic_inode *dir,
                     const char *name, enum inode_meeting meeting,
                     struct ic_inode **ret_inode, struct stat *ret_stat);

/* What stat(2) tells of one that is held, if that needs no open(2): 0, or
 * -EAGAIN. */
int inode_stat_held(struct ic_inode *inode, struct stat *ret_stat);

/* The inode if it is known on the share's mount, else NULL. A new hold: it may
 * be closed. */
struct ic_inode *inode_table_find(struct inode_table *table, dev_t dev,
                                  ino_t ino);

/* The one that was last seen in dir under that name, if that is known: a hint.
 * A new hold, or NULL. */
struct ic_inode *inode_table_find_at(struct inode_table *table,
                                     const struct ic_inode *dir,
                                     const char *name);

/* From a hold, one that is the caller's, too: a reference. 0 or -errno: -ESTALE
 * (it is lost), -EMFILE ... Opens it and what is above it, if need be. */
int inode_use(struct ic_inode *inode);

/* The same if it is open, and false if not. */
bool inode_try_use(struct ic_inode *inode);

/* The same, and it counts for no use: what is only looked at is to be closed
 * before what is used. */
bool inode_ref_open(struct ic_inode *inode);

/* An inode one of whose names the door is about to remove. */
struct inode_victim {
    struct ic_inode *inode; /* NULL: not known, or lost, for want of an fd */
    bool is_open;           /* a reference; else a hold: INODE_LOOKED_UP */
};

/* The one that the name in dir leads to: open, but where it has no user but the
 * one who removes it. As long as none are closed nobody is asked where the name
 * leads: what was last seen there is what is to be seen there no more. Between
 * inode_table_begin_move() and _end_move(). */
struct inode_victim inode_table_hold_name(struct inode_table *table,
                                          const struct ic_inode *dir,
                                          const char *name);

/* It was removed from there, and is nowhere until it is met again: if it is
 * open it stays so. The victim is cleared. */
void inode_note_removed(struct inode_victim *victim, const struct ic_inode *dir,
                        const char *name);
void inode_victim_clear(struct inode_victim *victim);

/* Are there inodes that are closed, or about to be? If not, the door need not
 * care. */
bool inode_table_is_crowded(const struct inode_table *table);

/* Names are being moved or removed, by the door or a rollback: what is met
 * meanwhile is opened. */
void inode_table_begin_move(struct inode_table *table);
void inode_table_end_move(struct inode_table *table);

/* How often that was, and: is it not now, and was it not since then? */
unsigned inode_table_n_moved(struct inode_table *table);
bool inode_table_is_quiet(struct inode_table *table, unsigned n_moved);

/* The same by one who moves names: does nobody else, and did nobody? */
bool inode_table_is_moving_alone(struct inode_table *table, unsigned n_moved);

/* Once, before the first inode: what large removed files had need not be free
 * before others are served. Not with an undo log, all of which depends on how
 * much is free. */
void inode_table_free_later(struct inode_table *table);

/* What is still to be freed so, bytes; and wait until it is. False: there was
 * nothing. */
int64_t inode_table_freeing(struct inode_table *table);
bool inode_table_wait_freed(struct inode_table *table);

/* Close so many fds that nobody uses. Returns how many were. */
unsigned inode_table_release(struct inode_table *table, unsigned n);

/* Was the inode last seen there? */
bool inode_is_at(const struct ic_inode *inode, const struct ic_inode *parent,
                 const char *name);

/* Note that the inode is now to be found there: the door's word. */
void inode_set_place(struct ic_inode *inode, struct ic_inode *parent,
                     const char *name);

/* It is there no more: if it was last seen there, it is nowhere now. */
void inode_clear_place(struct ic_inode *inode, const struct ic_inode *dir,
                       const char *name);

/* The same as inode_set_place(), by a lookup, which nobody waits for. */
void inode_see_place(struct ic_inode *inode, struct ic_inode *parent,
                     const char *name);

/* After that of an open inode (a reference), dir being open, by a lookup that
 * began when so many names had been moved. If more have been, whoever moved
 * this one may have told it before the lookup did: unless it is found there now
 * it is nowhere, and stays open, until it is found again. */
void inode_check_place(struct ic_inode *inode, const struct ic_inode *dir,
                       const char *name, unsigned n_moved);

/* inode_see_place() of one that may be closed, and must not lose its place:
 * false, and it keeps that, if names have been moved since. */
bool inode_see_place_quietly(struct ic_inode *inode, struct ic_inode *parent,
                             const char *name, unsigned n_moved);

/* Where it was last seen. 1: a new reference and a new string; 0: nowhere, or
 * that is lost; -errno. */
int inode_get_place(struct ic_inode *inode, struct ic_inode **ret_parent,
                    char **ret_name);

/* ---- inode.c, inode_fds.c and inode_place.c ------------------------------ */

/* A time in ns, of CLOCK_MONOTONIC: what reads less was before. */
int64_t inode_clock(void);

/* Is the fd, whose mount's id is that or, if it is not known, 0, behind another
 * mount than the share's? */
bool inode_table_is_other_mount(const struct inode_table *table, int fd,
                                uint64_t mount);

/* The same as inode_table_find() on that mount, if it is open: a reference. */
struct ic_inode *inode_table_find_open(struct inode_table *table,
                                       const struct stat *st, bool other_mount);

/* It is forgotten, or somewhere else: to look for it where it was last seen is
 * not worth while. With inode->lock held, or by whoever frees it. */
void inode_leave_place(struct ic_inode *inode);

/* Places where inodes were met, to see what is worth a look. They displace one
 * another. */
#define INODE_PLACES (1u << 18)

_Atomic uint64_t *inode_places_new(void);
void inode_places_free(_Atomic uint64_t *places);
_Atomic uint64_t *inode_table_places(struct inode_table *table);

/* Let its fd be closed when it is not used. Not while it is removed. */
void inode_ring_add(struct ic_inode *inode);

/* Where it is from the start, before others know it. noted: for
 * inode_table_find_at(), too. */
void inode_init_place(struct ic_inode *inode, struct ic_inode *parent,
                      const char *name, bool noted);

/* It is open now, or to be freed. With inode->lock, or alone. */
void inode_end_lazy(struct ic_inode *inode);

/* What is_print_of_birth is about. */
uint64_t inode_print_of_birth(int64_t seconds, uint32_t nanoseconds);

/* The inode is held and closed, and the fd (taken if it is used) may be of it:
 * make it that, with a reference. birth: of the fd, as a print; 0: not asked
 * yet. -ESTALE if it is of another. */
int inode_adopt(struct ic_inode *inode, int *inout_fd, uint64_t birth);

/* End the closing of one that was marked CLOSED with a hold, which is taken.
 * False: it could not be opened again and stays open. */
bool inode_close(struct ic_inode *inode);

const struct inode_table_limits *
inode_table_limits(const struct inode_table *table);

#endif
