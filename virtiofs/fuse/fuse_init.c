/* SPDX-License-Identifier: Apache-2.0
 *
 * fuse_init - INIT and DESTROY: the start and the end of a client's session.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "common/log.h"
#include "virtiofs/fuse/fuse_ops.h"

#define MAX_WRITE (1u << 20)
#define MAX_PAGES (MAX_WRITE / 4096)

/* The flags that the server accepts if the client offers them.
 *
 * WRITEBACK_CACHE only on request, and never with undo: the host must see a
 * step's writes when the step ends. POSIX_ACL only on request, and with
 * DONT_MASK, because the client would otherwise apply its umask where a default
 * ACL takes its place. Not accepted: HANDLE_KILLPRIV (V2 is better),
 * NO_OPEN_SUPPORT (the server opens files). */
static const uint64_t wanted = FUSE_ASYNC_READ | FUSE_ATOMIC_O_TRUNC |
                               FUSE_EXPORT_SUPPORT | FUSE_BIG_WRITES |
                               FUSE_DO_READDIRPLUS | FUSE_READDIRPLUS_AUTO |
                               FUSE_ASYNC_DIO | FUSE_PARALLEL_DIROPS |
                               FUSE_ABORT_ERROR | FUSE_MAX_PAGES |
                               FUSE_HANDLE_KILLPRIV_V2 | FUSE_INIT_EXT |
                               FUSE_DIRECT_IO_ALLOW_MMAP;

static uint64_t choose_flags(const struct fuse_server *server,
                             const struct fuse_init_in *in)
{
    uint64_t offered = in->flags;
    uint64_t flags = wanted;

    if (in->flags & FUSE_INIT_EXT)
        offered |= (uint64_t)in->flags2 << 32;
    if (server->config.cache == FUSE_CACHE_AUTO)
        flags |= FUSE_AUTO_INVAL_DATA;
    if (server->config.no_readdirplus)
        flags &= ~(uint64_t)(FUSE_DO_READDIRPLUS | FUSE_READDIRPLUS_AUTO);
    if (server->config.no_killpriv)
        flags &= ~(uint64_t)FUSE_HANDLE_KILLPRIV_V2;
    if (server->config.announce_submounts)
        flags |= FUSE_SUBMOUNTS;
    if (server->config.writeback)
        flags |= FUSE_WRITEBACK_CACHE;
    /* Without these flags the client's kernel handles locks itself. */
    if (server->config.posix_locks)
        flags |= FUSE_POSIX_LOCKS;
    if (server->config.flocks)
        flags |= FUSE_FLOCK_LOCKS;
    if (server->config.cache == FUSE_CACHE_ALWAYS || server->notifies)
        flags |= FUSE_CACHE_SYMLINKS;
    if (server->config.posix_acl)
        flags |= FUSE_POSIX_ACL | FUSE_DONT_MASK | FUSE_SETXATTR_EXT;
    if (server->config.security_label)
        flags |= FUSE_SECURITY_CTX;
    flags &= offered;
    /* A client that clears suid bits itself does so in the SETATTR that
     * truncates the file; an OPEN with O_TRUNC would skip that. */
    if (!(flags & FUSE_HANDLE_KILLPRIV_V2))
        flags &= ~(uint64_t)FUSE_ATOMIC_O_TRUNC;
    return flags;
}

static int reply_init(struct fuse_request *request,
                      const struct fuse_init_in *in, uint64_t flags)
{
    struct fuse_init_out out = {
        .major = FUSE_KERNEL_VERSION,
        .minor = FUSE_ABI_MINOR,
        .max_readahead = in->max_readahead,
        .flags = (uint32_t)flags,
        .flags2 = (uint32_t)(flags >> 32),
        .max_background = 64,
        .congestion_threshold = 48,
        .max_write = MAX_WRITE,
        .time_gran = 1,
        .max_pages = MAX_PAGES,
    };

    return fuse_request_reply(request, &out, sizeof(out));
}

/* Log only once: a guest must not be able to fill the log. */
static void report_version(struct fuse_server *server,
                           const struct fuse_init_in *in)
{
    if (!atomic_exchange(&server->version_reported, true))
        log_error(LOG_FS_BACKEND,
                  "client speaks FUSE %u.%u; 7.%d or later is required",
                  in->major, in->minor, FUSE_ABI_MIN_MINOR);
}

int fuse_op_init(struct fuse_server *server, struct fuse_request *request,
                 struct fuse_node *node)
{
    /* Before 7.36 the request had only the first 16 bytes. */
    size_t size = MIN(fuse_request_args_left(request),
                      sizeof(struct fuse_init_in));
    struct fuse_init_in in = { 0 };
    uint64_t flags;

    memcpy(&in, fuse_request_take(request, size), size);
    if (in.major < FUSE_KERNEL_VERSION ||
        (in.major == FUSE_KERNEL_VERSION && in.minor < FUSE_ABI_MIN_MINOR)) {
        report_version(server, &in);
        return -EPROTO;
    }
    /* For a newer major, reply with ours; the client then repeats INIT with
     * it. */
    if (in.major > FUSE_KERNEL_VERSION) {
        struct fuse_init_out out = { .major = FUSE_KERNEL_VERSION,
                                     .minor = FUSE_ABI_MINOR };

        return fuse_request_reply(request, &out, sizeof(out));
    }
    flags = choose_flags(server, &in);
    /* A client that starts again (a reboot) loses its former state. */
    fuse_core_reset(server);
    atomic_store(&server->export_support, flags & FUSE_EXPORT_SUPPORT);
    atomic_store(&server->kills_priv, !!(flags & FUSE_HANDLE_KILLPRIV_V2));
    atomic_store(&server->dont_mask, flags & FUSE_DONT_MASK);
    atomic_store(&server->setxattr_ext, flags & FUSE_SETXATTR_EXT);
    atomic_store(&server->security_ctx, !!(flags & FUSE_SECURITY_CTX));
    atomic_store(&server->initialized, true);
    log_debug(LOG_FS_BACKEND, "client speaks FUSE 7.%u, flags %#" PRIx64,
              in.minor, flags);
    return reply_init(request, &in, flags);
}

int fuse_op_destroy(struct fuse_server *server, struct fuse_request *request,
                    struct fuse_node *node)
{
    fuse_core_reset(server);
    return 0;
}
