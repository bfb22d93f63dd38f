/* SPDX-License-Identifier: Apache-2.0
 *
 * fuse_server - see fuse_server.h. Dispatches requests by opcode.
 */
#include "virtiofs/fuse/fuse_server.h"

#include <errno.h>

#include "common/log.h"
#include "virtiofs/fuse/fuse_ops.h"

enum operation_flags {
    OP_NODE = 1 << 0,     /* the header's node must exist */
    OP_NO_REPLY = 1 << 1, /* in no case */
    OP_DATA = 1 << 2,     /* bytes behind the arguments are not loaded */
    OP_ALWAYS = 1 << 3,   /* allowed before INIT */
    OP_LOCKS = 1 << 4,    /* only if the server handles locks */
    OP_LONG = 1 << 5,     /* may wait for a disk or copy much data */
    OP_HELD = 1 << 6,     /* the node's inode need not be open */
};

struct operation {
    fuse_handler *handle;
    const char *name;
    uint16_t args_min;  /* bytes of arguments */
    uint16_t reply_min; /* room for the reply, checked before handling */
    unsigned flags;
};

/* INTERRUPT has no reply of its own. A parked request is answered with EINTR,
 * so that a process with a pending change can be killed; all other requests end
 * soon. A client that pauses processes sends it for the pause, too: it has
 * --hold-signals, and ends a request by the decision, or with the mount. */
static int fuse_op_interrupt(struct fuse_server *server,
                             struct fuse_request *request,
                             struct fuse_node *node)
{
    const struct fuse_interrupt_in *in = fuse_request_take(request,
                                                           sizeof(*in));

    parked_interrupt(server->parked, in->unique);
    return 0;
}

#define ENTRY_OUT sizeof(struct fuse_entry_out)
#define ATTR_OUT  sizeof(struct fuse_attr_out)
#define OPEN_OUT  sizeof(struct fuse_open_out)

/* BMAP, POLL and DAX are not supported: ENOSYS. The minimum length of strings
 * is their NUL. SETXATTR's minimum is the short struct, as SETXATTR_EXT is
 * negotiated only with POSIX ACLs. */
static const struct operation operations[] = {
    [FUSE_LOOKUP] = { fuse_op_lookup, "LOOKUP", 1, ENTRY_OUT, OP_NODE },
    [FUSE_FORGET] = { fuse_op_forget, "FORGET", sizeof(struct fuse_forget_in),
                      0, OP_NO_REPLY },
    [FUSE_GETATTR] = { fuse_op_getattr, "GETATTR",
                       sizeof(struct fuse_getattr_in), ATTR_OUT,
                       OP_NODE | OP_HELD },
    [FUSE_SETATTR] = { fuse_op_setattr, "SETATTR",
                       sizeof(struct fuse_setattr_in), ATTR_OUT, OP_NODE },
    [FUSE_READLINK] = { fuse_op_readlink, "READLINK", 0, 1, OP_NODE },
    [FUSE_SYMLINK] = { fuse_op_symlink, "SYMLINK", 2, ENTRY_OUT, OP_NODE },
    [FUSE_MKNOD] = { fuse_op_mknod, "MKNOD", sizeof(struct fuse_mknod_in) + 1,
                     ENTRY_OUT, OP_NODE },
    [FUSE_MKDIR] = { fuse_op_mkdir, "MKDIR", sizeof(struct fuse_mkdir_in) + 1,
                     ENTRY_OUT, OP_NODE },
    [FUSE_UNLINK] = { fuse_op_unlink, "UNLINK", 1, 0, OP_NODE },
    [FUSE_RMDIR] = { fuse_op_rmdir, "RMDIR", 1, 0, OP_NODE },
    [FUSE_RENAME] = { fuse_op_rename, "RENAME",
                      sizeof(struct fuse_rename_in) + 2, 0, OP_NODE },
    [FUSE_RENAME2] = { fuse_op_rename2, "RENAME2",
                       sizeof(struct fuse_rename2_in) + 2, 0, OP_NODE },
    [FUSE_LINK] = { fuse_op_link, "LINK", sizeof(struct fuse_link_in) + 1,
                    ENTRY_OUT, OP_NODE },
    [FUSE_OPEN] = { fuse_op_open, "OPEN", sizeof(struct fuse_open_in), OPEN_OUT,
                    OP_NODE },
    [FUSE_READ] = { fuse_op_read, "READ", sizeof(struct fuse_read_in), 0, 0 },
    [FUSE_WRITE] = { fuse_op_write, "WRITE", sizeof(struct fuse_write_in),
                     sizeof(struct fuse_write_out), OP_DATA },
    [FUSE_STATFS] = { fuse_op_statfs, "STATFS", 0,
                      sizeof(struct fuse_statfs_out), OP_NODE },
    [FUSE_RELEASE] = { fuse_op_release, "RELEASE",
                       sizeof(struct fuse_release_in), 0, 0 },
    [FUSE_FSYNC] = { fuse_op_fsync, "FSYNC", sizeof(struct fuse_fsync_in), 0,
                     OP_LONG },
    [FUSE_SETXATTR] = { fuse_op_setxattr, "SETXATTR",
                        FUSE_COMPAT_SETXATTR_IN_SIZE + 1, 0, OP_NODE },
    [FUSE_GETXATTR] = { fuse_op_getxattr, "GETXATTR",
                        sizeof(struct fuse_getxattr_in) + 1, 0, OP_NODE },
    [FUSE_LISTXATTR] = { fuse_op_listxattr, "LISTXATTR",
                         sizeof(struct fuse_getxattr_in), 0, OP_NODE },
    [FUSE_REMOVEXATTR] = { fuse_op_removexattr, "REMOVEXATTR", 1, 0, OP_NODE },
    [FUSE_FLUSH] = { fuse_op_flush, "FLUSH", sizeof(struct fuse_flush_in), 0,
                     0 },
    [FUSE_INIT] = { fuse_op_init, "INIT", 16, sizeof(struct fuse_init_out),
                    OP_ALWAYS },
    [FUSE_OPENDIR] = { fuse_op_opendir, "OPENDIR", sizeof(struct fuse_open_in),
                       OPEN_OUT, OP_NODE },
    [FUSE_READDIR] = { fuse_op_readdir, "READDIR", sizeof(struct fuse_read_in),
                       0, 0 },
    [FUSE_RELEASEDIR] = { fuse_op_releasedir, "RELEASEDIR",
                          sizeof(struct fuse_release_in), 0, 0 },
    [FUSE_FSYNCDIR] = { fuse_op_fsyncdir, "FSYNCDIR",
                        sizeof(struct fuse_fsync_in), 0, OP_LONG },
    [FUSE_ACCESS] = { fuse_op_access, "ACCESS", sizeof(struct fuse_access_in),
                      0, OP_NODE },
    [FUSE_CREATE] = { fuse_op_create, "CREATE",
                      sizeof(struct fuse_create_in) + 1, ENTRY_OUT + OPEN_OUT,
                      OP_NODE },
    [FUSE_INTERRUPT] = { fuse_op_interrupt, "INTERRUPT",
                         sizeof(struct fuse_interrupt_in), 0, OP_NO_REPLY },
    [FUSE_DESTROY] = { fuse_op_destroy, "DESTROY", 0, 0, OP_ALWAYS },
    [FUSE_BATCH_FORGET] = { fuse_op_batch_forget, "BATCH_FORGET",
                            sizeof(struct fuse_batch_forget_in), 0,
                            OP_NO_REPLY | OP_DATA },
    [FUSE_GETLK] = { fuse_op_getlk, "GETLK", sizeof(struct fuse_lk_in),
                     sizeof(struct fuse_lk_out), OP_LOCKS },
    [FUSE_SETLK] = { fuse_op_setlk, "SETLK", sizeof(struct fuse_lk_in), 0,
                     OP_LOCKS },
    [FUSE_SETLKW] = { fuse_op_setlkw, "SETLKW", sizeof(struct fuse_lk_in), 0,
                      OP_LOCKS },
    [FUSE_FALLOCATE] = { fuse_op_fallocate, "FALLOCATE",
                         sizeof(struct fuse_fallocate_in), 0, OP_LONG },
    [FUSE_READDIRPLUS] = { fuse_op_readdirplus, "READDIRPLUS",
                           sizeof(struct fuse_read_in), 0, 0 },
    [FUSE_LSEEK] = { fuse_op_lseek, "LSEEK", sizeof(struct fuse_lseek_in),
                     sizeof(struct fuse_lseek_out), 0 },
    [FUSE_COPY_FILE_RANGE] = { fuse_op_copy_file_range, "COPY_FILE_RANGE",
                               sizeof(struct fuse_copy_file_range_in),
                               sizeof(struct fuse_write_out), OP_LONG },
    [FUSE_SYNCFS] = { fuse_op_syncfs, "SYNCFS", 0, 0, OP_LONG },
    [FUSE_TMPFILE] = { fuse_op_tmpfile, "TMPFILE",
                       sizeof(struct fuse_create_in), ENTRY_OUT + OPEN_OUT,
                       OP_NODE },
    [FUSE_STATX] = { fuse_op_statx, "STATX", sizeof(struct fuse_statx_in),
                     sizeof(struct fuse_statx_out), OP_NODE },
};

static void on_unparked(int verdict, void *parked)
{
    parked_release(parked, verdict);
}

struct fuse_server *fuse_server_new(struct ic *ic,
                                    const struct fuse_server_config *config)
{
    struct fuse_server *server = g_new0(struct fuse_server, 1);

    server->ic = ic;
    server->config = *config;
    fuse_xattr_find_capability(server);
    server->nodes = fuse_nodes_new(ic);
    server->handles = fuse_handles_new(ic);
    server->parked = parked_new();
    if (config->hold_signals)
        parked_hold_signals(server->parked);
    server->locks = file_locks_new(ic, server->parked);
    ic_set_unparked(ic, on_unparked, server->parked);
    if (config->cache == FUSE_CACHE_LEASE) {
        server->lease = fuse_lease_new(ic, config->timeout);
        ic_set_stale(ic, fuse_lease_tell, server->lease);
    }
    return server;
}

void fuse_server_free(struct fuse_server *server)
{
    if (!server)
        return;
    ic_set_unparked(server->ic, NULL, NULL);
    if (server->lease)
        ic_set_stale(server->ic, NULL, NULL);
    fuse_lease_free(server->lease);
    file_locks_free(server->locks);
    parked_free(server->parked);
    fuse_handles_free(server->handles);
    fuse_nodes_free(server->nodes);
    g_free(server);
}

static const struct operation *find_operation(const struct fuse_server *server,
                                              uint32_t opcode)
{
    const struct fuse_server_config *config = &server->config;

    if (opcode >= G_N_ELEMENTS(operations) || !operations[opcode].handle)
        return NULL;
    if (operations[opcode].flags & OP_LOCKS && !config->posix_locks &&
        !config->flocks)
        return NULL;
    return &operations[opcode];
}

static int run_on_node(struct fuse_server *server,
                       const struct operation *operation,
                       struct fuse_request *request)
{
    bool held = operation->flags & OP_HELD;
    uint64_t id = request->head.nodeid;
    struct fuse_node *node;
    int r = held ? fuse_nodes_get_held(server->nodes, id, &node)
                 : fuse_nodes_get(server->nodes, id, &node);

    if (r < 0)
        return r;
    r = operation->handle(server, request, node);
    if (r != IC_PARKED && r != FUSE_LONG && r != -ESTALE)
        fuse_lease_settle(server->lease, request->head.pid);
    if (held)
        fuse_nodes_put_held(server->nodes, node);
    else
        fuse_nodes_put(server->nodes, node);
    return r;
}

static int run_operation(struct fuse_server *server,
                         const struct operation *operation,
                         struct fuse_request *request)
{
    int r;

    if (!(operation->flags & OP_ALWAYS) && !atomic_load(&server->initialized))
        return -EIO;
    if (operation->flags & OP_LONG && !fuse_has_time(request, FUSE_PACE_ANY))
        return FUSE_LONG;
    r = fuse_request_load_args(request, operation->args_min,
                               operation->flags & OP_DATA);
    if (r < 0)
        return r;
    /* Check the reply's room before the operation has side effects. */
    if (fuse_request_room(request) < operation->reply_min)
        return -EINVAL;
    return operation->flags & OP_NODE
               ? run_on_node(server, operation, request)
               : operation->handle(server, request, NULL);
}

size_t fuse_server_handle(struct fuse_server *server,
                          struct fuse_scratch *scratch, const struct iovec *in,
                          unsigned n_in, const struct iovec *out,
                          unsigned n_out)
{
    const struct operation *operation;
    struct fuse_request request;
    int r = fuse_request_begin(&request, scratch, in, n_in, out, n_out);

    if (r < 0) {
        log_debug(LOG_FS_BACKEND, "malformed FUSE request");
        return fuse_request_finish(&request, r);
    }
    operation = find_operation(server, request.head.opcode);
    if (!operation) {
        log_debug(LOG_FS_BACKEND, "FUSE opcode %u: not supported",
                  request.head.opcode);
        return fuse_request_finish(&request, -ENOSYS);
    }
    ic_set_writer(request.head.pid);
    fuse_lease_begin(server->lease);
    r = run_operation(server, operation, &request);
    log_trace(LOG_FS_BACKEND, "%s node %#" G_GINT64_MODIFIER "x: %d",
              operation->name, (guint64)request.head.nodeid, r);
    if (operation->flags & OP_NO_REPLY)
        return 0;
    if (r == -EMFILE) /* a limit of the daemon, not of the guest's program */
        r = -ENFILE;
    if (r == IC_PARKED) {
        scratch->unique = request.head.unique;
        scratch->is_lock = operation->flags & OP_LOCKS;
        return FUSE_SERVER_PARKED;
    }
    if (r == FUSE_LONG)
        return FUSE_SERVER_LONG;
    return fuse_request_finish(&request, r);
}

size_t fuse_server_refuse(struct fuse_server *server,
                          struct fuse_scratch *scratch, const struct iovec *in,
                          unsigned n_in, const struct iovec *out,
                          unsigned n_out, int error)
{
    struct fuse_request request;

    if (fuse_request_begin(&request, scratch, in, n_in, out, n_out) == 0)
        file_locks_abandon(server->locks, request.head.unique);
    return fuse_request_finish(&request, error);
}

void fuse_server_set_mount_dev(struct fuse_server *server, dev_t dev)
{
    ic_set_mount_dev(server->ic, dev);
}

void fuse_server_set_stale(struct fuse_server *server,
                           void (*tell)(const struct ic_stale *list, size_t n,
                                        bool wait, void *opaque),
                           void *opaque)
{
    ic_set_stale_pages(server->ic, tell != NULL);
    ic_set_stale(server->ic, tell, opaque);
    server->notifies = tell && server->config.cache == FUSE_CACHE_AUTO &&
                       !server->config.timeout_given;
}

void fuse_server_set_teller(struct fuse_server *server,
                            const struct fuse_lease_teller *teller,
                            void *opaque)
{
    fuse_lease_set_teller(server->lease, teller, opaque);
}

void fuse_server_keep_long(struct fuse_server *server, bool can)
{
    fuse_lease_keep_long(server->lease, can);
}

uint64_t fuse_server_undos(const struct fuse_server *server)
{
    return ic_stale_undos(server->ic);
}

void fuse_server_each_known(struct fuse_server *server,
                            void (*each)(const struct ic_stale *known,
                                         void *opaque),
                            void *opaque)
{
    fuse_nodes_each(server->nodes, each, opaque);
}

char *fuse_server_last_name(struct fuse_server *server, uint64_t id,
                            uint64_t *ret_dir)
{
    struct fuse_node *node;
    char *name;

    if (fuse_nodes_get_held(server->nodes, id, &node) < 0)
        return NULL;
    name = ic_inode_last_name(node->inode, ret_dir);
    fuse_nodes_put_held(server->nodes, node);
    if (*ret_dir == 0)
        g_clear_pointer(&name, g_free);
    return name;
}

struct visit {
    void (*each)(const struct ic_stale *known, void *opaque);
    void *opaque;
};

static void visit_mappable(const struct ic_inode *inode, void *opaque)
{
    const struct ic_stale known = { .inode = ic_inode_tag(inode) };
    const struct visit *visit = opaque;

    visit->each(&known, visit->opaque);
}

void fuse_server_each_mappable(struct fuse_server *server,
                               void (*each)(const struct ic_stale *known,
                                            void *opaque),
                               void *opaque)
{
    struct visit visit = { each, opaque };

    fuse_handles_each_mappable(server->handles, visit_mappable, &visit);
}

struct parked *fuse_server_parked(struct fuse_server *server)
{
    return server->parked;
}
