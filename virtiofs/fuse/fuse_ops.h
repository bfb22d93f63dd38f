/* SPDX-License-Identifier: Apache-2.0
 *
 * fuse_ops - the handlers of the FUSE opcodes, and what they share.
 *
 * A handler gets the request with its arguments loaded and at least as long as
 * the dispatch table asks, and the node that the header names, if the table
 * says so (else NULL). It appends its reply and returns 0, or -errno. It may
 * return IC_PARKED, if it leaves nothing behind that doing it again from the
 * start would not find as it was; and FUSE_LONG, if it has not begun.
 */
#ifndef VIRTIOFS_FUSE_FUSE_OPS_H
#define VIRTIOFS_FUSE_FUSE_OPS_H

#include "virtiofs/fuse/fuse_core.h"
#include "virtiofs/fuse/fuse_request.h"

typedef int fuse_handler(struct fuse_server *server,
                         struct fuse_request *request, struct fuse_node *node);

/* Another thread is to do it, with more time; no errno and not IC_PARKED. */
#define FUSE_LONG (-4098)

static inline bool fuse_has_time(const struct fuse_request *request,
                                 enum fuse_pace pace)
{
    return request->scratch->pace >= pace;
}

/* fuse_init.c */
fuse_handler fuse_op_init, fuse_op_destroy;

/* fuse_names.c */
fuse_handler fuse_op_lookup, fuse_op_forget, fuse_op_batch_forget,
    fuse_op_readlink;
fuse_handler fuse_op_symlink, fuse_op_mknod, fuse_op_mkdir, fuse_op_unlink,
    fuse_op_rmdir;
fuse_handler fuse_op_rename, fuse_op_rename2, fuse_op_link;

/* fuse_files.c */
fuse_handler fuse_op_open, fuse_op_create, fuse_op_tmpfile, fuse_op_release;

/* fuse_lock_ops.c */
fuse_handler fuse_op_getlk, fuse_op_setlk, fuse_op_setlkw, fuse_op_flush;

/* The flock() of an open file ends when that is closed by all. */
void fuse_release_locks(struct fuse_server *server,
                        const struct fuse_release_in *in);

/* fuse_io.c */
fuse_handler fuse_op_read, fuse_op_write, fuse_op_fsync, fuse_op_fallocate,
    fuse_op_lseek;
fuse_handler fuse_op_copy_file_range, fuse_op_syncfs;

/* fuse_attr.c */
fuse_handler fuse_op_getattr, fuse_op_setattr, fuse_op_statx, fuse_op_access,
    fuse_op_statfs;

/* fuse_dir.c */
fuse_handler fuse_op_opendir, fuse_op_readdir, fuse_op_readdirplus,
    fuse_op_releasedir;
fuse_handler fuse_op_fsyncdir;

/* fuse_xattr.c */
fuse_handler fuse_op_setxattr, fuse_op_getxattr, fuse_op_listxattr,
    fuse_op_removexattr;

/* ---- shared by the handlers (fuse_entry.c) ------------------------------- */

/* How long attributes are valid in the client, and names, if they are at all
 * (fuse_entry_is_kept()). */
struct fuse_timeout {
    uint64_t seconds;
    uint32_t ns;
};
struct fuse_timeout fuse_entry_timeout(const struct fuse_server *server);

/* May the client use a name again without looking it up? As it is valid for a
 * while. */
bool fuse_entry_is_kept(const struct fuse_server *server);

/* Something in dir that is the root of another filesystem is marked: the
 * client then mounts it by itself, with inode numbers of its own. */
void fuse_entry_mark_submount(const struct fuse_server *server,
                              const struct ic_inode *dir, const struct stat *st,
                              struct fuse_attr *attr);

/* FOPEN_* flags for a file or directory that the client opens. */
uint32_t fuse_entry_open_flags(const struct fuse_server *server, bool is_dir);

/* Device numbers as the protocol packs them. */
uint32_t fuse_entry_encode_rdev(dev_t rdev);
dev_t fuse_entry_decode_rdev(uint32_t rdev);

void fuse_entry_fill_attr(const struct fuse_server *server,
                          const struct stat *st, struct fuse_attr *ret_attr);

/* Count a lookup of the inode (taken) and describe it. 0 or -errno. */
int fuse_entry_fill(struct fuse_server *server, struct ic_inode *inode,
                    const struct stat *st, struct fuse_entry_out *ret_entry);

/* The same with a hold (taken). */
int fuse_entry_fill_held(struct fuse_server *server, struct ic_inode *inode,
                         const struct stat *st,
                         struct fuse_entry_out *ret_entry);

/* The same as fuse_entry_fill(), and reply with it. */
int fuse_entry_reply(struct fuse_server *server, struct fuse_request *request,
                     struct ic_inode *inode, const struct stat *st);

/* Has the thread no time for a cut of this file, as there is much to keep of it
 * or to give back to the disk? (fuse_files.c) */
bool fuse_cut_is_long(const struct fuse_request *request,
                      const struct ic_inode *inode);

/* ---- creating (fuse_create.c) -------------------------------------------- */

enum { FUSE_CREATE_LABELS = 4 };

/* Borrowed from the request. */
struct fuse_label {
    const char *name;
    const void *value;
    uint32_t size;
};

struct fuse_labels {
    unsigned n;
    struct fuse_label label[FUSE_CREATE_LABELS];
};

/* As whom it is made. -EPERM: the client's user may not be used here; -ENFILE:
 * it could not be answered. umask: as the client sent it. */
int fuse_create_begin(struct fuse_server *server, struct fuse_request *request,
                      struct fuse_node *dir, uint32_t umask,
                      struct ic_cred *ret_cred);

/* The labels behind the names. 0 or -EINVAL. */
int fuse_create_labels(struct fuse_server *server, struct fuse_request *request,
                       struct fuse_labels *ret_labels);

/* It is made: give it its labels. If that fails, it is removed (name may be
 * NULL) and inode is given back; -errno. */
int fuse_create_end(struct fuse_server *server, struct fuse_node *dir,
                    const char *name, const struct fuse_labels *labels,
                    struct ic_inode *inode);

/* The host's name of a client's extended attribute (fuse_xattr.c). 0 or
 * -errno. */
int fuse_xattr_map_name(const struct fuse_server *server, const char *name,
                        struct xattr_map_name *space, const char **ret_name);

/* Find out what server->capability is. */
void fuse_xattr_find_capability(struct fuse_server *server);

/* The file is about to be written to, which takes its capabilities. 0, -errno
 * or IC_PARKED. */
int fuse_xattr_kill_capability(struct fuse_server *server,
                               struct ic_inode *inode);

#endif
