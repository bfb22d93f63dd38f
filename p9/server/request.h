/* SPDX-License-Identifier: Apache-2.0
 *
 * request - a request in work, and the handlers of the message types.
 *
 * A handler gets the request decoded in .m and fills in .r, whose type is set;
 * it returns 0, or -errno. It may return IC_PARKED, if it leaves nothing behind
 * that doing it again from the start would not find as it was.
 *
 * A request that its connection does at once is the connection's own, and its
 * bytes are the connection's; any other owns its bytes.
 *
 * Threads: one at a time; what belongs to the connection's lock is marked.
 */
#ifndef P9_SERVER_REQUEST_H
#define P9_SERVER_REQUEST_H

#include <limits.h>

#include "p9/server/fids.h"
#include "p9/server/service.h"
#include "p9/wire/message.h"

struct p9_conn;
struct p9_lock_owners;

/* Room for every reply but those that carry data. */
enum { P9_SMALL_REPLY = 8192 };

struct p9_op;

struct p9_request {
    struct p9_conn *conn;
    struct p9_server *server;
    struct p9_fids *fids;
    struct p9_lock_owners *owners;
    uint32_t msize;
    uint64_t serial; /* no other request has it */
    const struct p9_op *op;
    struct p9_message m, r;
    uint8_t *in; /* its bytes */
    size_t size;
    bool heap; /* itself and in are its own */

    uint8_t *out; /* while it is in work */
    size_t room;

    struct p9_fid *held;     /* what its fid is, whatever the table says by now;
                                or NULL */
    struct p9_making making; /* what a parked change had made by then */

    struct p9_request *next; /* the pool's */

    /* The connection's lock. */
    struct p9_request *next_tag;   /* of the same bucket */
    struct p9_request *flushers;   /* Tflushes that wait for its end */
    struct p9_request *next_flush; /* the next of those */
    size_t charge;                 /* while it is active */
    bool in_tags, active, flushed;
};

typedef int p9_handler(struct p9_request *request);

enum p9_op_flags {
    P9_OP_SLOW = 1 << 0, /* may take long: not by the connection's thread */
    P9_OP_DATA = 1 << 1, /* carries data, one way or the other */
    P9_OP_LOCK = 1 << 2, /* may leave a waiter for a lock behind */
};

struct p9_op {
    p9_handler *handle;
    unsigned flags;
};

/* How many bytes of data the reply may carry. */
size_t p9_request_reply_size(const struct p9_request *request);

/* ---- what handlers share (request.c) ------------------------------------- */

/* A name as a string: -EINVAL if it is empty, "." or "..", or has a NUL or a
 * '/' in it; -ENAMETOOLONG. */
int p9_request_name(const struct p9_string *name, char ret_name[NAME_MAX + 1]);

struct p9_qid p9_request_qid(const struct p9_request *request,
                             const struct stat *st);

/* What tells an inode of this number on this device from all others. */
uint64_t p9_request_number(const struct p9_request *request, dev_t dev,
                           uint64_t ino);

/* It is done later: what its fid is now, it is then, though a Tclunk that comes
 * behind it may be done first. Of those with P9_OP_DATA or P9_OP_SLOW. */
void p9_request_hold(struct p9_request *request);

/* Is the fid of one with P9_OP_DATA an attribute's? That is in memory, and must
 * be whole before the Tclunk that sets it. */
bool p9_request_is_attribute(const struct p9_request *request);

/* A fid, with a reference of its inode; give both back. 0; -EBADF, or what
 * ic_inode_use() says: then *ret_fid is NULL. */
int p9_request_fid(const struct p9_request *request, uint32_t id,
                   struct p9_fid **ret_fid);
void p9_request_put(struct p9_fid *fid); /* NULL is allowed */

/* The folder that a fid stands for (as from p9_request_fid()), and a name that
 * is to be made in it. 0 or -errno. */
int p9_request_new_name(const struct p9_request *request, uint32_t id,
                        const struct p9_string *name, struct p9_fid **ret_fid,
                        char ret_name[NAME_MAX + 1]);

/* Whose a file will be that is made through the folder's fid, in the group
 * gid, or if that is P9_NO_UID, in the server's. 0 or -EPERM. */
int p9_request_cred(const struct p9_request *request, const struct p9_fid *dir,
                    uint32_t gid, struct ic_cred *ret_cred);

/* For the profile; borrows all. */
struct p9_new p9_request_new(struct p9_request *request,
                             const struct p9_fid *dir, const char *name,
                             const struct ic_cred *cred, mode_t mode);

/* Look up through the profile. */
int p9_request_lookup(const struct p9_request *request, struct ic_inode *dir,
                      const char *name, struct ic_inode **ret_inode,
                      struct stat *ret_stat);

/* name is one that the inode has, or NULL. */
int p9_request_stat(const struct p9_request *request, struct ic_inode *inode,
                    const char *name, struct stat *ret_stat);

/* Of a fid (as from p9_request_fid()), and to set its attributes. */
int p9_request_stat_fid(const struct p9_request *request, struct p9_fid *fid,
                        struct stat *ret_stat);
int p9_request_set(const struct p9_request *request, struct p9_fid *fid,
                   const struct ic_setattr *attr);

/* S_IFMT of what the fid stands for, as the client is to see it. */
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
