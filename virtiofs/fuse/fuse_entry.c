/* SPDX-License-Identifier: Apache-2.0
 *
 * fuse_entry - build the attributes and entries that most replies consist of.
 */
#include "virtiofs/fuse/fuse_ops.h"

#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>

#define DAY 86400

static const struct {
    const char *name;
    uint64_t timeout; /* seconds */
    uint32_t file_flags, dir_flags;
} caches[] = {
    [FUSE_CACHE_NEVER] = { "never", 0, FOPEN_DIRECT_IO, 0 },
    [FUSE_CACHE_METADATA] = { "metadata", DAY, FOPEN_DIRECT_IO,
                              FOPEN_KEEP_CACHE | FOPEN_CACHE_DIR },
    [FUSE_CACHE_AUTO] = { "auto", 1, 0, 0 },
    [FUSE_CACHE_ALWAYS] = { "always", DAY, FOPEN_KEEP_CACHE,
                            FOPEN_KEEP_CACHE | FOPEN_CACHE_DIR },
    /* options.c sets the timeout. */
    [FUSE_CACHE_LEASE] = { "lease", 0, FOPEN_DIRECT_IO, 0 },
};

bool fuse_cache_parse(const char *name, enum fuse_cache *ret_cache)
{
    if (strcmp(name, "none") == 0)
        name = "never";
    for (size_t i = 0; i < G_N_ELEMENTS(caches); i++) {
        if (strcmp(name, caches[i].name) == 0) {
            *ret_cache = (enum fuse_cache)i;
            return true;
        }
    }
    return false;
}

static struct fuse_timeout policy_timeout(const struct fuse_server *server)
{
    struct fuse_timeout timeout = {
        .seconds = caches[server->config.cache].timeout,
    };

    if (server->config.timeout_given) {
        timeout.seconds = (uint64_t)server->config.timeout;
        timeout.ns = (uint32_t)((server->config.timeout -
                                 (double)timeout.seconds) *
                                1e9);
    }
    return timeout;
}

/* Return whether the engine reports changes by other processes to the server.
 */
static bool reports(const struct fuse_server *server)
{
    return server->notifies || server->lease;
}

/* Return whether the client may keep what is watched for long, as it is
 * notified of changes. */
static bool keeps_long(const struct fuse_server *server)
{
    return server->notifies ||
           (server->lease && fuse_lease_is_long(server->lease));
}

/* watched: each change by another process is reported. */
static struct fuse_timeout kept_timeout(const struct fuse_server *server,
                                        bool watched)
{
    if (server->lease && !fuse_lease_grant(server->lease, watched))
        return (struct fuse_timeout){ 0 };
    return policy_timeout(server);
}

struct fuse_timeout fuse_entry_attr_timeout(const struct fuse_server *server,
                                            const struct ic_inode *inode,
                                            nlink_t n_links)
{
    bool one_name = n_links <= 1 || S_ISDIR(ic_inode_type(inode));
    bool watched = reports(server) && one_name &&
                   ic_inode_is_watched(server->ic, inode);

    if (watched && keeps_long(server))
        return (struct fuse_timeout){ .seconds = FUSE_LEASE_LONG_S };
    return kept_timeout(server, watched);
}

/* inode: NULL: there is no such name. With undo a name of a file that has
 * several is looked up at each use: the engine knows the last one that was, and
 * reports a change under it, also after the client has removed another. */
static struct fuse_timeout name_timeout(const struct fuse_server *server,
                                        const struct ic_inode *dir,
                                        const struct ic_inode *inode,
                                        nlink_t n_links)
{
    bool watched = reports(server) && dir &&
                   ic_inode_is_watched(server->ic, dir) &&
                   (!inode || ic_inode_is_on_share(server->ic, inode));

    if ((server->notifies || server->lease) && inode && n_links > 1 &&
        !S_ISDIR(ic_inode_type(inode)))
        return (struct fuse_timeout){ 0 };
    /* That a name does not exist is known to no node, so the engine cannot tell
     * a guest to drop it when changes were missed. */
    if (watched && !inode && server->notifies)
        return (struct fuse_timeout){ .seconds = FUSE_LEASE_MISSING_S };
    if (watched && inode && keeps_long(server))
        return (struct fuse_timeout){ .seconds = FUSE_LEASE_LONG_S };
    return inode ? kept_timeout(server, watched) : (struct fuse_timeout){ 0 };
}

bool fuse_entry_is_kept(const struct fuse_server *server)
{
    struct fuse_timeout timeout = policy_timeout(server);

    return !server->config.no_names && (timeout.seconds > 0 || timeout.ns > 0);
}

uint32_t fuse_entry_open_flags(const struct fuse_server *server, bool is_dir)
{
    return is_dir ? caches[server->config.cache].dir_flags
                  : caches[server->config.cache].file_flags;
}

enum {
    /* The content of a file that another process writes by mmap(2) changes
     * without its times until the kernel has written the pages back, after 30 s
     * by default, and write-protected them. */
    WRITTEN_BACK_S = 60,
    /* Changes of a folder within a tick of the kernel's clock (up to 10 ms) can
     * have the same times. */
    TICK_S = 2,
    /* A folder is listed again while the names that READDIRPLUS brought are
     * still valid. Otherwise each would be looked up. */
    LISTED_S = FUSE_LEASE_LONG_S / 2,
};

static uint64_t mix(uint64_t version, uint64_t value)
{
    return version * 0x100000001b3ull + value;
}

uint64_t fuse_entry_version(const struct stat *st)
{
    uint64_t version = mix(
        mix((uint64_t)st->st_size, (uint64_t)st->st_ctim.tv_sec),
        (uint64_t)st->st_ctim.tv_nsec);

    return version > FUSE_KEPT_NAME ? version : FUSE_KEPT_NAME + 1;
}

/* Return a number for the version of what the client may have read from the
 * file or folder; 0 if that may still change unnoticed. */
static uint64_t content_version(const struct stat *st)
{
    bool is_dir = S_ISDIR(st->st_mode);
    uint64_t version = fuse_entry_version(st);
    struct timespec now;

    clock_gettime(CLOCK_REALTIME_COARSE, &now);
    if (now.tv_sec - st->st_ctim.tv_sec < (is_dir ? TICK_S : WRITTEN_BACK_S))
        return 0;
    return is_dir ? mix(version, (uint64_t)(now.tv_sec / LISTED_S)) : version;
}

/* Return FOPEN_KEEP_CACHE if what the client has read through the node is still
 * right, else 0. */
static uint32_t keep_flag(struct fuse_node *node, const struct stat *st)
{
    uint64_t version = content_version(st);
    uint64_t before = atomic_exchange_explicit(&node->version, version,
                                               memory_order_relaxed);

    return version != 0 && version == before ? FOPEN_KEEP_CACHE : 0;
}

uint32_t fuse_entry_file_flags(const struct fuse_server *server,
                               struct fuse_node *node, int fd)
{
    uint32_t flags = fuse_entry_open_flags(server, false);
    struct stat st;

    if (!server->notifies || !ic_inode_is_watched(server->ic, node->inode) ||
        fstat(fd, &st) < 0)
        return flags;
    return flags | keep_flag(node, &st);
}

uint32_t fuse_entry_dir_flags(const struct fuse_server *server,
                              struct fuse_node *node, int fd)
{
    uint32_t flags = fuse_entry_open_flags(server, true);
    struct stat st;

    if (!keeps_long(server) || !ic_inode_is_watched(server->ic, node->inode) ||
        fstat(fd, &st) < 0)
        return flags;
    return flags | FOPEN_CACHE_DIR | keep_flag(node, &st);
}

/* Linux's 32-bit format: 12 bits of major between the low 8 and the high 12
 * bits of minor. */
uint32_t fuse_entry_encode_rdev(dev_t rdev)
{
    uint32_t ma = major(rdev), mi = minor(rdev);

    return (mi & 0xff) | (ma & 0xfff) << 8 | (mi & 0xfff00) << 12;
}

dev_t fuse_entry_decode_rdev(uint32_t rdev)
{
    return makedev((rdev >> 8) & 0xfff,
                   (rdev & 0xff) | ((rdev >> 12) & 0xfff00));
}

void fuse_entry_fill_attr(const struct fuse_server *server,
                          const struct stat *st, struct fuse_attr *ret_attr)
{
    *ret_attr = (struct fuse_attr){
        .ino = st->st_ino,
        .size = (uint64_t)st->st_size,
        .blocks = (uint64_t)st->st_blocks,
        .atime = (uint64_t)st->st_atim.tv_sec,
        .mtime = (uint64_t)st->st_mtim.tv_sec,
        .ctime = (uint64_t)st->st_ctim.tv_sec,
        .atimensec = (uint32_t)st->st_atim.tv_nsec,
        .mtimensec = (uint32_t)st->st_mtim.tv_nsec,
        .ctimensec = (uint32_t)st->st_ctim.tv_nsec,
        .mode = st->st_mode,
        .nlink = (uint32_t)st->st_nlink,
        .uid = id_map_to_guest(server->config.ids.users, st->st_uid),
        .gid = id_map_to_guest(server->config.ids.groups, st->st_gid),
        .rdev = fuse_entry_encode_rdev(st->st_rdev),
        .blksize = (uint32_t)st->st_blksize,
    };
}

/* Fill in all but the node id. Return fuse_node.kept. A client that guesses ids
 * may make a node forget its inode at once, so the inode is examined before it
 * is remembered. */
static uint64_t fill(const struct fuse_server *server,
                     const struct ic_inode *dir, const struct ic_inode *inode,
                     const struct stat *st, struct fuse_entry_out *ret_entry)
{
    struct fuse_timeout attr = fuse_entry_attr_timeout(server, inode,
                                                       st->st_nlink);

    /* Node ids contain their generation and are never reused. */
    *ret_entry = (struct fuse_entry_out){
        .attr_valid = attr.seconds,
        .attr_valid_nsec = attr.ns,
    };
    if (fuse_entry_is_kept(server)) {
        struct fuse_timeout name = name_timeout(server, dir, inode,
                                                st->st_nlink);

        ret_entry->entry_valid = name.seconds;
        ret_entry->entry_valid_nsec = name.ns;
    }
    fuse_entry_fill_attr(server, st, &ret_entry->attr);
    if (ret_entry->attr_valid == FUSE_LEASE_LONG_S)
        return fuse_entry_version(st);
    return ret_entry->entry_valid == FUSE_LEASE_LONG_S ? FUSE_KEPT_NAME : 0;
}

int fuse_entry_fill(struct fuse_server *server, const struct ic_inode *dir,
                    struct ic_inode *inode, const struct stat *st,
                    struct fuse_entry_out *ret_entry)
{
    uint64_t id, kept = fill(server, dir, inode, st, ret_entry);
    int r = fuse_nodes_remember(server->nodes, inode, kept, &id);

    if (r == 0)
        ret_entry->nodeid = id;
    return r;
}

int fuse_entry_fill_held(struct fuse_server *server, const struct ic_inode *dir,
                         struct ic_inode *inode, const struct stat *st,
                         struct fuse_entry_out *ret_entry)
{
    uint64_t id, kept = fill(server, dir, inode, st, ret_entry);
    int r = fuse_nodes_remember_held(server->nodes, inode, kept, &id);

    if (r == 0)
        ret_entry->nodeid = id;
    return r;
}

bool fuse_entry_fill_missing(const struct fuse_server *server,
                             const struct ic_inode *dir,
                             struct fuse_entry_out *ret_entry)
{
    struct fuse_timeout timeout = name_timeout(server, dir, NULL, 0);

    *ret_entry = (struct fuse_entry_out){
        .entry_valid = timeout.seconds,
        .entry_valid_nsec = timeout.ns,
    };
    return timeout.seconds > 0;
}

void fuse_entry_mark_submount(const struct fuse_server *server,
                              const struct ic_inode *dir, const struct stat *st,
                              struct fuse_attr *attr)
{
    if (server->config.announce_submounts && S_ISDIR(st->st_mode) &&
        st->st_dev != ic_inode_dev(dir))
        attr->flags |= FUSE_ATTR_SUBMOUNT;
}

int fuse_entry_reply(struct fuse_server *server, struct fuse_request *request,
                     const struct ic_inode *dir, struct ic_inode *inode,
                     const struct stat *st)
{
    struct fuse_entry_out entry;
    int r = fuse_entry_fill(server, dir, inode, st, &entry);

    if (r < 0)
        return r;
    return fuse_request_reply(request, &entry, sizeof(entry));
}
