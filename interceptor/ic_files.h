/* SPDX-License-Identifier: Apache-2.0
 *
 * ic_files - a part of interceptor.h: inodes, and changes of them and of names.
 */
#ifndef STEPBACK_IC_FILES_H
#define STEPBACK_IC_FILES_H

#include "interceptor.h"

G_BEGIN_DECLS

/* ---- inodes -------------------------------------------------------------- */

/* The share's root. Borrowed: lives as long as the engine. */
struct ic_inode *ic_root(struct ic *ic);

/* Returns inode. */
struct ic_inode *ic_inode_ref(struct ic_inode *inode);
void ic_inode_unref(struct ic_inode *inode);

/* A hold is less than a reference: it keeps the inode known, but its fd may be
 * closed while there is no reference, and only ic_inode_*() may be called with
 * it, not ic_inode_fd(). ic_inode_hold() wants a reference or hold, and returns
 * inode. ic_inode_use() gives a reference beside the hold: 0, or -ESTALE if the
 * inode cannot be found again (see ic_options.file_handles), or -EMFILE ... As
 * long as its fd is open it takes no lock. */
struct ic_inode *ic_inode_hold(struct ic_inode *inode);
void ic_inode_unhold(struct ic_inode *inode);
int ic_inode_use(struct ic *ic, struct ic_inode *inode);

/* A reference if its fd is open; else false. To look at, not to use: it is
 * still one of the first to be closed. */
bool ic_inode_ref_open(struct ic_inode *inode);

/* A number of the server's own, 0 at first, with each inode; changed from one
 * to another at once, or not: false. */
uint64_t ic_inode_tag(const struct ic_inode *inode);
bool ic_inode_change_tag(struct ic_inode *inode, uint64_t from, uint64_t to);

/* -ESTALE if the inode was last seen under a name and has none in the share
 * now, which another process, or a rollback, has seen to; else 0. For a server
 * whose client keeps names: it may have opened the inode by such a name, and
 * what it writes would be lost. With a reference; one fstat(2). */
int ic_inode_check_named(struct ic_inode *inode);

/* Close so many fds of inodes that are held and not used. Returns how many. */
unsigned ic_release_fds(struct ic *ic, unsigned n);

/* An O_PATH fd of the inode. Borrowed: valid while the reference is held. */
int ic_inode_fd(const struct ic_inode *inode);

/* Identity; equal inodes are equal pointers while a reference is held. */
dev_t ic_inode_dev(const struct ic_inode *inode);
ino_t ic_inode_ino(const struct ic_inode *inode);

/* S_IFMT bits of the mode. */
mode_t ic_inode_type(const struct ic_inode *inode);

/* Look one name up. name must be a single component, not "." or "..", not
 * empty and without '/': else -EINVAL, here and in all calls that take a name.
 * Symlinks are not followed. A new reference. ret_stat may be NULL. */
int ic_lookup(struct ic *ic, struct ic_inode *dir, const char *name,
              struct ic_inode **ret_inode, struct stat *ret_stat);

/* The same for a server that lists many and uses few: where the filesystem lets
 * it, nothing is opened. A new *hold*; if the inode is found elsewhere or
 * replaced before it is used, ic_inode_use() says -ESTALE. */
int ic_lookup_lazy(struct ic *ic, struct ic_inode *dir, const char *name,
                   struct ic_inode **ret_inode, struct stat *ret_stat);

/* The same for a server whose client keeps no names: it looks a name up each
 * time that it uses one. So nothing is opened for the first lookup of a file or
 * a symlink: it has one user. If that removes the name, or replaces it by a
 * rename, the inode is lost to the client then (-ESTALE), which can have no use
 * for it; and until the client looks it up again or uses it otherwise, others
 * who move or replace it, or a rollback, can make it lose it. What is looked up
 * again is opened. A new *hold*. */
int ic_lookup_uncached(struct ic *ic, struct ic_inode *dir, const char *name,
                       struct ic_inode **ret_inode, struct stat *ret_stat);

/* The parent directory; the root's parent is the root. -ENOENT if the
 * directory is no longer in the share. A new reference. */
int ic_lookup_parent(struct ic *ic, struct ic_inode *dir,
                     struct ic_inode **ret_inode);

/* stat(2) of the inode, with st_nlink as the client must see it: links that
 * the undo log holds do not count. */
int ic_stat(struct ic *ic, struct ic_inode *inode, struct stat *ret_stat);

/* The same of one that is held, which needs not be opened for it; or what
 * ic_inode_use() says. */
int ic_stat_held(struct ic *ic, struct ic_inode *inode, struct stat *ret_stat);

/* statvfs(3) of its filesystem. Free is also what a large file had that was
 * removed, and which is being freed still. 0 or -errno. */
int ic_statvfs(struct ic *ic, struct ic_inode *inode,
               struct statvfs *ret_statvfs);

/* ---- what the client believes -------------------------------------------- */

/* Something that the client knows by its server's tags (ic_inode_tag()), never
 * 0 where it says so. It is not as the client has it. */
struct ic_stale {
    /* Not NULL: a name in the folder dir means another inode now, or none. */
    const char *name;
    uint64_t dir;

    /* 0: not known to the client. Else its content and attributes may be
     * others now; or, removed: it is no folder, had that name, and is in the
     * share no more. */
    uint64_t inode;
    bool removed;
};

/* From now on, call tell with what a rollback, a redo, ic_write_file() or
 * another process has changed of what has a tag; the list is borrowed for the
 * call. wait: return when the client cannot act on the old state any more; the
 * caller of the rollback waits for it. Else (what other processes do; by a
 * watcher, so that some of it is not told) do not wait for the client. It runs
 * in any thread, with none of the engine's locks held, and may call only
 * ic_inode_*(). NULL: when this has returned, the former one is not running.
 *
 * Without it, and for a client that cannot be told: let it look each name up
 * whenever it uses one. In any case a change of an inode that a rollback has
 * removed from the share fails with -ESTALE (but not of one that the client
 * has removed itself and has still open), and so does ic_open() of it. */
void ic_set_stale(struct ic *ic,
                  void (*tell)(const struct ic_stale *list, size_t n, bool wait,
                               void *opaque),
                  void *opaque);

/* ---- changes of names ---------------------------------------------------- */

/* Who creates: the new inode's owner, unless its directory is setgid. umask:
 * the client's, if the server has not applied it to the mode already. */
struct ic_cred {
    uid_t uid;
    gid_t gid;
    mode_t umask;
};

/* open(2) with O_CREAT. flags: O_ACCMODE, O_EXCL, O_TRUNC, O_APPEND, O_DIRECT,
 * O_SYNC, O_DSYNC, O_NOATIME, O_NONBLOCK count, others are masked off. If the
 * name exists (and no O_EXCL) the file is opened, and kept first if O_TRUNC. A
 * symlink of that name is not followed: -ELOOP. Outputs: a new fd, a new
 * reference, its stat (each may be NULL but ret_fd and ret_inode). */
int ic_create(struct ic *ic, const struct ic_cred *cred, struct ic_inode *dir,
              const char *name, int flags, mode_t mode,
              struct ic_inode **ret_inode, struct stat *ret_stat, int *ret_fd);

/* As mkdirat(2), mknodat(2), symlinkat(2): -EEXIST if there is such a name.
 * Outputs as above. */
int ic_mkdirat(struct ic *ic, const struct ic_cred *cred, struct ic_inode *dir,
               const char *name, mode_t mode, struct ic_inode **ret_inode,
               struct stat *ret_stat);
int ic_mknodat(struct ic *ic, const struct ic_cred *cred, struct ic_inode *dir,
               const char *name, mode_t mode, dev_t rdev,
               struct ic_inode **ret_inode, struct stat *ret_stat);
int ic_symlinkat(struct ic *ic, const struct ic_cred *cred, const char *target,
                 struct ic_inode *dir, const char *name,
                 struct ic_inode **ret_inode, struct stat *ret_stat);

/* Give an inode one more name; -EEXIST if there is such a name. ret_stat (may
 * be NULL): after it. */
int ic_linkat(struct ic *ic, struct ic_inode *inode, struct ic_inode *dir,
              const char *name, struct stat *ret_stat);

/* unlinkat(2): flags is 0 or AT_REMOVEDIR. */
int ic_unlinkat(struct ic *ic, struct ic_inode *dir, const char *name,
                int flags);

/* renameat2(2): flags is 0, RENAME_NOREPLACE or RENAME_EXCHANGE; others
 * -EINVAL. */
int ic_renameat2(struct ic *ic, struct ic_inode *old_dir, const char *old_name,
                 struct ic_inode *new_dir, const char *new_name,
                 unsigned flags);

/* An unnamed file in dir (O_TMPFILE); ic_linkat() can give it a name. */
int ic_tmpfile(struct ic *ic, const struct ic_cred *cred, struct ic_inode *dir,
               int flags, mode_t mode, struct ic_inode **ret_inode,
               struct stat *ret_stat, int *ret_fd);

/* ---- changes of inodes --------------------------------------------------- */

/* Open an inode: flags as in ic_create(), and O_DIRECTORY. O_TRUNC keeps the
 * content first. A FIFO, socket or device node is refused with -ENXIO (the
 * client's kernel serves those by itself). A new fd. */
int ic_open(struct ic *ic, struct ic_inode *inode, int flags, int *ret_fd);

/* pwritev2(2) to an fd of that inode from ic_open() or ic_create(). offset is
 * ignored with RWF_APPEND; and with an fd that was opened with O_APPEND, whose
 * every write Linux appends: a server that gives offsets leaves O_APPEND out
 * and says RWF_APPEND. rwf_flags: RWF_APPEND, RWF_DSYNC, RWF_SYNC; others go to
 * the kernel, which answers what it does not know with -EOPNOTSUPP.
 * kill_priv: clear suid, sgid and capabilities as for a write by an
 * unprivileged user. Bytes written or -errno. */
ssize_t ic_pwritev(struct ic *ic, struct ic_inode *inode, int fd,
                   const struct iovec *iov, int iovcnt, off_t offset,
                   int rwf_flags, bool kill_priv);

enum ic_setattr_flags {
    IC_SET_MODE = 1 << 0,
    IC_SET_UID = 1 << 1,
    IC_SET_GID = 1 << 2,
    IC_SET_SIZE = 1 << 3,
    IC_SET_ATIME = 1 << 4, /* from .atime; tv_nsec may be UTIME_NOW */
    IC_SET_MTIME = 1 << 5, /* likewise */
    IC_KILL_PRIV = 1 << 6, /* with SIZE, UID or GID: clear suid and sgid */
};

struct ic_setattr {
    unsigned valid; /* IC_SET_* */
    mode_t mode;
    uid_t uid;
    gid_t gid;
    off_t size;
    struct timespec atime, mtime;
};

/* Change attributes, in the order size, owner, mode, times. fd: an fd of the
 * inode open for writing (for IC_SET_SIZE) or -1. ret_stat (may be NULL): after
 * it. The mode of a symlink cannot be changed: -EOPNOTSUPP. */
int ic_setattr(struct ic *ic, struct ic_inode *inode, int fd,
               const struct ic_setattr *attr, struct stat *ret_stat);

/* setxattr(2) and removexattr(2) on the inode itself (symlinks too). */
int ic_setxattr(struct ic *ic, struct ic_inode *inode, const char *name,
                const void *value, size_t size, int flags);
int ic_removexattr(struct ic *ic, struct ic_inode *inode, const char *name);

/* fallocate(2) on an fd of the inode that is open for writing; all modes. */
int ic_fallocate(struct ic *ic, struct ic_inode *inode, int fd, int mode,
                 off_t offset, off_t length);

/* copy_file_range(2) from any fd into an fd of the inode. Bytes or -errno. */
ssize_t ic_copy_file_range(struct ic *ic, int in_fd, off_t in_offset,
                           struct ic_inode *out_inode, int out_fd,
                           off_t out_offset, size_t length, unsigned flags);

G_END_DECLS

#endif
