/* SPDX-License-Identifier: Apache-2.0
 *
 * lease_changes - see lease_changes.h.
 */
#include "tests/virtiofs/lease_changes.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

static int open_for(struct guest *g, uint64_t node, uint32_t flags)
{
    uint64_t fh;
    int r = fuse_client_open(g->client, node, flags, 0, &fh);

    return r < 0 ? r : fuse_client_release(g->client, FUSE_RELEASE, node, fh);
}

int lease_open_write(struct guest *g, uint64_t node)
{
    return open_for(g, node, O_WRONLY);
}

int lease_open_read(struct guest *g, uint64_t node)
{
    return open_for(g, node, O_RDONLY);
}

static int set(struct guest *g, uint64_t node, uint32_t valid)
{
    struct fuse_setattr_in in = { .valid = valid, .mode = 0700, .size = 3 };
    struct fuse_attr attr;

    return fuse_client_setattr(g->client, node, &in, &attr);
}

int lease_set_mode(struct guest *g, uint64_t node)
{
    return set(g, node, FATTR_MODE);
}

static int set_size(struct guest *g, uint64_t node)
{
    return set(g, node, FATTR_SIZE);
}

static int set_xattr(struct guest *g, uint64_t node)
{
    struct fuse_setxattr_in in = { .size = 1 };
    struct iovec args[] = { { &in, FUSE_COMPAT_SETXATTR_IN_SIZE },
                            TEXT("user.test"),
                            { (void *)"x", 1 } };

    return fuse_client_call(g->client, FUSE_QUEUE, FUSE_SETXATTR, node, args, 3,
                            0, NULL, NULL);
}

static int remove_xattr(struct guest *g, uint64_t node)
{
    struct iovec args[] = { TEXT("user.test") };

    return fuse_client_call(g->client, FUSE_QUEUE, FUSE_REMOVEXATTR, node, args,
                            1, 0, NULL, NULL);
}

static int make_link(struct guest *g, uint64_t node)
{
    struct fuse_link_in in = { .oldnodeid = node };
    struct iovec args[] = { PIECE(in), TEXT("link") };

    return fuse_client_call(g->client, FUSE_QUEUE, FUSE_LINK, FUSE_ROOT_ID,
                            args, 2, sizeof(struct fuse_entry_out), NULL, NULL);
}

static int create(struct guest *g, uint64_t dir)
{
    uint64_t node, fh;
    int r = fuse_client_create(g->client, dir, "new", O_RDWR, &node, &fh);

    return r < 0 ? r : fuse_client_release(g->client, FUSE_RELEASE, node, fh);
}

static int make_dir(struct guest *g, uint64_t dir)
{
    uint64_t node;

    return fuse_client_mkdir(g->client, dir, "made", &node);
}

static int make_symlink(struct guest *g, uint64_t dir)
{
    struct iovec args[] = { TEXT("symlink"), TEXT("target") };

    return fuse_client_call(g->client, FUSE_QUEUE, FUSE_SYMLINK, dir, args, 2,
                            sizeof(struct fuse_entry_out), NULL, NULL);
}

static int make_fifo(struct guest *g, uint64_t dir)
{
    struct fuse_mknod_in in = { .mode = S_IFIFO | 0600 };
    struct iovec args[] = { PIECE(in), TEXT("fifo") };

    return fuse_client_call(g->client, FUSE_QUEUE, FUSE_MKNOD, dir, args, 2,
                            sizeof(struct fuse_entry_out), NULL, NULL);
}

static int remove_file(struct guest *g, uint64_t dir)
{
    return fuse_client_remove(g->client, FUSE_UNLINK, dir, "new");
}

static int remove_dir(struct guest *g, uint64_t dir)
{
    return fuse_client_remove(g->client, FUSE_RMDIR, dir, "made");
}

static int move_out(struct guest *g, uint64_t dir)
{
    return fuse_client_rename(g->client, dir, "g", FUSE_ROOT_ID, "g", 0);
}

static int move_in(struct guest *g, uint64_t dir)
{
    return fuse_client_rename(g->client, FUSE_ROOT_ID, "victim", dir, "victim",
                              0);
}

static int list(struct guest *g, uint64_t dir)
{
    uint64_t fh;
    int r = fuse_client_opendir(g->client, dir, &fh);

    return r < 0 ? r : fuse_client_release(g->client, FUSE_RELEASEDIR, dir, fh);
}

const struct lease_change lease_of_files[LEASE_OF_FILES] = {
    { "open to write", lease_open_write },
    { "open to read", lease_open_read },
    { "chmod", lease_set_mode },
    { "truncate", set_size },
    { "setxattr", set_xattr },
    { "removexattr", remove_xattr },
    { "link", make_link },
};

const struct lease_change lease_of_folders[LEASE_OF_FOLDERS] = {
    { "chmod", lease_set_mode }, { "open", list },
    { "create", create },        { "mkdir", make_dir },
    { "symlink", make_symlink }, { "mkfifo", make_fifo },
    { "unlink", remove_file },   { "rmdir", remove_dir },
    { "rename from", move_out }, { "rename to", move_in },
};
