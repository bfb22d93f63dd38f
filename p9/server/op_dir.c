/* SPDX-License-Identifier: Apache-2.0
 *
 * op_dir - handler of Treaddir.
 *
 * A reply is filled up to the client's limit. Cookies are the file system's own
 * (d_off), which stay valid whatever else changes in the directory. Qids are
 * built from the entries alone, without a stat(2) of each: their version is 0
 * (unknown).
 */
#include <dirent.h>
#include <errno.h>
#include <string.h>

#include "p9/server/request.h"

struct listing {
    const struct p9_request *request;
    const struct p9_fid *fid;
    uint8_t *at;
    size_t left;
};

static uint8_t qid_type(unsigned char type)
{
    return type == DT_DIR   ? P9_QID_DIR
           : type == DT_LNK ? P9_QID_SYMLINK
                            : P9_QID_FILE;
}

/* Hide the inode number of the root's parent. */
static uint64_t entry_number(const struct listing *listing,
                             const struct dir_entry *entry)
{
    const struct p9_fid *fid = listing->fid;
    uint64_t ino = entry->ino;

    if (fid->inode == fid->root && strcmp(entry->name, "..") == 0)
        ino = ic_inode_ino(fid->inode);
    return p9_request_number(listing->request, ic_inode_dev(fid->inode), ino);
}

static void put(struct listing *listing, uint64_t value, size_t size)
{
    for (size_t i = 0; i < size; i++)
        *listing->at++ = (uint8_t)(value >> 8 * i);
    listing->left -= size;
}

/* Return false if the entry does not fit. */
static bool put_entry(struct listing *listing, const struct dir_entry *entry)
{
    const struct p9_server *server = listing->request->server;
    unsigned char type = server->config.profile->entry_type(
        server->profile, listing->fid->fd, entry);
    size_t len = strlen(entry->name);

    if (P9_ENTRY_SIZE + len > listing->left)
        return false;
    put(listing, qid_type(type), 1);
    put(listing, 0, 4);
    put(listing, entry_number(listing, entry), 8);
    put(listing, (uint64_t)entry->off, 8);
    put(listing, type, 1);
    put(listing, len, 2);
    memcpy(listing->at, entry->name, len);
    listing->at += len;
    listing->left -= len;
    return true;
}

/* List entries. An error after the first entry is left to the next request. */
static int list(struct p9_fid *fid, uint64_t offset, struct listing *listing)
{
    size_t room = listing->left;
    const struct dir_entry *entry;
    int r = dir_stream_seek(fid->dir, (int64_t)offset);

    if (r < 0)
        return r;
    while ((r = dir_stream_peek(fid->dir, &entry)) > 0) {
        if (!put_entry(listing, entry))
            return listing->left < room ? 0 : -EINVAL;
        dir_stream_advance(fid->dir);
    }
    return listing->left < room ? 0 : r;
}

int p9_op_readdir(struct p9_request *request)
{
    struct p9_fid *fid;
    uint8_t *start = request->out + P9_DATA_AT;
    int r = p9_request_fid(request, request->m.read.fid, &fid);
    struct listing listing = { request, fid, start,
                               p9_request_reply_size(request) };

    if (r == 0 && fid->kind != P9_FID_DIR)
        r = fid->kind == P9_FID_FILE ? -ENOTDIR : -EBADF;
    if (r == 0) {
        pthread_mutex_lock(&fid->lock);
        r = list(fid, request->m.read.offset, &listing);
        dir_stream_pause(fid->dir);
        pthread_mutex_unlock(&fid->lock);
    }
    p9_request_put(fid);
    request->r.data = (struct p9_data){ start, (uint32_t)(listing.at - start) };
    return r;
}
