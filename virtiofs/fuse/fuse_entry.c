/* SPDX-License-Identifier: Apache-2.0
 *
 * fuse_entry - build the attributes and entries that most replies consist of.
 */
#include "virtiofs/fuse/fuse_ops.h"

#include <string.h>
#include <sys/sysmacros.h>

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

struct fuse_timeout fuse_entry_timeout(const struct fuse_server *server)
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

bool fuse_entry_is_kept(const struct fuse_server *server)
{
    struct fuse_timeout timeout = fuse_entry_timeout(server);

    return !server->config.no_names && (timeout.seconds > 0 || timeout.ns > 0);
}

uint32_t fuse_entry_open_flags(const struct fuse_server *server, bool is_dir)
{
    return is_dir ? caches[server->config.cache].dir_flags
                  : caches[server->config.cache].file_flags;
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

static void fill(struct fuse_server *server, uint64_t id, const struct stat *st,
                 struct fuse_entry_out *ret_entry)
{
    struct fuse_timeout timeout = fuse_entry_timeout(server);

    /* Node ids contain their generation and are never reused. */
    *ret_entry = (struct fuse_entry_out){
        .nodeid = id,
        .attr_valid = timeout.seconds,
        .attr_valid_nsec = timeout.ns,
    };
    if (fuse_entry_is_kept(server)) {
        ret_entry->entry_valid = timeout.seconds;
        ret_entry->entry_valid_nsec = timeout.ns;
    }
    fuse_entry_fill_attr(server, st, &ret_entry->attr);
}

int fuse_entry_fill(struct fuse_server *server, struct ic_inode *inode,
                    const struct stat *st, struct fuse_entry_out *ret_entry)
{
    uint64_t id;
    int r = fuse_nodes_remember(server->nodes, inode, &id);

    if (r == 0)
        fill(server, id, st, ret_entry);
    return r;
}

int fuse_entry_fill_held(struct fuse_server *server, struct ic_inode *inode,
                         const struct stat *st,
                         struct fuse_entry_out *ret_entry)
{
    uint64_t id;
    int r = fuse_nodes_remember_held(server->nodes, inode, &id);

    if (r == 0)
        fill(server, id, st, ret_entry);
    return r;
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
                     struct ic_inode *inode, const struct stat *st)
{
    struct fuse_entry_out entry;
    int r = fuse_entry_fill(server, inode, st, &entry);

    if (r < 0)
        return r;
    return fuse_request_reply(request, &entry, sizeof(entry));
}
