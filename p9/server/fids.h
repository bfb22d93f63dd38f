/* SPDX-License-Identifier: Apache-2.0
 *
 * fids - what a client's fids stand for.
 *
 * A fid's object never changes what it is: a fid that is walked, opened or
 * made an attribute becomes another object, which takes the first one's place
 * in the table, if that is still there. So requests on one fid need no lock
 * against each other; each holds the object that it found, and the last one to
 * let go of a clunked fid ends it.
 *
 * A fid holds its inode (ic_inode_hold(): there may be more of them than
 * descriptors) and its place, the folder and name that it was reached by, which
 * Tremove and Trename need. A place may be out of date: whoever uses it looks
 * again.
 *
 * Threads: every call by any thread, but p9_fids_free().
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

#define P9_MAX_FIDS     (1u << 18) /* of a connection */
#define P9_MAX_FIDS_ALL (1u << 19) /* of all */
#define P9_MAX_XATTR_BYTES                                                     \
    (8u << 20)              /* values that a connection's fids hold            \
                             */
#define P9_MAX_XATTR 65536u /* XATTR_SIZE_MAX, XATTR_LIST_MAX */

enum p9_fid_kind {
    P9_FID_PATH, /* not open */
    P9_FID_FILE,
    P9_FID_DIR,
    P9_FID_XATTR_READ,
    P9_FID_XATTR_WRITE,
};

struct p9_fids;

/* A name in a folder. Never changes; fids of one walk share it. */
struct p9_place {
    atomic_uint refs;
    struct ic_inode *dir; /* a hold */
    char name[];
};

/* An owner of locks. */
struct p9_fid_owner {
    uint64_t id;
    bool whole; /* has locked all of the file */
};

struct p9_fid {
    struct p9_fids *fids;
    atomic_uint refs;
    enum p9_fid_kind kind;
    struct ic_inode *inode; /* a hold */
    struct ic_inode *root;  /* a hold: where its session was attached */
    uid_t uid;              /* whom its session acts as */

    int fd; /* FILE, DIR: as ic_open() gave it; else -1 */
    bool writable, append;
    int rwf_flags; /* of each write */

    pthread_mutex_t lock;   /* what follows */
    struct p9_place *place; /* NULL: it is a root */
    struct dir_stream *dir; /* DIR */
    char *xattr;            /* XATTR_WRITE: the attribute's name */
    uint8_t *value;         /* XATTR_*: of size bytes */
    size_t size, filled;    /* filled: from the start, without a gap */
    uint32_t xattr_flags;
    GArray *owners; /* of p9_fid_owner: who has locked through it; or NULL */
    struct {        /* reads at one offset that found nothing (op_file.c) */
        uint64_t offset;
        int64_t since_us, last_us;
        unsigned count;
    } vain;

    /* The largest size of the file that its client knows by this fid. */
    _Atomic uint64_t told_size;
};

/* What ends with a fid, before its inode is given back. */
typedef void p9_fid_ended(struct p9_fid *fid, void *opaque);

struct p9_fids *p9_fids_new(atomic_uint *all, p9_fid_ended *ended,
                            void *opaque);

/* Nobody may hold one. NULL is allowed. */
void p9_fids_free(struct p9_fids *fids);

/* A new object of kind PATH, in no table yet: of the inode (a reference,
 * taken), reached by place (taken; may be NULL). like gives root and uid;
 * without it root is the inode. One reference, or NULL: there are too many, and
 * what was taken is given back. */
struct p9_fid *p9_fid_new(struct p9_fids *fids, struct ic_inode *inode,
                          struct p9_place *place, const struct p9_fid *like);

/* dir (a reference) and name are borrowed. Returns new. */
struct p9_place *p9_place_new(struct ic_inode *dir, const char *name);
void p9_place_unref(struct p9_place *place); /* NULL is allowed */

/* Where it is: a reference or NULL. And it is elsewhere now (taken). */
struct p9_place *p9_fid_place(struct p9_fid *fid);
void p9_fid_move(struct p9_fid *fid, struct p9_place *place);

/* Room for size bytes of value, charged to the connection. 0 or -ENOMEM. */
int p9_fid_reserve(struct p9_fid *fid, size_t size);

struct p9_fid *p9_fid_ref(struct p9_fid *fid);
void p9_fid_unref(struct p9_fid *fid); /* NULL is allowed */

/* A reference, or NULL: there is no such fid. */
struct p9_fid *p9_fids_get(struct p9_fids *fids, uint32_t id);
bool p9_fids_has(struct p9_fids *fids, uint32_t id);

/* Put an object (a reference is taken over, also on failure) in the table. 0,
 * or -EBADF: the fid is in use. */
int p9_fids_add(struct p9_fids *fids, uint32_t id, struct p9_fid *fid);

/* Likewise in the place of an old one (borrowed); -EBADF: that is no longer
 * there. */
int p9_fids_replace(struct p9_fids *fids, uint32_t id, struct p9_fid *old,
                    struct p9_fid *fid);

/* Take it out of the table: its reference, or NULL. */
struct p9_fid *p9_fids_remove(struct p9_fids *fids, uint32_t id);

void p9_fids_clear(struct p9_fids *fids);

unsigned p9_fids_count(struct p9_fids *fids);

/* The largest told_size of the inode's fids; it looks at all there are. */
uint64_t p9_fids_told_size(struct p9_fids *fids, const struct ic_inode *inode);
void p9_fid_tell_size(struct p9_fid *fid, uint64_t size);

#endif
