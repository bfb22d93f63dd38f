/* SPDX-License-Identifier: Apache-2.0
 *
 * fids - the objects that a client's fids refer to.
 *
 * A fid's object never changes its identity: when a fid is walked, opened or
 * turned into an attribute, a new object replaces the old one in the table, if
 * that is still there. So requests on one fid need no mutual locking; each
 * keeps a reference to the object that it found, and the last reference to a
 * clunked fid ends it.
 *
 * A fid has a hold on its inode (ic_inode_hold(): there may be more of them
 * than descriptors) and its place, the directory and name by which it was
 * reached, which Tremove and Trename need. A place may be out of date, so its
 * users must verify it.
 *
 * Threads: any thread may make any call, except p9_fids_free().
 */
#ifndef P9_SERVER_FIDS_H
#define P9_SERVER_FIDS_H

#include <glib.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "daemon/dir_stream.h"
#include "interceptor/interceptor.h"

/* Limits of one connection. */
#define P9_MAX_FIDS        (1u << 18)
#define P9_MAX_XATTR_BYTES (8u << 20) /* of its fids' values */
#define P9_MAX_XATTR       65536u     /* XATTR_SIZE_MAX, XATTR_LIST_MAX */

/* The limit of all connections together. */
#define P9_MAX_FIDS_ALL (1u << 19)

enum p9_fid_kind {
    P9_FID_PATH, /* not open */
    P9_FID_FILE,
    P9_FID_DIR,
    P9_FID_XATTR_READ,
    P9_FID_XATTR_WRITE,
};

struct p9_fids;

/* A name in a directory. Immutable; the fids of one walk share it. */
struct p9_place {
    atomic_uint refs;
    struct ic_inode *dir; /* a hold */
    char name[];
};

/* An owner of locks. */
struct p9_fid_owner {
    uint64_t id;
    bool whole; /* has locked the whole file */
};

struct p9_fid {
    struct p9_fids *fids;
    atomic_uint refs;
    enum p9_fid_kind kind;
    struct ic_inode *inode; /* a hold */
    struct ic_inode *root;  /* a hold: the root of its attach */
    uid_t uid;              /* the user of its attach */

    int fd; /* FILE, DIR: from ic_open(); else -1 */
    bool writable, append;
    uint32_t write_span; /* from ic_write_opened(), if writable */
    int rwf_flags;       /* of each write */

    pthread_mutex_t lock;   /* guards the following members */
    struct p9_place *place; /* NULL: a root */
    struct dir_stream *dir; /* DIR */
    char *xattr;            /* XATTR_WRITE: the attribute's name */
    uint8_t *value;         /* XATTR_*: of size bytes */
    size_t size, filled;    /* filled: from the start, without gaps */
    uint32_t xattr_flags;
    GArray *owners; /* p9_fid_owner that locked through it; or NULL */
    struct {        /* empty reads at one offset (op_file.c) */
        uint64_t offset;
        int64_t since_us;
        unsigned count;
    } vain;

    /* The largest file size that the client knows from this fid. */
    _Atomic uint64_t known_size;
};

/* Called at the end of a fid, before its inode is released. */
typedef void p9_fid_ended(struct p9_fid *fid, void *opaque);

struct p9_fids *p9_fids_new(atomic_uint *all, p9_fid_ended *ended,
                            void *opaque);

/* No fid may be referenced. NULL is allowed. */
void p9_fids_free(struct p9_fids *fids);

/* Create an object of kind PATH, in no table yet, for the inode (a reference,
 * taken) reached by place (taken; may be NULL). like provides root and uid;
 * without it root is the inode. Return one reference, or NULL if there are too
 * many fids; the arguments are released then. */
struct p9_fid *p9_fid_new(struct p9_fids *fids, struct ic_inode *inode,
                          struct p9_place *place, const struct p9_fid *like);

/* Return a new place. dir (a reference) and name are borrowed. */
struct p9_place *p9_place_new(struct ic_inode *dir, const char *name);
void p9_place_unref(struct p9_place *place); /* NULL is allowed */

/* p9_fid_place() returns a reference to the fid's place, or NULL; p9_fid_move()
 * sets it (taken). */
struct p9_place *p9_fid_place(struct p9_fid *fid);
void p9_fid_move(struct p9_fid *fid, struct p9_place *place);

/* Allocate size bytes of value, charged to the connection. Return 0 or
 * -ENOMEM. */
int p9_fid_reserve(struct p9_fid *fid, size_t size);

struct p9_fid *p9_fid_ref(struct p9_fid *fid);
void p9_fid_unref(struct p9_fid *fid); /* NULL is allowed */

/* p9_fids_get() returns a reference, or NULL if there is no such fid. */
struct p9_fid *p9_fids_get(struct p9_fids *fids, uint32_t id);
bool p9_fids_has(struct p9_fids *fids, uint32_t id);

/* Add an object (a reference, taken, also on failure) to the table. Return 0,
 * or -EBADF if the fid is in use. */
int p9_fids_add(struct p9_fids *fids, uint32_t id, struct p9_fid *fid);

/* Replace an old object (borrowed) likewise. Return -EBADF if that is no longer
 * in the table. */
int p9_fids_replace(struct p9_fids *fids, uint32_t id, struct p9_fid *old,
                    struct p9_fid *fid);

/* Remove an object from the table. Return its reference, or NULL. */
struct p9_fid *p9_fids_remove(struct p9_fids *fids, uint32_t id);

void p9_fids_clear(struct p9_fids *fids);

/* Return the largest known_size of the inode's fids. Linear in the number of
 * fids. */
uint64_t p9_fids_known_size(struct p9_fids *fids, const struct ic_inode *inode);
void p9_fid_raise_known_size(struct p9_fid *fid, uint64_t size);

#endif
