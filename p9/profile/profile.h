/* SPDX-License-Identifier: Apache-2.0
 *
 * profile - the file semantics that the share has for its clients.
 *
 * A table of functions, so that a host whose files are not POSIX files (or a
 * Linux host that emulates one) puts its own rules between the protocol and the
 * undo engine: which names are allowed, the type of an inode, its attributes,
 * and how it is created. All changes of the folder still go through the engine.
 *
 * A change may be parked (IC_PARKED) and is then restarted from the beginning.
 * A change that consists of two changes of the folder records the result of the
 * first one in struct p9_making, and continues from there.
 *
 * Threads: any thread may make any call. The functions on the data path return
 * 0 or -errno, or IC_PARKED as the engine's calls do.
 */
#ifndef P9_PROFILE_PROFILE_H
#define P9_PROFILE_PROFILE_H

#include "daemon/dir_stream.h"
#include "interceptor/interceptor.h"

struct p9_profile_options {
    const char *overlay_dir; /* where metadata is stored; may be NULL */
    const char *overlay_log; /* the only log that may need it; NULL: unknown */
};

/* The partial result of one request; initially all 0. */
struct p9_making {
    struct ic_inode *inode; /* a reference; NULL: none */
    int fd;                 /* with an inode: open, or -1 */
};

void p9_making_clear(struct p9_making *making);

/* The object to create, and where. */
struct p9_new {
    const struct ic_cred *cred;
    struct ic_inode *dir; /* a reference */
    const char *name;
    mode_t mode;              /* permissions; make_node(): with the type */
    struct p9_making *making; /* of its request */
};

/* The created object: a reference and its stat(2), on success only. */
struct p9_made {
    struct ic_inode *inode;
    struct stat st;
    int fd; /* from create() */
};

struct p9_profile {
    const char *name; /* as in --profile */

    /* Whether the profile stores metadata (--overlay-dir). */
    bool has_overlay;

    /* Whether get() and set() need a name of the inode. */
    bool wants_names;

    /* Create the profile's state for this share, for all calls below; NULL and
     * error on failure. options is borrowed for the call. end() frees the
     * state. */
    void *(*start)(struct ic *ic, const struct p9_profile_options *options,
                   GError **error);
    void (*end)(void *state);

    /* Like ic_lookup(). */
    int (*lookup)(void *state, struct ic_inode *dir, const char *name,
                  struct ic_inode **ret_inode, struct stat *ret_stat);

    /* Whether the name is allowed. Return 0 or -errno. */
    int (*check_name)(void *state, const char *name);

    /* Return S_IFMT, and d_type of an entry of the open directory dirfd. */
    mode_t (*type)(void *state, struct ic_inode *inode);
    unsigned char (*entry_type)(void *state, int dirfd,
                                const struct dir_entry *entry);

    /* Like ic_stat() and ic_setattr(). name is a name of the inode, or NULL. */
    int (*get)(void *state, struct ic_inode *inode, const char *name,
               struct stat *ret_stat);
    int (*set)(void *state, struct ic_inode *inode, const char *name, int fd,
               const struct ic_setattr *attr);

    /* Called before a write by an unprivileged user. NULL: the engine does
     * everything. */
    int (*before_write)(void *state, struct ic_inode *inode);

    /* Like ic_create(), ic_mkdirat(), ic_mknodat(), ic_symlinkat(). */
    int (*create)(void *state, const struct p9_new *new, int flags,
                  struct p9_made *ret_made);
    int (*make_dir)(void *state, const struct p9_new *new,
                    struct p9_made *ret_made);
    int (*make_node)(void *state, const struct p9_new *new, dev_t rdev,
                     struct p9_made *ret_made);
    int (*make_symlink)(void *state, const struct p9_new *new,
                        const char *target, struct p9_made *ret_made);

    /* link() is like ic_linkat(); from is a name of the inode, or NULL.
     * rename() is like ic_renameat2() without flags. */
    int (*link)(void *state, struct ic_inode *inode, const char *from,
                struct ic_inode *dir, const char *name);
    int (*rename)(void *state, struct ic_inode *old_dir, const char *old_name,
                  struct ic_inode *new_dir, const char *new_name);

    /* Read the target of an inode that type() reports as a symlink, without a
     * terminating NUL. Return its length or -errno. */
    ssize_t (*read_link)(void *state, struct ic_inode *inode, char *to,
                         size_t room);

    /* read_xattr() is like getxattr(2); with name "", like listxattr(2).
     * write_xattr() sets an attribute (flags as in setxattr(2)), or removes it
     * (value NULL). */
    ssize_t (*read_xattr)(void *state, struct ic_inode *inode, const char *name,
                          char *to, size_t room);
    int (*write_xattr)(void *state, struct ic_inode *inode, const char *name,
                       const void *value, size_t size, int flags);
};

#endif
