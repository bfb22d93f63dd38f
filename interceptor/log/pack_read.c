/* SPDX-License-Identifier: Apache-2.0
 *
 * pack_read - see pack_read.h: read the plain and the compressed form.
 */
#include "interceptor/log/pack_read.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "common/crc32c.h"
#include "common/fd.h"
#include "interceptor/log/pack_format.h"
#include "interceptor/sys/sys.h"

/* A stream of bytes from a file, decompressed if zstd is set. */
struct stream {
    int fd;
    ZSTD_DCtx *zstd;
    char *in;
    size_t in_size;
    ZSTD_inBuffer input;
    size_t
        hint; /* from the last ZSTD_decompressStream(); 0: end of the frame */
};

static int open_regular(int blobs, const char *name)
{
    /* Opening a FIFO in its place must not block. */
    fd_auto int fd = sys_openat(blobs, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK,
                                0);
    struct stat st;
    int rc = fd < 0 ? fd : sys_stat_fd(fd, &st);

    if (rc < 0)
        return rc == -ELOOP ? -EBADMSG : rc;
    return S_ISREG(st.st_mode) ? fd_steal(&fd) : -EBADMSG;
}

/* A pack is not trusted: limit the window that its header asks for. */
static ZSTD_DCtx *new_context(void)
{
    ZSTD_DCtx *zstd = ZSTD_createDCtx();

    if (zstd)
        ZSTD_DCtx_setParameter(zstd, ZSTD_d_windowLogMax, PACK_WINDOW_LOG);
    return zstd;
}

static void stream_close(struct stream *s)
{
    ZSTD_freeDCtx(s->zstd);
    g_free(s->in);
    fd_close(&s->fd);
}

/* Return 0, -ENODATA at the end of the file, or -errno. */
static int stream_fill(struct stream *s)
{
    ssize_t n;

    do
        n = read(s->fd, s->in, s->in_size);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return -errno;
    s->input = (ZSTD_inBuffer){ s->in, (size_t)n, 0 };
    return n == 0 ? -ENODATA : 0;
}

/*
 * A libzstd that was built with its legacy formats (ZSTD_LEGACY_SUPPORT; as
 * Debian's is) also decodes those of versions 0.5 to 0.7, and obeys no limit of
 * the window there: 2 GiB for an input of 15 bytes.
 */
static int check_magic(struct stream *s)
{
    uint32_t magic;
    int rc = stream_fill(s);

    if (rc < 0)
        return rc == -ENODATA ? 0 : rc;
    if (s->input.size < sizeof(magic))
        return -EBADMSG;
    memcpy(&magic, s->in, sizeof(magic));
    return le32toh(magic) == ZSTD_MAGICNUMBER ? 0 : -EBADMSG;
}

static int stream_open(struct stream *s, int blobs)
{
    *s = (struct stream){ .fd = open_regular(blobs, PACK_NAME), .hint = 1 };
    if (s->fd != -ENOENT) {
        s->in_size = PACK_MAX_DATA;
    } else {
        s->fd = open_regular(blobs, PACK_COMPRESSED);
        s->in_size = ZSTD_DStreamInSize();
        s->zstd = s->fd < 0 ? NULL : new_context();
        if (s->fd >= 0 && !s->zstd)
            return -ENOMEM;
    }
    if (s->fd < 0)
        return s->fd;
    s->in = g_malloc(s->in_size);
    return s->zstd ? check_magic(s) : 0;
}

/* Return the number of bytes read, > 0, or an error as stream_fill(). */
static ssize_t stream_some(struct stream *s, void *data, size_t len)
{
    ZSTD_outBuffer out = { data, len, 0 };

    if (!s->zstd) {
        size_t n = MIN(len, s->input.size - s->input.pos);

        memcpy(data, s->in + s->input.pos, n);
        s->input.pos += n;
        return n > 0 ? (ssize_t)n : stream_fill(s);
    }
    if (s->hint == 0)
        return -ENODATA;
    s->hint = ZSTD_decompressStream(s->zstd, &out, &s->input);
    if (ZSTD_isError(s->hint))
        return -EBADMSG;
    if (out.pos > 0)
        return (ssize_t)out.pos;
    return s->hint == 0 || s->input.pos < s->input.size ? 0 : stream_fill(s);
}

/* Read exactly len bytes. -ENODATA if the stream ends before. */
static int stream_get(struct stream *s, void *data, size_t len)
{
    char *p = data;

    while (len > 0) {
        ssize_t n = stream_some(s, p, len);

        if (n < 0)
            return (int)n;
        p += n;
        len -= (size_t)n;
    }
    return 0;
}

/* ---- entries ------------------------------------------------------------- */

struct reader {
    struct stream stream;
    char *data; /* PACK_MAX_DATA bytes */
    uint64_t entries;
    int (*entry)(const struct pack_entry *entry, void *opaque);
    void *opaque;
};

static bool header_is_right(const struct pack_header *header)
{
    return le32toh(header->sum) ==
           crc32c(PACK_SUMMED(header), PACK_SUMMED_SIZE);
}

static int deliver(struct reader *r, const struct pack_header *header)
{
    struct pack_entry entry = { .number = (int64_t)le64toh(header->number) };
    uint64_t offset = le64toh(header->offset), length = le64toh(header->length);
    int rc = 0;

    if (entry.number < 0 || offset > INT64_MAX || length > INT64_MAX - offset)
        return -EBADMSG;
    entry.offset = (off_t)offset;
    entry.length = (off_t)length;
    if (le32toh(header->kind) == PACK_DATA) {
        if (length > PACK_MAX_DATA)
            return -EBADMSG;
        rc = stream_get(&r->stream, r->data, (size_t)length);
        if (rc == 0 &&
            crc32c(r->data, (size_t)length) != le32toh(header->data_sum))
            rc = -EBADMSG;
        entry.data = r->data;
    } else if (le32toh(header->kind) != PACK_HOLE) {
        rc = -EBADMSG;
    }
    if (rc < 0)
        return rc;
    r->entries++;
    return r->entry(&entry, r->opaque);
}

/* Return 1 after an entry, 0 after the end entry, -ENODATA if the stream ends
 * without one. */
static int read_entry(struct reader *r)
{
    struct pack_header header;
    int rc = stream_get(&r->stream, &header, sizeof(header));

    if (rc < 0)
        return rc;
    if (!header_is_right(&header))
        return -EBADMSG;
    if (le32toh(header.kind) == PACK_END)
        return le64toh(header.number) == r->entries ? 0 : -EBADMSG;
    rc = deliver(r, &header);
    return rc < 0 ? rc : 1;
}

/* zstd checks the frame's checksum only at the frame's end. */
static int check_end(struct reader *r)
{
    char extra;
    int rc = stream_get(&r->stream, &extra, 1);

    return rc == -ENODATA ? 0 : rc < 0 ? rc : -EBADMSG;
}

static int read_all(struct reader *r, bool sealed)
{
    char magic[PACK_MAGIC_SIZE];
    int rc = stream_get(&r->stream, magic, sizeof(magic));

    if (rc == 0 && memcmp(magic, PACK_MAGIC, sizeof(magic)) != 0)
        return -EBADMSG;
    while (rc == 0) {
        rc = read_entry(r);
        if (rc == 0)
            return check_end(r);
        if (rc == 1)
            rc = 0;
    }
    /* P1, P2 */
    if (rc == -ENODATA)
        return sealed ? -EBADMSG : 0;
    return rc;
}

int pack_read(int blobs, bool sealed,
              int (*entry)(const struct pack_entry *entry, void *opaque),
              void *opaque)
{
    struct reader r = { .entry = entry, .opaque = opaque };
    int rc = stream_open(&r.stream, blobs);

    if (rc == 0) {
        r.data = g_malloc(PACK_MAX_DATA);
        rc = read_all(&r, sealed);
    }
    g_free(r.data);
    stream_close(&r.stream);
    return rc;
}
