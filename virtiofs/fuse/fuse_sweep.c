/* SPDX-License-Identifier: Apache-2.0
 *
 * fuse_sweep - see fuse_sweep.h.
 */
#include "virtiofs/fuse/fuse_sweep.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "virtiofs/fuse/fuse_ops.h"

/* Less than a millisecond, if the host has their names in memory. */
#define SLOTS_AT_ONCE 64

struct pass {
    struct fuse_server *server;
    void (*each)(const struct ic_stale *changed, void *opaque);
    void *opaque;
};

/* Stat what the name in the folder leads to, also if that is mounted there; a
 * filesystem that does not answer must not stop this thread. Fills in only what
 * this file needs. Return 0 or -errno. */
static int look_at_name(struct fuse_server *server, uint64_t dir,
                        const char *name, struct stat *ret_stat)
{
    struct fuse_node *parent;
    struct statx sx;
    int r = fuse_nodes_get(server->nodes, dir, &parent);

    if (r < 0)
        return r;
    if (statx(ic_inode_fd(parent->inode), name,
              AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC,
              STATX_BASIC_STATS, &sx) < 0)
        r = -errno;
    fuse_nodes_put(server->nodes, parent);
    if (r < 0)
        return r;
    *ret_stat = (struct stat){
        .st_dev = makedev(sx.stx_dev_major, sx.stx_dev_minor),
        .st_ino = sx.stx_ino,
        .st_size = (off_t)sx.stx_size,
        .st_ctim = { .tv_sec = sx.stx_ctime.tv_sec,
                     .tv_nsec = sx.stx_ctime.tv_nsec },
    };
    return 0;
}

/* Errors that tell something; after others, the next sweep looks again. */
static bool is_gone(int r)
{
    return r == -ENOENT || r == -ENOTDIR || r == -ESTALE;
}

static bool is_elsewhere(const struct ic_inode *inode, int r,
                         const struct stat *st)
{
    return is_gone(r) || (r == 0 && (st->st_ino != ic_inode_ino(inode) ||
                                     st->st_dev != ic_inode_dev(inode)));
}

static uint64_t hash_of(uint64_t dir, const char *name)
{
    return ((dir + 1) << 32) ^ g_str_hash(name);
}

/* Look at the last name. Return whether it leads to the inode, whose attributes
 * are then in *ret_stat. */
static bool look_by_name(const struct pass *pass, struct fuse_node *node,
                         struct stat *ret_stat)
{
    struct ic_stale changed = { .inode = node->id };
    g_autofree char *name = ic_inode_last_name(node->inode, &changed.dir);
    int r;

    if (!name || changed.dir == 0 ||
        atomic_load(&node->moved_from) == hash_of(changed.dir, name))
        return false;
    r = look_at_name(pass->server, changed.dir, name, ret_stat);
    if (is_elsewhere(node->inode, r, ret_stat)) {
        changed.name = name;
        atomic_store(&node->moved_from, hash_of(changed.dir, name));
        pass->each(&changed, pass->opaque);
        return false;
    }
    return r == 0;
}

/* By its name, an inode that is not open might be one of a filesystem that does
 * not answer. */
static bool look_at_open(const struct pass *pass, struct ic_inode *inode,
                         struct stat *ret_stat)
{
    bool ok = ic_inode_ref_open(inode);

    if (!ok)
        return false;
    ok = ic_stat(pass->server->ic, inode, ret_stat) == 0;
    ic_inode_unref(inode);
    return ok;
}

static void look(struct fuse_node *node, void *opaque)
{
    const struct pass *pass = opaque;
    const struct ic_stale changed = { .inode = node->id };
    uint64_t kept = atomic_load(&node->kept);
    struct stat st;

    if (kept == 0 || (!look_by_name(pass, node, &st) &&
                      !look_at_open(pass, node->inode, &st)))
        return;
    /* If the client has got other attributes meanwhile, those are to be looked
     * at. */
    if (kept != FUSE_KEPT_NAME && fuse_entry_version(&st) != kept &&
        atomic_compare_exchange_strong(&node->kept, &kept, FUSE_KEPT_NAME))
        pass->each(&changed, pass->opaque);
}

bool fuse_sweep_some(struct fuse_server *server, struct fuse_sweep *sweep,
                     void (*each)(const struct ic_stale *changed, void *opaque),
                     void *opaque)
{
    struct pass pass = { server, each, opaque };

    return fuse_nodes_some(server->nodes, &sweep->slot, SLOTS_AT_ONCE, look,
                           &pass);
}
