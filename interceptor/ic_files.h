/* SPDX-License-Identifier: Apache-2.0
 *
 * ic_files - part of interceptor.h: inodes, and changes of inodes and names.
 */
#ifndef STEPBACK_IC_FILES_H
#define STEPBACK_IC_FILES_H

#include "interceptor.h"

G_BEGIN_DECLS

/* ---- inodes -------------------------------------------------------------- */

/* Return the share's root. Borrowed: lives as long as the engine. */
struct ic_inode *ic_root(struct ic *ic);

/* Add and drop a reference. ic_inode_ref() returns inode. */
struct ic_inode *ic_inode_ref(struct ic_inode *inode);
void ic_inode_unref(struct ic_inode *inode);

/* Add and drop a hold. A hold is weaker than a reference: it keeps the inode
 * known, but while there is no reference the fd may be closed, and only
 * ic_inode_*() may be called with it, not ic_inode_fd(). ic_inode_hold() needs
 * a reference or hold, and returns inode. ic_inode_use() adds a reference to a
 * hold: 0, or -ESTALE if the inode cannot be found again (see
 * ic_options.file_handles), or -EMFILE ... While the fd is open it takes no
 * lock. */
struct ic_inode *ic_inode_hold(struct ic_inode *inode);
void ic_inode_unhold(struct ic_inode *inode);
int ic_inode_use(struct ic *ic, struct ic_inode *inode);

/* Add a reference if the fd is open; else return false. For a look that does
 * not count as use: the inode stays one of the first to be closed. */
bool ic_inode_ref_open(struct ic_inode *inode);

/* A number for the server in each inode, 0 at first. ic_inode_change_tag()
 * replaces one value by another atomically, or returns false. When the client
 * removes a folder, its tag becomes 0: for Linux that folder is dead as long as
 * a process is in it, so the client must get to know it anew if an undo brings
 * it back. */
uint64_t ic_inode_tag(const struct ic_inode *inode);
bool ic_inode_change_tag(struct ic_inode *inode, uint64_t from, uint64_t to);

/* Return -ESTALE if the inode was last seen under a name and has none in the
 * share now, because another process or a rollback removed it; else 0. For a
 * server whose client caches names: the client may have opened the inode by
 * such a name, and its writes would be lost. Needs a reference; one fstat(2).
 */
int ic_inode_check_named(struct ic_inode *inode);

/* Close this many fds of held, unused inodes. Returns how many were closed. */
unsigned ic_release_fds(struct ic *ic, unsigned n);

/* Return an O_PATH fd of the inode. Borrowed: valid while the reference exists.
 */
int ic_inode_fd(const struct ic_inode *inode);

/* The inode's identity; equal inodes have equal pointers while a reference
 * exists. */
dev_t ic_inode_dev(const struct ic_inode *inode);
ino_t ic_inode_ino(const struct ic_inode *inode);

/* S_IFMT bits of the mode. */
mode_t ic_inode_type(const struct ic_inode *inode);

/* Look a name up. name must be a single component, not "." or "..", not empty
 * and without '/': else -EINVAL, here and in all calls that take a name.
 * Symlinks are not followed. A new reference. ret_stat may be NULL. */
int ic_lookup(struct ic *ic, struct ic_inode *dir, const char *name,
              struct ic_inode **ret_inode, struct stat *ret_stat);

/* The same for a server that lists many names and uses few: nothing is opened,
 * where the filesystem allows it. A new *hold*; if the inode has moved or was
 * replaced before it is used, ic_inode_use() returns -ESTALE. */
int ic_lookup_lazy(struct ic *ic, struct ic_inode *dir, const char *name,
                   struct ic_inode **ret_inode, struct stat *ret_stat);

/* The same for a server whose client caches no names, but looks a name up each
 * time that it uses one. So the first lookup of a file or a symlink opens
 * nothing: the inode has one user. If that user removes or replaces the name,
 * the inode becomes lost (-ESTALE), when the client has no use for it any more.
 * Until the client looks it up again or uses it otherwise, a move or
 * replacement by another process, or a rollback, can make it lost, too. A
 * second lookup opens it. A new *hold*. */
int ic_lookup_uncached(struct ic *ic, struct ic_inode *dir, const char *name,
                       struct ic_inode **ret_inode, struct stat *ret_stat);

/* Return the parent directory; the root's parent is the root. -ENOENT if the
 * directory is no longer in the share. A new reference. */
int ic_lookup_parent(struct ic *ic, struct ic_inode *dir,
                     struct ic_inode **ret_inode);

/* stat(2) the inode, with st_nlink as the client must see it: without the undo
 * log's links. */
int ic_stat(struct ic *ic, struct ic_inode *inode, struct stat *ret_stat);

/* The same for a held inode, without opening it if possible. Errors as
 * ic_inode_use(). */
int ic_stat_held(struct ic *ic, struct ic_inode *inode, struct stat *ret_stat);

/* statvfs(3) of the inode's filesystem. Blocks of large removed files that are
 * still being freed count as free. Returns 0 or -errno. */
int ic_statvfs(struct ic *ic, struct ic_inode *inode,
               struct statvfs *ret_statvfs);

/* ---- the client's cache -------------------------------------------------- */

/* Something that the client knows by its server's tags (ic_inode_tag()) and
 * that has changed. A tag of 0 appears only where stated. */
struct ic_stale {
    /* Not NULL: a name in the folder dir means another inode now, or none. */
    const char *name;
    uint64_t dir;

    /* 0: unknown to the client. Otherwise its content and attributes may have
     * changed; with removed: it is not a folder, had that name, and is no
     * longer in the share. */
    uint64_t inode;
    bool removed;

    /* Changes were missed: everything that the client has cached may be old.
     * The other members are 0. */
    bool all;

    /* Content may have changed in the client's memory alone: by mappings of the
     * files that it has open for reading and writing. tell returns when the
     * client has written that. The other members are 0. */
    bool dirty;

    /* The client may have pages of this inode from before the change, and have
     * changed them. When it has dropped them, tell, or a thread of the server
     * later, calls ic_stale_pages_end() once. NULL without
     * ic_set_stale_pages(). */
    struct ic_inode *pages;
};

/* From now on, call tell with each tagged object that a rollback, a redo,
 * ic_write_file() or another process has changed; the list is borrowed for the
 * call. wait: return only when the client can no longer act on the old state;
 * the caller of the rollback waits for that. Without wait (changes by other
 * processes; a watcher reports them, and may miss some) do not wait for the
 * client. tell runs in any thread, with none of the engine's locks held, and
 * may call only ic_inode_*(). NULL: once the call returns, the former callback
 * is not running.
 *
 * The client may cache an inode for long if ic_inode_is_watched(). For a client
 * that cannot be notified: let it look each name up at each use.
 * In any case a change of an inode that a rollback has removed from the share
 * fails with -ESTALE (but not of one that the client has removed itself and
 * still has open), and so does ic_open() of it. */
void ic_set_stale(struct ic *ic,
                  void (*tell)(const struct ic_stale *list, size_t n, bool wait,
                               void *opaque),
                  void *opaque);

/* Return whether ic_set_stale()'s callback gets each change by another process
 * as soon as the watcher has read it: of a folder's names and times, and of
 * other inodes' attributes and content. Exceptions: of a file with several
 * names, only changes by one of them; what is mounted on a name; and a write by
 * mmap(2) before the file is closed. So the client must not keep the first two
 * for long. Returns false before ic_set_stale(), while the watcher has not read
 * the whole share, on filesystems that other hosts may change, and for a moment
 * for an inode that had just changed when the client met it. */
bool ic_inode_is_watched(struct ic *ic, const struct ic_inode *inode);

/* Return whether ic_set_stale()'s callback gets changes by other processes at
 * all: something watches the folder, and only this host changes it. */
bool ic_stale_is_reported(struct ic *ic);

/* Return the number of changes that ic_set_stale()'s callback gets; 0: none
 * yet. It grows before changes by the client may follow, except for changes by
 * another process, which the watcher must read first. *ret_n_own (may be NULL):
 * how many of them the engine made. */
uint64_t ic_stale_count(struct ic *ic, uint64_t *ret_n_own);

/* Return whether the inode is on the share's filesystem and mount. */
bool ic_inode_is_on_share(struct ic *ic, const struct ic_inode *inode);

/* Return the last known name of the inode, a new string, and the tag of its
 * folder; NULL: none. */
char *ic_inode_last_name(struct ic_inode *inode, uint64_t *ret_dir_tag);

/* ---- writers ------------------------------------------------------------- */

#define IC_WRITER_UNKNOWN 0
#define IC_WRITER_HOST    (-1)

/* The changes that this thread makes from now on are those of this process of
 * the client, by the number that the client's kernel has for it, or as above. A
 * server calls it for each request. In a new thread they are the host's. */
void ic_set_writer(int64_t pid);

/* ---- changes of names ---------------------------------------------------- */

/* The owner of a new inode, unless its directory is setgid. umask: the
 * client's, if the server has not applied it to the mode already. */
struct ic_cred {
    uid_t uid;
    gid_t gid;
    mode_t umask;
};

/* open(2) with O_CREAT. flags: O_ACCMODE, O_EXCL, O_TRUNC, O_APPEND, O_DIRECT,
 * O_SYNC, O_DSYNC, O_NOATIME and O_NONBLOCK are used, others masked off. If the
 * name exists (and no O_EXCL) the file is opened, and its content saved first
 * if O_TRUNC. A symlink of that name is not followed: -ELOOP. Outputs: a new
 * fd, a new reference, its stat (each but ret_fd and ret_inode may be NULL). */
int ic_create(struct ic *ic, const struct ic_cred *cred, struct ic_inode *dir,
              const char *name, int flags, mode_t mode,
              struct ic_inode **ret_inode, struct stat *ret_stat, int *ret_fd);

/* As mkdirat(2), mknodat(2) and symlinkat(2): -EEXIST if the name exists.
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

/* Give an inode another name; -EEXIST if the name exists. ret_stat (may be
 * NULL): after it. */
int ic_linkat(struct ic *ic, struct ic_inode *inode, struct ic_inode *dir,
              const char *name, struct stat *ret_stat);

/* As unlinkat(2); flags is 0 or AT_REMOVEDIR. */
int ic_unlinkat(struct ic *ic, struct ic_inode *dir, const char *name,
                int flags);

/* As renameat2(2); flags is 0, RENAME_NOREPLACE or RENAME_EXCHANGE; others give
 * -EINVAL. */
int ic_renameat2(struct ic *ic, struct ic_inode *old_dir, const char *old_name,
                 struct ic_inode *new_dir, const char *new_name,
                 unsigned flags);

/* Make an unnamed file in dir (O_TMPFILE); ic_linkat() can give it a name. */
int ic_tmpfile(struct ic *ic, const struct ic_cred *cred, struct ic_inode *dir,
               int flags, mode_t mode, struct ic_inode **ret_inode,
               struct stat *ret_stat, int *ret_fd);

/* ---- changes of inodes --------------------------------------------------- */

/* Open an inode: flags as in ic_create(), and O_DIRECTORY. With O_TRUNC the
 * content is saved first. A FIFO, socket or device node is refused with -ENXIO
 * (the client's kernel serves those itself). A new fd. */
int ic_open(struct ic *ic, struct ic_inode *inode, int flags, int *ret_fd);

/* A client that writes in the background, as FUSE's kernel module does with a
 * mapping's pages and with asynchronous direct I/O, may do so after the process
 * that wrote has ended. Its server calls these for each fd of a client that is
 * open for writing: the first when it has opened the fd, before it replies, the
 * second with the returned number when it has closed the fd. ic_step_settle()
 * needs them. */
uint32_t ic_write_opened(struct ic *ic);
void ic_write_closed(struct ic *ic, uint32_t span);

/* The server can make its client drop the pages of an inode: pass items with
 * pages to the callback. Before ic_set_stale(). */
void ic_set_stale_pages(struct ic *ic, bool can);
void ic_stale_pages_end(struct ic_inode *inode);

/* Return the number of undos and redos so far. */
uint64_t ic_stale_undos(struct ic *ic);

/* pwritev2(2) to an fd of this inode from ic_open() or ic_create(). offset is
 * ignored with RWF_APPEND, and with an fd opened with O_APPEND, to which Linux
 * appends every write: a server that passes offsets leaves out O_APPEND and
 * uses RWF_APPEND. rwf_flags: RWF_APPEND, RWF_DSYNC, RWF_SYNC; others go to the
 * kernel, which answers unknown ones with -EOPNOTSUPP. kill_priv: clear suid,
 * sgid and capabilities as for a write by an unprivileged user. Returns the
 * bytes written or -errno. */
ssize_t ic_pwritev(struct ic *ic, struct ic_inode *inode, int fd,
                   const struct iovec *iov, int iovcnt, off_t offset,
                   int rwf_flags, bool kill_priv);

/* The same for pages of the client's cache that a mapping has changed some time
 * ago. They are dropped, as if written, if the file has changed by an undo or a
 * redo meanwhile: the rest of each page may be from before. undos:
 * ic_stale_undos() when the request was read. */
ssize_t ic_pwrite_pages(struct ic *ic, struct ic_inode *inode, int fd,
                        const struct iovec *iov, int iovcnt, off_t offset,
                        int rwf_flags, bool kill_priv, uint64_t undos);

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

/* setxattr(2) and removexattr(2) on the inode itself (symlinks included). */
int ic_setxattr(struct ic *ic, struct ic_inode *inode, const char *name,
                const void *value, size_t size, int flags);
int ic_removexattr(struct ic *ic, struct ic_inode *inode, const char *name);

/* fallocate(2) on an fd of the inode that is open for writing; all modes. */
int ic_fallocate(struct ic *ic, struct ic_inode *inode, int fd, int mode,
                 off_t offset, off_t length);

/* copy_file_range(2) from any fd into an fd of the inode. Returns bytes or
 * -errno. */
ssize_t ic_copy_file_range(struct ic *ic, int in_fd, off_t in_offset,
                           struct ic_inode *out_inode, int out_fd,
                           off_t out_offset, size_t length, unsigned flags);

G_END_DECLS

#endif
