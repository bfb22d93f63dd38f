/* SPDX-License-Identifier: Apache-2.0
 *
 * fuse_ops - the handlers of the FUSE opcodes, and their shared helpers.
 *
 * A handler gets the request with its arguments loaded, at least as long as the
 * dispatch table requires, and the node that the header names if the table says
 * so (else NULL). It appends its reply and returns 0, or -errno. It may return
 * IC_PARKED only if a restart from the beginning finds everything unchanged,
 * and FUSE_LONG only before it has begun.
 */
#ifndef VIRTIOFS_FUSE_FUSE_OPS_H
#define VIRTIOFS_FUSE_FUSE_OPS_H

#include "virtiofs/fuse/fuse_core.h"
#include "virtiofs/fuse/fuse_request.h"

typedef int fuse_handler(struct fuse_server *server,
                         struct fuse_request *request, struct fuse_node *node);

/* The request must be handled by another thread, which has more time; distinct
 * from every errno and from IC_PARKED. */
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

/* End the flock() lock of an open file when its last fd is closed. */
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

struct fuse_timeout {
    uint64_t seconds;
    uint32_t ns;
};

/* Return how long the client may use the attributes of the inode, which has
 * that many links. */
struct fuse_timeout fuse_entry_attr_timeout(const struct fuse_server *server,
                                            const struct ic_inode *inode,
                                            nlink_t n_links);

/* Return whether the client may reuse a name for a while without a lookup. */
bool fuse_entry_is_kept(const struct fuse_server *server);

/* Mark an entry of dir that is the root of another filesystem: the client then
 * mounts it as a submount, with its own inode numbers. */
void fuse_entry_mark_submount(const struct fuse_server *server,
                              const struct ic_inode *dir, const struct stat *st,
                              struct fuse_attr *attr);

/* Return the FOPEN_* flags for a file or directory that the client opens. */
uint32_t fuse_entry_open_flags(const struct fuse_server *server, bool is_dir);

/* The same for a file of this node that is open as fd. */
uint32_t fuse_entry_file_flags(const struct fuse_server *server,
                               struct fuse_node *node, int fd);

/* The same for a folder: the client may answer from the list that it has read,
 * if the folder has not changed since then. */
uint32_t fuse_entry_dir_flags(const struct fuse_server *server,
                              struct fuse_node *node, int fd);

/* Return a number for these attributes, never 0 or FUSE_KEPT_NAME. */
uint64_t fuse_entry_version(const struct stat *st);

/* Convert device numbers to and from the protocol's packed form. */
uint32_t fuse_entry_encode_rdev(dev_t rdev);
dev_t fuse_entry_decode_rdev(uint32_t rdev);

void fuse_entry_fill_attr(const struct fuse_server *server,
                          const struct stat *st, struct fuse_attr *ret_attr);

/* Count a lookup of the inode (taken) and describe it. dir has its name; NULL:
 * it was not looked up by a name. Return 0 or -errno; the entry is valid, and
 * its node id 0, also on failure. */
int fuse_entry_fill(struct fuse_server *server, const struct ic_inode *dir,
                    struct ic_inode *inode, const struct stat *st,
                    struct fuse_entry_out *ret_entry);

/* The same for a hold (taken). */
int fuse_entry_fill_held(struct fuse_server *server, const struct ic_inode *dir,
                         struct ic_inode *inode, const struct stat *st,
                         struct fuse_entry_out *ret_entry);

/* Describe a name that does not exist in dir. Return whether the client may
 * keep that. */
bool fuse_entry_fill_missing(const struct fuse_server *server,
                             const struct ic_inode *dir,
                             struct fuse_entry_out *ret_entry);

/* Like fuse_entry_fill(), and reply with the entry. */
int fuse_entry_reply(struct fuse_server *server, struct fuse_request *request,
                     const struct ic_inode *dir, struct ic_inode *inode,
                     const struct stat *st);

/* Return whether this thread lacks the time to truncate the file, because much
 * data must be captured or freed on disk (fuse_files.c). */
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

/* Determine the credentials for a creation; umask is as the client sent it.
 * Return 0, -EPERM if the client's user may not be used here, or -ENFILE if the
 * user cannot be determined. */
int fuse_create_begin(struct fuse_server *server, struct fuse_request *request,
                      struct fuse_node *dir, uint32_t umask,
                      struct ic_cred *ret_cred);

/* Parse the labels behind the names. Return 0 or -EINVAL. */
int fuse_create_labels(struct fuse_server *server, struct fuse_request *request,
                       struct fuse_labels *ret_labels);

/* Set the labels of a new file. On failure the file is removed (name may be
 * NULL), inode is released, and -errno is returned. */
int fuse_create_end(struct fuse_server *server, struct fuse_node *dir,
                    const char *name, const struct fuse_labels *labels,
                    struct ic_inode *inode);

/* Map a client's extended attribute to the host's name (fuse_xattr.c). Return 0
 * or -errno. */
int fuse_xattr_map_name(const struct fuse_server *server, const char *name,
                        struct xattr_map_name *space, const char **ret_name);

/* Determine server->capability. */
void fuse_xattr_find_capability(struct fuse_server *server);

/* Remove the capabilities of a file that is about to be written to. Return 0,
 * -errno or IC_PARKED. */
int fuse_xattr_kill_capability(struct fuse_server *server,
                               struct ic_inode *inode);

#endif
