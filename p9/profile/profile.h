/* SPDX-License-Identifier: Apache-2.0
 *
 * profile - the semantics that the share has for its clients.
 *
 * A table of functions, so that a host whose files are not POSIX files (or a
 * Linux host that plays one) puts its own rules between the protocol and the
 * undo engine: which names there may be, what kind of file an inode is, what
 * attributes it has, and how it is made. All changes of the folder still go
 * through the engine.
 *
 * A change may be parked (IC_PARKED) and is then made again from its start. One
 * that takes a profile two changes of the folder notes in struct p9_making what
 * the first one has made, and goes on from there.
 *
 * Threads: every call by any thread. Data path: 0 or -errno, IC_PARKED as the
 * engine's calls.
 */
#ifndef P9_PROFILE_PROFILE_H
#define P9_PROFILE_PROFILE_H

#include "daemon/dir_stream.h"
#include "interceptor/interceptor.h"

struct p9_profile_options {
    const char *overlay_dir; /* where metadata is kept, if it is; may be NULL */
    const char *overlay_log; /* the one log that may need it; NULL: unknown */
};

/* What one request has made so far: all 0 at first. */
struct p9_making {
    struct ic_inode *inode; /* a reference; NULL: nothing */
    int fd;                 /* with an inode: it is open, or -1 */
};

void p9_making_clear(struct p9_making *making);

/* What is to be made, and where. */
struct p9_new {
    const struct ic_cred *cred;
    struct ic_inode *dir; /* a reference */
    const char *name;
    mode_t mode;              /* permissions; of make_node() with the type */
    struct p9_making *making; /* its request's */
};

/* What was: a reference and its stat(2), on success only. */
struct p9_made {
    struct ic_inode *inode;
    struct stat st;
    int fd; /* of create() */
};

struct p9_profile {
    const char *name; /* of --profile */

    /* It keeps a folder of its own (--overlay-dir). */
    bool has_overlay;

    /* get() and set() want to be told a name of the inode. */
    bool wants_names;

    /* What the profile keeps for this share, for all calls below; NULL and
     * error. options is borrowed for the call. end() frees it. */
    void *(*start)(struct ic *ic, const struct p9_profile_options *options,
                   GError **error);
    void (*end)(void *state);

    /* As ic_lookup(). */
    int (*lookup)(void *state, struct ic_inode *dir, const char *name,
                  struct ic_inode **ret_inode, struct stat *ret_stat);

    /* May there be such a name at all? 0 or -errno. */
    int (*check_name)(void *state, const char *name);

    /* S_IFMT, and d_type of an entry of the open folder dirfd. */
    mode_t (*type)(void *state, struct ic_inode *inode);
    unsigned char (*entry_type)(void *state, int dirfd,
                                const struct dir_entry *entry);

    /* As ic_stat() and ic_setattr(). name is one that the inode has, or NULL.
     */
    int (*get)(void *state, struct ic_inode *inode, const char *name,
               struct stat *ret_stat);
    int (*set)(void *state, struct ic_inode *inode, const char *name, int fd,
               const struct ic_setattr *attr);

    /* A user without rights is about to write. NULL: the engine does all. */
    int (*before_write)(void *state, struct ic_inode *inode);

    /* As ic_create(), ic_mkdirat(), ic_mknodat(), ic_symlinkat(). */
    int (*create)(void *state, const struct p9_new *new, int flags,
                  struct p9_made *ret_made);
    int (*make_dir)(void *state, const struct p9_new *new,
                    struct p9_made *ret_made);
    int (*make_node)(void *state, const struct p9_new *new, dev_t rdev,
                     struct p9_made *ret_made);
    int (*make_symlink)(void *state, const struct p9_new *new,
                        const char *target, struct p9_made *ret_made);

    /* As ic_linkat(); from is a name that the inode has, or NULL. And as
     * ic_renameat2() without flags. */
    int (*link)(void *state, struct ic_inode *inode, const char *from,
                struct ic_inode *dir, const char *name);
    int (*rename)(void *state, struct ic_inode *old_dir, const char *old_name,
                  struct ic_inode *new_dir, const char *new_name);

    /* The target of what type() calls a symlink, without a NUL at its end: its
     * length or -errno. */
    ssize_t (*read_link)(void *state, struct ic_inode *inode, char *to,
                         size_t room);

    /* As getxattr(2); name "": as listxattr(2). And to set one (flags are
     * setxattr(2)'s), or to remove it (value NULL). */
    ssize_t (*read_xattr)(void *state, struct ic_inode *inode, const char *name,
                          char *to, size_t room);
    int (*write_xattr)(void *state, struct ic_inode *inode, const char *name,
                       const void *value, size_t size, int flags);
};

#endif
