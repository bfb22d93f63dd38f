/* SPDX-License-Identifier: Apache-2.0
 *
 * message - see message.h.
 */
#include "p9/wire/message.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

enum kind {
    END,
    U8,
    U16,
    U32,
    U64,
    STRING,
    QID,
    DATA,
    NAMES,   /* walk: n and n strings */
    QIDS,    /* rwalk: n and n qids */
    U32_OPT, /* optional at the end: 0 */
};

struct field {
    uint8_t kind;
    uint16_t offset;
};

#define F(kind, member)                                                        \
    {                                                                          \
        kind, offsetof(struct p9_message, member)                              \
    }
#define FIELDS(...)  ((const struct field[]){ __VA_ARGS__, { END, 0 } })
#define NONE         ((const struct field[]){ { END, 0 } })
#define TIME(member) F(U64, member.sec), F(U64, member.nsec)

static const struct {
    const char *name;
    const struct field *fields; /* NULL: no such type */
} types[] = {
    [P9_RLERROR] = { "Rlerror", FIELDS(F(U32, ecode)) },
    [P9_TSTATFS] = { "Tstatfs", FIELDS(F(U32, fid)) },
    [P9_RSTATFS] = { "Rstatfs",
                     FIELDS(F(U32, rstatfs.type), F(U32, rstatfs.bsize),
                            F(U64, rstatfs.blocks), F(U64, rstatfs.bfree),
                            F(U64, rstatfs.bavail), F(U64, rstatfs.files),
                            F(U64, rstatfs.ffree), F(U64, rstatfs.fsid),
                            F(U32, rstatfs.namelen)) },
    [P9_TLOPEN] = { "Tlopen", FIELDS(F(U32, lopen.fid), F(U32, lopen.flags)) },
    [P9_RLOPEN] = { "Rlopen",
                    FIELDS(F(QID, rlopen.qid), F(U32, rlopen.iounit)) },
    [P9_TLCREATE] = { "Tlcreate",
                      FIELDS(F(U32, lcreate.fid), F(STRING, lcreate.name),
                             F(U32, lcreate.flags), F(U32, lcreate.mode),
                             F(U32, lcreate.gid)) },
    [P9_RLCREATE] = { "Rlcreate",
                      FIELDS(F(QID, rlopen.qid), F(U32, rlopen.iounit)) },
    [P9_TSYMLINK] = { "Tsymlink",
                      FIELDS(F(U32, symlink.fid), F(STRING, symlink.name),
                             F(STRING, symlink.target), F(U32, symlink.gid)) },
    [P9_RSYMLINK] = { "Rsymlink", FIELDS(F(QID, qid)) },
    [P9_TMKNOD] = { "Tmknod", FIELDS(F(U32, mknod.fid), F(STRING, mknod.name),
                                     F(U32, mknod.mode), F(U32, mknod.major),
                                     F(U32, mknod.minor), F(U32, mknod.gid)) },
    [P9_RMKNOD] = { "Rmknod", FIELDS(F(QID, qid)) },
    [P9_TRENAME] = { "Trename", FIELDS(F(U32, rename.fid), F(U32, rename.dfid),
                                       F(STRING, rename.name)) },
    [P9_RRENAME] = { "Rrename", NONE },
    [P9_TREADLINK] = { "Treadlink", FIELDS(F(U32, fid)) },
    [P9_RREADLINK] = { "Rreadlink", FIELDS(F(STRING, target)) },
    [P9_TGETATTR] = { "Tgetattr",
                      FIELDS(F(U32, getattr.fid), F(U64, getattr.mask)) },
    [P9_RGETATTR] = { "Rgetattr",
                      FIELDS(F(U64, rgetattr.valid), F(QID, rgetattr.qid),
                             F(U32, rgetattr.mode), F(U32, rgetattr.uid),
                             F(U32, rgetattr.gid), F(U64, rgetattr.nlink),
                             F(U64, rgetattr.rdev), F(U64, rgetattr.size),
                             F(U64, rgetattr.blksize), F(U64, rgetattr.blocks),
                             TIME(rgetattr.atime), TIME(rgetattr.mtime),
                             TIME(rgetattr.ctime), TIME(rgetattr.btime),
                             F(U64, rgetattr.gen),
                             F(U64, rgetattr.data_version)) },
    [P9_TSETATTR] = { "Tsetattr",
                      FIELDS(F(U32, setattr.fid), F(U32, setattr.valid),
                             F(U32, setattr.mode), F(U32, setattr.uid),
                             F(U32, setattr.gid), F(U64, setattr.size),
                             TIME(setattr.atime), TIME(setattr.mtime)) },
    [P9_RSETATTR] = { "Rsetattr", NONE },
    [P9_TXATTRWALK] = { "Txattrwalk",
                        FIELDS(F(U32, xattrwalk.fid), F(U32, xattrwalk.newfid),
                               F(STRING, xattrwalk.name)) },
    [P9_RXATTRWALK] = { "Rxattrwalk", FIELDS(F(U64, size)) },
    [P9_TXATTRCREATE] = { "Txattrcreate", FIELDS(F(U32, xattrcreate.fid),
                                                 F(STRING, xattrcreate.name),
                                                 F(U64, xattrcreate.size),
                                                 F(U32, xattrcreate.flags)) },
    [P9_RXATTRCREATE] = { "Rxattrcreate", NONE },
    [P9_TREADDIR] = { "Treaddir", FIELDS(F(U32, read.fid), F(U64, read.offset),
                                         F(U32, read.count)) },
    [P9_RREADDIR] = { "Rreaddir", FIELDS(F(DATA, data)) },
    [P9_TFSYNC] = { "Tfsync",
                    FIELDS(F(U32, fsync.fid), F(U32_OPT, fsync.datasync)) },
    [P9_RFSYNC] = { "Rfsync", NONE },
    [P9_TLOCK] = { "Tlock", FIELDS(F(U32, lock.fid), F(U8, lock.type),
                                   F(U32, lock.flags), F(U64, lock.start),
                                   F(U64, lock.length), F(U32, lock.proc_id),
                                   F(STRING, lock.client_id)) },
    [P9_RLOCK] = { "Rlock", FIELDS(F(U8, status)) },
    [P9_TGETLOCK] = { "Tgetlock",
                      FIELDS(F(U32, lock.fid), F(U8, lock.type),
                             F(U64, lock.start), F(U64, lock.length),
                             F(U32, lock.proc_id), F(STRING, lock.client_id)) },
    [P9_RGETLOCK] = { "Rgetlock",
                      FIELDS(F(U8, lock.type), F(U64, lock.start),
                             F(U64, lock.length), F(U32, lock.proc_id),
                             F(STRING, lock.client_id)) },
    [P9_TLINK] = { "Tlink", FIELDS(F(U32, rename.dfid), F(U32, rename.fid),
                                   F(STRING, rename.name)) },
    [P9_RLINK] = { "Rlink", NONE },
    [P9_TMKDIR] = { "Tmkdir", FIELDS(F(U32, mkdir.fid), F(STRING, mkdir.name),
                                     F(U32, mkdir.mode), F(U32, mkdir.gid)) },
    [P9_RMKDIR] = { "Rmkdir", FIELDS(F(QID, qid)) },
    [P9_TRENAMEAT] = { "Trenameat", FIELDS(F(U32, renameat.old_fid),
                                           F(STRING, renameat.old_name),
                                           F(U32, renameat.new_fid),
                                           F(STRING, renameat.new_name)) },
    [P9_RRENAMEAT] = { "Rrenameat", NONE },
    [P9_TUNLINKAT] = { "Tunlinkat",
                       FIELDS(F(U32, unlinkat.fid), F(STRING, unlinkat.name),
                              F(U32, unlinkat.flags)) },
    [P9_RUNLINKAT] = { "Runlinkat", NONE },
    [P9_TVERSION] = { "Tversion", FIELDS(F(U32, version.msize),
                                         F(STRING, version.version)) },
    [P9_RVERSION] = { "Rversion", FIELDS(F(U32, version.msize),
                                         F(STRING, version.version)) },
    [P9_TAUTH] = { "Tauth",
                   FIELDS(F(U32, attach.afid), F(STRING, attach.uname),
                          F(STRING, attach.aname), F(U32, attach.uid)) },
    [P9_RAUTH] = { "Rauth", FIELDS(F(QID, qid)) },
    [P9_TATTACH] = { "Tattach",
                     FIELDS(F(U32, attach.fid), F(U32, attach.afid),
                            F(STRING, attach.uname), F(STRING, attach.aname),
                            F(U32, attach.uid)) },
    [P9_RATTACH] = { "Rattach", FIELDS(F(QID, qid)) },
    [P9_TFLUSH] = { "Tflush", FIELDS(F(U16, oldtag)) },
    [P9_RFLUSH] = { "Rflush", NONE },
    [P9_TWALK] = { "Twalk", FIELDS(F(U32, walk.fid), F(U32, walk.newfid),
                                   F(NAMES, walk.n)) },
    [P9_RWALK] = { "Rwalk", FIELDS(F(QIDS, rwalk.n)) },
    [P9_TREAD] = { "Tread", FIELDS(F(U32, read.fid), F(U64, read.offset),
                                   F(U32, read.count)) },
    [P9_RREAD] = { "Rread", FIELDS(F(DATA, data)) },
    [P9_TWRITE] = { "Twrite", FIELDS(F(U32, write.fid), F(U64, write.offset),
                                     F(DATA, write.data)) },
    [P9_RWRITE] = { "Rwrite", FIELDS(F(U32, count)) },
    [P9_TCLUNK] = { "Tclunk", FIELDS(F(U32, fid)) },
    [P9_RCLUNK] = { "Rclunk", NONE },
    [P9_TREMOVE] = { "Tremove", FIELDS(F(U32, fid)) },
    [P9_RREMOVE] = { "Rremove", NONE },
};

static const struct field *fields_of(uint8_t type)
{
    return type < sizeof(types) / sizeof(types[0]) ? types[type].fields : NULL;
}

const char *p9_message_name(uint8_t type)
{
    return fields_of(type) ? types[type].name : NULL;
}

struct p9_string p9_string(const char *text)
{
    return (struct p9_string){ text, (uint16_t)strlen(text) };
}

static uint16_t get16(const uint8_t *at)
{
    uint16_t v;

    memcpy(&v, at, sizeof(v));
    return le16toh(v);
}

static uint32_t get32(const uint8_t *at)
{
    uint32_t v;

    memcpy(&v, at, sizeof(v));
    return le32toh(v);
}

static uint64_t get64(const uint8_t *at)
{
    uint64_t v;

    memcpy(&v, at, sizeof(v));
    return le64toh(v);
}

uint32_t p9_message_size(const uint8_t bytes[4])
{
    return get32(bytes);
}

/* ---- decoding ------------------------------------------------------------ */

struct reader {
    const uint8_t *at;
    size_t left;
};

static const uint8_t *take(struct reader *reader, size_t size)
{
    const uint8_t *at = reader->at;

    if (size > reader->left)
        return NULL;
    reader->at += size;
    reader->left -= size;
    return at;
}

static int take_string(struct reader *reader, struct p9_string *ret_string)
{
    const uint8_t *at = take(reader, 2);

    if (!at)
        return -EINVAL;
    ret_string->len = get16(at);
    ret_string->at = (const char *)take(reader, ret_string->len);
    return ret_string->at ? 0 : -EINVAL;
}

static int take_qid(struct reader *reader, struct p9_qid *ret_qid)
{
    const uint8_t *at = take(reader, P9_QID_SIZE);

    if (!at)
        return -EINVAL;
    *ret_qid = (struct p9_qid){ at[0], get32(at + 1), get64(at + 5) };
    return 0;
}

static int take_data(struct reader *reader, struct p9_data *ret_data)
{
    const uint8_t *at = take(reader, 4);

    if (!at)
        return -EINVAL;
    ret_data->count = get32(at);
    ret_data->at = take(reader, ret_data->count);
    return ret_data->at ? 0 : -EINVAL;
}

static int take_list(struct reader *reader, enum kind kind,
                     struct p9_message *message)
{
    const uint8_t *at = take(reader, 2);
    uint16_t n = at ? get16(at) : 0;
    int r = 0;

    if (!at || n > P9_MAX_WALK)
        return -EINVAL;
    if (kind == NAMES)
        message->walk.n = n;
    else
        message->rwalk.n = n;
    for (uint16_t i = 0; r == 0 && i < n; i++)
        r = kind == NAMES ? take_string(reader, &message->walk.names[i])
                          : take_qid(reader, &message->rwalk.qids[i]);
    return r;
}

static int take_number(struct reader *reader, enum kind kind, void *ret_number)
{
    static const uint8_t sizes[] = {
        [U8] = 1, [U16] = 2, [U32] = 4, [U64] = 8
    };
    const uint8_t *at = take(reader, sizes[kind]);

    if (!at)
        return -EINVAL;
    if (kind == U8)
        *(uint8_t *)ret_number = *at;
    else if (kind == U16)
        *(uint16_t *)ret_number = get16(at);
    else if (kind == U32)
        *(uint32_t *)ret_number = get32(at);
    else
        *(uint64_t *)ret_number = get64(at);
    return 0;
}

static int take_field(struct reader *reader, const struct field *field,
                      struct p9_message *message)
{
    void *to = (char *)message + field->offset;

    switch (field->kind) {
    case STRING:
        return take_string(reader, to);
    case QID:
        return take_qid(reader, to);
    case DATA:
        return take_data(reader, to);
    case NAMES:
    case QIDS:
        return take_list(reader, field->kind, message);
    case U32_OPT:
        if (reader->left == 0) {
            *(uint32_t *)to = 0;
            return 0;
        }
        return take_number(reader, U32, to);
    default:
        return take_number(reader, field->kind, to);
    }
}

int p9_message_decode(const uint8_t *bytes, size_t size,
                      struct p9_message *ret_message)
{
    struct reader reader = { bytes + P9_HEADER_SIZE, 0 };
    const struct field *field;
    int r = 0;

    if (size < P9_HEADER_SIZE)
        return -EINVAL;
    ret_message->type = bytes[4];
    ret_message->tag = get16(bytes + 5);
    if (get32(bytes) != size)
        return -EINVAL;
    field = fields_of(bytes[4]);
    if (!field)
        return -EOPNOTSUPP;
    reader.left = size - P9_HEADER_SIZE;
    for (; r == 0 && field->kind != END; field++)
        r = take_field(&reader, field, ret_message);
    return r == 0 && reader.left > 0 ? -EINVAL : r;
}

/* ---- encoding ------------------------------------------------------------ */

struct writer {
    uint8_t *at;
    size_t left;
    bool full;
};

static uint8_t *put(struct writer *writer, const void *bytes, size_t size)
{
    uint8_t *at = writer->at;

    if (writer->full || size > writer->left) {
        writer->full = true;
        return NULL;
    }
    if (size > 0 && bytes && bytes != at)
        memcpy(at, bytes, size);
    writer->at += size;
    writer->left -= size;
    return at;
}

static void put_number(struct writer *writer, uint64_t value, size_t size)
{
    uint64_t wire = htole64(value);

    put(writer, &wire, size);
}

static void put_string(struct writer *writer, const struct p9_string *string)
{
    put_number(writer, string->len, 2);
    put(writer, string->at, string->len);
}

static void put_qid(struct writer *writer, const struct p9_qid *qid)
{
    put_number(writer, qid->type, 1);
    put_number(writer, qid->version, 4);
    put_number(writer, qid->path, 8);
}

static void put_list(struct writer *writer, enum kind kind,
                     const struct p9_message *message)
{
    uint16_t n = kind == NAMES ? message->walk.n : message->rwalk.n;

    put_number(writer, n, 2);
    for (uint16_t i = 0; i < n && i < P9_MAX_WALK; i++) {
        if (kind == NAMES)
            put_string(writer, &message->walk.names[i]);
        else
            put_qid(writer, &message->rwalk.qids[i]);
    }
}

static void put_field(struct writer *writer, const struct field *field,
                      const struct p9_message *message)
{
    const void *from = (const char *)message + field->offset;
    const struct p9_data *data = from;

    switch (field->kind) {
    case U8:
        put_number(writer, *(const uint8_t *)from, 1);
        break;
    case U16:
        put_number(writer, *(const uint16_t *)from, 2);
        break;
    case U32:
    case U32_OPT:
        put_number(writer, *(const uint32_t *)from, 4);
        break;
    case U64:
        put_number(writer, *(const uint64_t *)from, 8);
        break;
    case STRING:
        put_string(writer, from);
        break;
    case QID:
        put_qid(writer, from);
        break;
    case DATA:
        put_number(writer, data->count, 4);
        put(writer, data->at, data->count);
        break;
    default:
        put_list(writer, field->kind, message);
    }
}

int p9_message_encode(const struct p9_message *message, uint8_t *bytes,
                      size_t room)
{
    struct writer writer = { bytes, room, false };
    struct writer head = { bytes, room, false };
    const struct field *field = fields_of(message->type);

    if (!field)
        return -EOPNOTSUPP;
    put(&writer, NULL, P9_HEADER_SIZE);
    for (; field->kind != END; field++)
        put_field(&writer, field, message);
    if (writer.full)
        return -EMSGSIZE;
    put_number(&head, (uint64_t)(writer.at - bytes), 4);
    put_number(&head, message->type, 1);
    put_number(&head, message->tag, 2);
    return (int)(writer.at - bytes);
}
