/* SPDX-License-Identifier: Apache-2.0
 *
 * message - converts between 9P messages and structs.
 *
 * One table lists the fields of each type; it serves requests and replies, in
 * both directions. Decoding copies nothing: strings and data point into the
 * bytes. Every length is checked against the available bytes before it is used.
 *
 * Threads: any.
 */
#ifndef P9_WIRE_MESSAGE_H
#define P9_WIRE_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "p9/wire/wire.h"

/* As on the wire: not NUL-terminated, any byte is allowed. */
struct p9_string {
    const char *at;
    uint16_t len;
};

struct p9_qid {
    uint8_t type;
    uint32_t version;
    uint64_t path;
};

struct p9_data {
    const uint8_t *at;
    uint32_t count;
};

struct p9_time {
    uint64_t sec, nsec;
};

/* One member is set, according to type; empty replies set none. The fields are
 * described in wire.h. */
struct p9_message {
    uint8_t type;
    uint16_t tag;
    union {
        uint32_t ecode; /* Rlerror */
        uint32_t fid;   /* Tclunk, Tremove, Treadlink, Tstatfs */
        uint32_t count; /* Rwrite */
        uint64_t size;  /* Rxattrwalk */
        uint8_t status; /* Rlock */
        uint16_t oldtag;
        struct p9_qid qid; /* Rattach, Rauth, Rmkdir, Rmknod, Rsymlink */
        struct p9_string target;
        struct p9_data data; /* Rread, Rreaddir */
        struct {
            uint32_t msize;
            struct p9_string version;
        } version; /* Tversion and Rversion */
        struct {
            uint32_t fid, afid;
            struct p9_string uname, aname;
            uint32_t uid;
        } attach; /* Tauth too, without fid */
        struct {
            uint32_t fid, newfid;
            uint16_t n;
            struct p9_string names[P9_MAX_WALK];
        } walk;
        struct {
            uint16_t n;
            struct p9_qid qids[P9_MAX_WALK];
        } rwalk;
        struct {
            uint32_t fid, flags;
        } lopen;
        struct {
            struct p9_qid qid;
            uint32_t iounit;
        } rlopen; /* Rlcreate */
        struct {
            uint32_t fid;
            struct p9_string name;
            uint32_t flags, mode, gid;
        } lcreate;
        struct {
            uint32_t fid;
            struct p9_string name, target;
            uint32_t gid;
        } symlink;
        struct {
            uint32_t fid;
            struct p9_string name;
            uint32_t mode, major, minor, gid;
        } mknod;
        struct {
            uint32_t fid;
            struct p9_string name;
            uint32_t mode, gid;
        } mkdir;
        struct {
            uint32_t fid, dfid;
            struct p9_string name;
        } rename; /* Tlink too */
        struct {
            uint32_t old_fid;
            struct p9_string old_name;
            uint32_t new_fid;
            struct p9_string new_name;
        } renameat;
        struct {
            uint32_t fid;
            struct p9_string name;
            uint32_t flags;
        } unlinkat;
        struct {
            uint32_t fid;
            uint64_t mask;
        } getattr;
        struct {
            uint64_t valid;
            struct p9_qid qid;
            uint32_t mode, uid, gid;
            uint64_t nlink, rdev, size, blksize, blocks;
            struct p9_time atime, mtime, ctime, btime;
            uint64_t gen, data_version;
        } rgetattr;
        struct {
            uint32_t fid, valid, mode, uid, gid;
            uint64_t size;
            struct p9_time atime, mtime;
        } setattr;
        struct {
            uint32_t fid, newfid;
            struct p9_string name;
        } xattrwalk;
        struct {
            uint32_t fid;
            struct p9_string name;
            uint64_t size;
            uint32_t flags;
        } xattrcreate;
        struct {
            uint32_t fid;
            uint64_t offset;
            uint32_t count;
        } read; /* Treaddir too */
        struct {
            uint32_t fid;
            uint64_t offset;
            struct p9_data data;
        } write;
        struct {
            uint32_t fid, datasync;
        } fsync;
        struct {
            uint32_t fid;
            uint8_t type;
            uint32_t flags;
            uint64_t start, length; /* length 0: to the end */
            uint32_t proc_id;
            struct p9_string client_id;
        } lock; /* Tgetlock and Rgetlock too, without flags */
        struct {
            uint32_t type, bsize;
            uint64_t blocks, bfree, bavail, files, ffree, fsid;
            uint32_t namelen;
        } rstatfs;
    };
};

/* Return the size in a message's first four bytes, unchecked. */
uint32_t p9_message_size(const uint8_t bytes[4]);

/* Decode size bytes, all of one message. Strings and data point into bytes.
 * type and tag are set whenever there is a whole header. Return 0; -EINVAL if
 * the fields do not match the type; -EOPNOTSUPP for an unknown type. */
int p9_message_decode(const uint8_t *bytes, size_t size,
                      struct p9_message *ret_message);

/* Encode into room bytes; data is copied unless it is already in place. Return
 * the size, or -EMSGSIZE, -EOPNOTSUPP. */
int p9_message_encode(const struct p9_message *message, uint8_t *bytes,
                      size_t room);

/* Return e.g. "Twalk"; NULL for an unknown type. */
const char *p9_message_name(uint8_t type);

/* text is NUL-terminated and borrowed. */
struct p9_string p9_string(const char *text);

#endif
