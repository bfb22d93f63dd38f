/* SPDX-License-Identifier: Apache-2.0
 *
 * p9_client_files - requests of files, names and attributes; see p9_client.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "tests/lib/p9_client.h"

int p9_lopen(struct p9_client *client, uint32_t fid, uint32_t flags)
{
    struct p9_message m = { .type = P9_TLOPEN };

    m.lopen.fid = fid;
    m.lopen.flags = flags;
    return p9_client_call(client, &m, NULL);
}

int p9_lcreate(struct p9_client *client, uint32_t fid, const char *name,
               uint32_t flags, uint32_t mode)
{
    struct p9_message m = { .type = P9_TLCREATE };

    m.lcreate.fid = fid;
    m.lcreate.name = p9_string(name);
    m.lcreate.flags = flags;
    m.lcreate.mode = mode;
    m.lcreate.gid = client->gid;
    return p9_client_call(client, &m, NULL);
}

ssize_t p9_read(struct p9_client *client, uint32_t fid, void *data, size_t size,
                uint64_t offset)
{
    size_t done = 0;

    while (done < size) {
        struct p9_message m = { .type = P9_TREAD }, reply;
        int r;

        m.read.fid = fid;
        m.read.offset = offset + done;
        m.read.count = (uint32_t)MIN(size - done, client->msize - P9_IO_HEADER);
        r = p9_client_call(client, &m, &reply);
        if (r < 0)
            return r;
        if (reply.data.count == 0)
            break;
        g_assert_cmpuint(reply.data.count, <=, m.read.count);
        memcpy((char *)data + done, reply.data.at, reply.data.count);
        done += reply.data.count;
    }
    return (ssize_t)done;
}

ssize_t p9_write(struct p9_client *client, uint32_t fid, const void *data,
                 size_t size, uint64_t offset)
{
    size_t done = 0;

    do {
        struct p9_message m = { .type = P9_TWRITE }, reply;
        int r;

        m.write.fid = fid;
        m.write.offset = offset + done;
        m.write.data.at = (const uint8_t *)data + done;
        m.write.data.count = (uint32_t)MIN(size - done,
                                           client->msize - P9_IO_HEADER);
        r = p9_client_call(client, &m, &reply);
        if (r < 0)
            return done > 0 ? (ssize_t)done : r;
        done += reply.count;
        if (reply.count < m.write.data.count)
            break;
    } while (done < size);
    return (ssize_t)done;
}

int p9_fsync(struct p9_client *client, uint32_t fid)
{
    struct p9_message m = { .type = P9_TFSYNC };

    m.fsync.fid = fid;
    m.fsync.datasync = 0;
    return p9_client_call(client, &m, NULL);
}

int p9_getattr(struct p9_client *client, uint32_t fid, uint64_t mask,
               struct p9_message *ret_reply)
{
    struct p9_message m = { .type = P9_TGETATTR };

    m.getattr.fid = fid;
    m.getattr.mask = mask;
    return p9_client_call(client, &m, ret_reply);
}

int p9_stat(struct p9_client *client, uint32_t fid, struct stat *ret_stat)
{
    struct p9_message m;
    int r = p9_getattr(client, fid, P9_GETATTR_BASIC, &m);

    if (r < 0)
        return r;
    *ret_stat = (struct stat){
        .st_ino = m.rgetattr.qid.path,
        .st_mode = m.rgetattr.mode,
        .st_uid = m.rgetattr.uid,
        .st_gid = m.rgetattr.gid,
        .st_nlink = m.rgetattr.nlink,
        .st_rdev = m.rgetattr.rdev,
        .st_size = (off_t)m.rgetattr.size,
        .st_blocks = (blkcnt_t)m.rgetattr.blocks,
        .st_mtim = { (time_t)m.rgetattr.mtime.sec,
                     (long)m.rgetattr.mtime.nsec },
    };
    return 0;
}

int p9_mkdir(struct p9_client *client, uint32_t dir, const char *name,
             uint32_t mode)
{
    struct p9_message m = { .type = P9_TMKDIR };

    m.mkdir.fid = dir;
    m.mkdir.name = p9_string(name);
    m.mkdir.mode = mode;
    m.mkdir.gid = client->gid;
    return p9_client_call(client, &m, NULL);
}

int p9_mknod(struct p9_client *client, uint32_t dir, const char *name,
             uint32_t mode, dev_t dev)
{
    struct p9_message m = { .type = P9_TMKNOD };

    m.mknod.fid = dir;
    m.mknod.name = p9_string(name);
    m.mknod.mode = mode;
    m.mknod.major = major(dev);
    m.mknod.minor = minor(dev);
    m.mknod.gid = client->gid;
    return p9_client_call(client, &m, NULL);
}

int p9_symlink(struct p9_client *client, uint32_t dir, const char *name,
               const char *target)
{
    struct p9_message m = { .type = P9_TSYMLINK };

    m.symlink.fid = dir;
    m.symlink.name = p9_string(name);
    m.symlink.target = p9_string(target);
    m.symlink.gid = client->gid;
    return p9_client_call(client, &m, NULL);
}

int p9_readlink(struct p9_client *client, uint32_t fid, char **ret_target)
{
    struct p9_message m = { .type = P9_TREADLINK }, reply;
    int r;

    m.fid = fid;
    r = p9_client_call(client, &m, &reply);
    if (r == 0)
        *ret_target = g_strndup(reply.target.at, reply.target.len);
    return r;
}

static int call_rename(struct p9_client *client, uint8_t type, uint32_t fid,
                       uint32_t dir, const char *name)
{
    struct p9_message m = { .type = type };

    m.rename.fid = fid;
    m.rename.dfid = dir;
    m.rename.name = p9_string(name);
    return p9_client_call(client, &m, NULL);
}

int p9_link(struct p9_client *client, uint32_t dir, uint32_t fid,
            const char *name)
{
    return call_rename(client, P9_TLINK, fid, dir, name);
}

int p9_rename(struct p9_client *client, uint32_t fid, uint32_t dir,
              const char *name)
{
    return call_rename(client, P9_TRENAME, fid, dir, name);
}

int p9_renameat(struct p9_client *client, uint32_t old_dir,
                const char *old_name, uint32_t new_dir, const char *new_name)
{
    struct p9_message m = { .type = P9_TRENAMEAT };

    m.renameat.old_fid = old_dir;
    m.renameat.old_name = p9_string(old_name);
    m.renameat.new_fid = new_dir;
    m.renameat.new_name = p9_string(new_name);
    return p9_client_call(client, &m, NULL);
}

int p9_unlinkat(struct p9_client *client, uint32_t dir, const char *name,
                uint32_t flags)
{
    struct p9_message m = { .type = P9_TUNLINKAT };

    m.unlinkat.fid = dir;
    m.unlinkat.name = p9_string(name);
    m.unlinkat.flags = flags;
    return p9_client_call(client, &m, NULL);
}

/* Add the names of one reply; *offset moves past the last. */
static void add_names(const struct p9_data *data, GPtrArray *names,
                      uint64_t *offset)
{
    for (uint32_t at = 0; at < data->count;) {
        const uint8_t *entry = data->at + at;
        uint16_t len;

        g_assert_cmpuint(data->count - at, >=, P9_ENTRY_SIZE);
        memcpy(offset, entry + P9_QID_SIZE, sizeof(*offset));
        *offset = GUINT64_FROM_LE(*offset);
        len = (uint16_t)(entry[22] | entry[23] << 8);
        at += P9_ENTRY_SIZE;
        g_assert_cmpuint(data->count - at, >=, len);
        g_ptr_array_add(names, g_strndup((const char *)data->at + at, len));
        at += len;
    }
}

int p9_list(struct p9_client *client, uint32_t fid, uint32_t count,
            GPtrArray **ret_names)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    struct p9_message m = { .type = P9_TREADDIR }, reply;

    m.read.fid = fid;
    m.read.offset = 0;
    m.read.count = count;
    do {
        int r = p9_client_call(client, &m, &reply);

        if (r < 0)
            return r;
        g_assert_cmpuint(reply.data.count, <=, count);
        add_names(&reply.data, names, &m.read.offset);
    } while (reply.data.count > 0);
    *ret_names = g_steal_pointer(&names);
    return 0;
}

int p9_setxattr(struct p9_client *client, uint32_t fid, const char *name,
                const void *value, size_t size, uint32_t flags)
{
    struct p9_message m = { .type = P9_TXATTRCREATE };
    uint32_t own;
    ssize_t n = 0;
    int r = p9_walk(client, fid, "", &own);

    if (r < 0)
        return r;
    m.xattrcreate.fid = own;
    m.xattrcreate.name = p9_string(name);
    m.xattrcreate.size = size;
    m.xattrcreate.flags = flags;
    r = p9_client_call(client, &m, NULL);
    if (r == 0 && size > 0)
        n = p9_write(client, own, value, size, 0);
    if (r < 0 || n < 0) {
        p9_clunk(client, own);
        return r < 0 ? r : (int)n;
    }
    return p9_clunk(client, own);
}

ssize_t p9_getxattr(struct p9_client *client, uint32_t fid, const char *name,
                    void *value, size_t room)
{
    struct p9_message m = { .type = P9_TXATTRWALK }, reply;
    uint32_t own = p9_client_new_fid(client);
    ssize_t n;
    int r;

    m.xattrwalk.fid = fid;
    m.xattrwalk.newfid = own;
    m.xattrwalk.name = p9_string(name);
    r = p9_client_call(client, &m, &reply);
    if (r < 0)
        return r;
    n = (ssize_t)reply.size;
    if ((size_t)n <= room)
        g_assert_cmpint(p9_read(client, own, value, room, 0), ==, n);
    g_assert_cmpint(p9_clunk(client, own), ==, 0);
    return n;
}

struct p9_message p9_lock_message(uint32_t fid, uint8_t type, uint32_t flags,
                                  uint64_t start, uint64_t length,
                                  uint32_t process)
{
    struct p9_message m = { .type = P9_TLOCK };

    m.lock.fid = fid;
    m.lock.type = type;
    m.lock.flags = flags;
    m.lock.start = start;
    m.lock.length = length;
    m.lock.proc_id = process;
    m.lock.client_id = p9_string("client");
    return m;
}
