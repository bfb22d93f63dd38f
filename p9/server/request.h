/* SPDX-License-Identifier: Apache-2.0
 *
 * request - a request being handled, and the handlers of the message types.
 *
 * A handler gets the request decoded in .m and fills in .r, whose type is set;
 * it returns 0, or -errno. It may return IC_PARKED only if a restart from the
 * beginning finds everything unchanged.
 *
 * A request that its connection handles at once is embedded in the connection,
 * as are its bytes; any other request owns its bytes.
 *
 * Threads: one at a time; members under the connection's lock are marked.
 */
#ifndef P9_SERVER_REQUEST_H
#define P9_SERVER_REQUEST_H

#include <limits.h>

#include "p9/server/fids.h"
#include "p9/server/service.h"
#include "p9/wire/message.h"

struct p9_conn;
struct p9_lock_owners;

/* Room for every reply except those that carry data. */
enum { P9_SMALL_REPLY = 8192 };

struct p9_op;

struct p9_request {
    struct p9_conn *conn;
    struct p9_server *server;
    struct p9_fids *fids;
    struct p9_lock_owners *owners;
    uint32_t msize;
    uint64_t serial; /* unique */
    const struct p9_op *op;
    struct p9_message m, r;
    uint8_t *in; /* the received message */
    size_t size;
    bool heap; /* the request and in are allocated */

    uint8_t *out; /* while it is handled */
    size_t room;

    struct p9_fid *held;     /* pins the fid until the request has run; or
                              * NULL */
    struct p9_making making; /* partial result of a parked change */

    struct p9_request *next; /* in the pool */

    /* Guarded by the connection's lock. */
    struct p9_request *next_tag;   /* in the same bucket */
    struct p9_request *flushers;   /* Tflushes that wait for its end */
    struct p9_request *next_flush; /* the next flusher */
    size_t charge;                 /* while it is active */
    bool in_tags, active, flushed;
};

typedef int p9_handler(struct p9_request *request);

enum p9_op_flags {
    P9_OP_SLOW = 1 << 0, /* may take long: not on the connection's thread */
    P9_OP_DATA = 1 << 1, /* carries data in either direction */
    P9_OP_LOCK = 1 << 2, /* may leave a waiter for a lock */
};

struct p9_op {
    p9_handler *handle;
    unsigned flags;
};

/* Return the number of data bytes that the reply may carry. */
size_t p9_request_reply_size(const struct p9_request *request);

/* ---- helpers of the handlers (request.c) --------------------------------- */

/* Return the name as a string: 0; -EINVAL if it is empty, "." or "..", or
 * contains a NUL or a '/'; -ENAMETOOLONG. */
int p9_request_name(const struct p9_string *name, char ret_name[NAME_MAX + 1]);

struct p9_qid p9_request_qid(const struct p9_request *request,
                             const struct stat *st);

/* Return a number that distinguishes this inode on this device from all
 * others. */
uint64_t p9_request_number(const struct p9_request *request, dev_t dev,
                           uint64_t ino);

/* Pin the fid of a request that runs later: a Tclunk behind it may run first.
 * For requests with P9_OP_DATA or P9_OP_SLOW. */
void p9_request_hold(struct p9_request *request);

/* Return whether the fid of a request with P9_OP_DATA is an attribute. Its
 * value is in memory, and must be complete before the Tclunk that sets it. */
bool p9_request_is_attribute(const struct p9_request *request);

/* Return a fid, with a reference to its inode; release both with
 * p9_request_put(). Return 0, -EBADF, or the error of ic_inode_use(), with
 * *ret_fid NULL. */
int p9_request_fid(const struct p9_request *request, uint32_t id,
                   struct p9_fid **ret_fid);
void p9_request_put(struct p9_fid *fid); /* NULL is allowed */

/* Return the directory of a fid (as from p9_request_fid()), and a valid name
 * for a new entry in it. Return 0 or -errno. */
int p9_request_new_name(const struct p9_request *request, uint32_t id,
                        const struct p9_string *name, struct p9_fid **ret_fid,
                        char ret_name[NAME_MAX + 1]);

/* Determine the owner of a file that is created through the directory's fid, in
 * group gid, or if that is P9_NO_UID, in the server's. Return 0 or -EPERM. */
int p9_request_cred(const struct p9_request *request, const struct p9_fid *dir,
                    uint32_t gid, struct ic_cred *ret_cred);

/* Collect the arguments for the profile; all are borrowed. */
struct p9_new p9_request_new(struct p9_request *request,
                             const struct p9_fid *dir, const char *name,
                             const struct ic_cred *cred, mode_t mode);

/* Look up through the profile. */
int p9_request_lookup(const struct p9_request *request, struct ic_inode *dir,
                      const char *name, struct ic_inode **ret_inode,
                      struct stat *ret_stat);

/* name is a name of the inode, or NULL. */
int p9_request_stat(const struct p9_request *request, struct ic_inode *inode,
                    const char *name, struct stat *ret_stat);

/* Stat or change a fid (as from p9_request_fid()). */
int p9_request_stat_fid(const struct p9_request *request, struct p9_fid *fid,
                        struct stat *ret_stat);
int p9_request_set(const struct p9_request *request, struct p9_fid *fid,
                   const struct ic_setattr *attr);

/* Return S_IFMT of the fid, as the client sees it. */
mode_t p9_request_type(const struct p9_request *request,
                       const struct p9_fid *fid);

/* ---- handlers ------------------------------------------------------------ */

/* op_session.c */
p9_handler p9_op_auth, p9_op_attach, p9_op_clunk, p9_op_statfs;

/* op_walk.c */
p9_handler p9_op_walk, p9_op_readlink;

/* op_names.c */
p9_handler p9_op_mkdir, p9_op_mknod, p9_op_symlink, p9_op_link, p9_op_rename,
    p9_op_renameat, p9_op_unlinkat, p9_op_remove;

/* op_file.c */
p9_handler p9_op_lopen, p9_op_lcreate, p9_op_read, p9_op_write, p9_op_fsync;

/* op_dir.c */
p9_handler p9_op_readdir;

/* op_attr.c */
p9_handler p9_op_getattr, p9_op_setattr;

/* op_xattr.c */
p9_handler p9_op_xattrwalk, p9_op_xattrcreate;
int p9_xattr_read(struct p9_request *request, struct p9_fid *fid);
int p9_xattr_write(struct p9_request *request, struct p9_fid *fid);
int p9_xattr_commit(struct p9_request *request, struct p9_fid *fid);

/* op_lock.c */
p9_handler p9_op_lock, p9_op_getlock;

#endif
