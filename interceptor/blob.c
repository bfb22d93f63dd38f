/* SPDX-License-Identifier: Apache-2.0
 *
 * blob - see blob.h.
 */
#include "interceptor/blob.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "common/fd.h"
#include "interceptor/sys.h"

enum { CHUNK = 256 << 10, LEVEL = 3 };

static const char magic[8] = "sbblob1\n";

/* ---- saving -------------------------------------------------------------- */

struct writer {
    ZSTD_CCtx *zstd;
    int fd;
    void *out;
    size_t out_size;
    int64_t written;
};

static int writer_put(struct writer *w, const void *data, size_t len,
                      ZSTD_EndDirective end)
{
    ZSTD_inBuffer in = { data, len, 0 };
    size_t left;

    do {
        ZSTD_outBuffer out = { w->out, w->out_size, 0 };
        int rc;

        left = ZSTD_compressStream2(w->zstd, &out, &in, end);
        if (ZSTD_isError(left))
            return -ENOMEM;
        rc = sys_write_all(w->fd, w->out, out.pos);
        if (rc < 0)
            return rc;
        w->written += (int64_t)out.pos;
    } while (in.pos < in.size || (end == ZSTD_e_end && left > 0));
    return 0;
}

static int put_range(struct writer *w, off_t offset, off_t length)
{
    uint64_t header[2] = { htole64((uint64_t)offset),
                           htole64((uint64_t)length) };

    return writer_put(w, header, sizeof(header), ZSTD_e_continue);
}

/* Copy [offset, end) of the file. If it was cut meanwhile from outside, what
 * is missing reads as zeros: the stream must stay well-formed. */
static int put_data(struct writer *w, int file, off_t offset, off_t end,
                    char *chunk)
{
    int rc = put_range(w, offset, end - offset);

    while (rc == 0 && offset < end) {
        size_t want = (size_t)MIN(end - offset, (off_t)CHUNK);
        ssize_t n = pread(file, chunk, want, offset);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0) {
            memset(chunk, 0, want);
            n = (ssize_t)want;
        }
        rc = writer_put(w, chunk, (size_t)n, ZSTD_e_continue);
        offset += n;
    }
    return rc;
}

static int put_file(struct writer *w, int file)
{
    g_autofree char *chunk = g_malloc(CHUNK);
    uint64_t header[2];
    struct stat st;
    off_t offset = 0;
    int rc = sys_stat_fd(file, &st);

    if (rc < 0)
        return rc;
    memcpy(header, magic, sizeof(magic));
    header[1] = htole64((uint64_t)st.st_size);
    rc = writer_put(w, header, sizeof(header), ZSTD_e_continue);
    while (rc == 0 && offset < st.st_size) {
        off_t data = lseek(file, offset, SEEK_DATA);
        off_t hole;

        if (data < 0 && errno == ENXIO)
            break; /* a hole up to the end */
        if (data < 0)
            return -errno;
        hole = lseek(file, data, SEEK_HOLE);
        if (hole < 0)
            return -errno;
        data = MIN(data, st.st_size);
        hole = MIN(hole, st.st_size);
        if (hole > data)
            rc = put_data(w, file, data, hole, chunk);
        offset = hole;
    }
    if (rc == 0)
        rc = put_range(w, st.st_size, 0);
    if (rc == 0)
        rc = writer_put(w, NULL, 0, ZSTD_e_end);
    return rc;
}

int blob_save(int file, int dirfd, const char *name, int64_t *ret_size)
{
    g_autofree char *temporary = g_strdup_printf("%s.tmp", name);
    struct writer w = { .out_size = ZSTD_CStreamOutSize() };
    fd_auto int fd = sys_openat(
        dirfd, temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600);
    g_autofree void *out = NULL;
    int rc;

    if (fd < 0)
        return fd;
    w.fd = fd;
    w.out = out = g_malloc(w.out_size);
    w.zstd = ZSTD_createCCtx();
    if (!w.zstd)
        return -ENOMEM;
    ZSTD_CCtx_setParameter(w.zstd, ZSTD_c_compressionLevel, LEVEL);
    ZSTD_CCtx_setParameter(w.zstd, ZSTD_c_checksumFlag, 1);
    rc = put_file(&w, file);
    ZSTD_freeCCtx(w.zstd);
    if (rc == 0)
        rc = sys_renameat2(dirfd, temporary, dirfd, name, 0);
    if (rc < 0)
        sys_unlinkat(dirfd, temporary, 0);
    else
        *ret_size = w.written;
    return rc;
}

/* ---- restoring ----------------------------------------------------------- */

struct reader {
    ZSTD_DCtx *zstd;
    int fd;
    void *in;
    size_t in_size;
    ZSTD_inBuffer input;
    size_t hint; /* of the last ZSTD_decompressStream(): 0 at a frame's end */
};

static int reader_open(struct reader *r, int dirfd, const char *name)
{
    int fd = sys_openat(dirfd, name, O_RDONLY | O_NOFOLLOW, 0);

    if (fd < 0)
        return fd;
    *r = (struct reader){ .fd = fd,
                          .in_size = ZSTD_DStreamInSize(),
                          .hint = 1 };
    r->in = g_malloc(r->in_size);
    r->zstd = ZSTD_createDCtx();
    return r->zstd ? 0 : -ENOMEM;
}

static void reader_close(struct reader *r)
{
    ZSTD_freeDCtx(r->zstd);
    g_free(r->in);
    fd_close(&r->fd);
}

static int reader_fill(struct reader *r)
{
    ssize_t n;

    do
        n = read(r->fd, r->in, r->in_size);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return -errno;
    if (n == 0)
        return -EBADMSG;
    r->input = (ZSTD_inBuffer){ r->in, (size_t)n, 0 };
    return 0;
}

/* Read exactly len bytes of the stream. */
static int reader_get(struct reader *r, void *data, size_t len)
{
    ZSTD_outBuffer out = { data, len, 0 };

    while (out.pos < out.size) {
        size_t before = out.pos;

        if (r->hint == 0)
            return -EBADMSG;
        r->hint = ZSTD_decompressStream(r->zstd, &out, &r->input);
        if (ZSTD_isError(r->hint))
            return -EBADMSG;
        if (out.pos == before && r->input.pos == r->input.size) {
            int rc = reader_fill(r);

            if (rc < 0)
                return rc;
        }
    }
    return 0;
}

/* The stream must end here, and its checksum be right: the decoder checks it
 * when it reaches the frame's end. */
static int reader_finish(struct reader *r)
{
    char extra;

    while (r->hint != 0) {
        ZSTD_outBuffer out = { &extra, 1, 0 };

        r->hint = ZSTD_decompressStream(r->zstd, &out, &r->input);
        if (ZSTD_isError(r->hint) || out.pos > 0)
            return -EBADMSG;
        if (r->hint != 0 && r->input.pos == r->input.size) {
            int rc = reader_fill(r);

            if (rc < 0)
                return rc;
        }
    }
    return 0;
}

static int copy_range(struct reader *r, int file, uint64_t offset,
                      uint64_t length, char *chunk)
{
    while (length > 0) {
        size_t want = (size_t)MIN(length, (uint64_t)CHUNK);
        int rc = reader_get(r, chunk, want);

        if (rc == 0 && file >= 0)
            rc = sys_pwrite_all(file, chunk, want, (off_t)offset);
        if (rc < 0)
            return rc;
        offset += want;
        length -= want;
    }
    return 0;
}

/* Walk the stream; write it to file if that is not -1. */
static int replay(struct reader *r, int file)
{
    g_autofree char *chunk = g_malloc(CHUNK);
    uint64_t header[2], size, position = 0;
    int rc = reader_get(r, header, sizeof(header));

    if (rc < 0)
        return rc;
    size = le64toh(header[1]);
    if (memcmp(header, magic, sizeof(magic)) != 0 || size > INT64_MAX)
        return -EBADMSG;
    if (file >= 0) {
        rc = sys_ftruncate(file, 0);
        if (rc == 0)
            rc = sys_ftruncate(file, (off_t)size);
    }
    while (rc == 0) {
        uint64_t offset, length;

        rc = reader_get(r, header, sizeof(header));
        if (rc < 0)
            break;
        offset = le64toh(header[0]);
        length = le64toh(header[1]);
        if (offset < position || offset > size || length > size - offset)
            return -EBADMSG;
        if (length == 0)
            return offset == size ? reader_finish(r) : -EBADMSG;
        rc = copy_range(r, file, offset, length, chunk);
        position = offset + length;
    }
    return rc;
}

int blob_verify(int dirfd, const char *name)
{
    return blob_restore(dirfd, name, -1);
}

int blob_restore(int dirfd, const char *name, int file)
{
    struct reader r = { .fd = -1 };
    int rc = reader_open(&r, dirfd, name);

    if (rc == 0)
        rc = replay(&r, file);
    reader_close(&r);
    return rc;
}

/* ---- comparing ----------------------------------------------------------- */

/* Do the next bytes of file equal the stream's, or zeros (in a hole)? */
static int range_is_same(struct reader *r, int file, uint64_t offset,
                         uint64_t length, bool hole)
{
    g_autofree char *wanted = g_malloc0(CHUNK), *found = g_malloc(CHUNK);

    while (length > 0) {
        size_t part = (size_t)MIN(length, (uint64_t)CHUNK);
        int rc = hole ? 0 : reader_get(r, wanted, part);
        ssize_t n = rc < 0 ? 0 : pread(file, found, part, (off_t)offset);

        if (rc < 0)
            return rc;
        if (n < 0)
            return -errno;
        if (n != (ssize_t)part || memcmp(wanted, found, part) != 0)
            return 0;
        offset += part;
        length -= part;
    }
    return 1;
}

static int compare(struct reader *r, int file)
{
    uint64_t header[2], size, position = 0;
    struct stat st;
    int rc = reader_get(r, header, sizeof(header));

    if (rc == 0)
        rc = sys_stat_fd(file, &st);
    if (rc < 0)
        return rc;
    size = le64toh(header[1]);
    if (memcmp(header, magic, sizeof(magic)) != 0)
        return -EBADMSG;
    if ((uint64_t)st.st_size != size)
        return 0;
    for (;;) {
        uint64_t offset, length;

        rc = reader_get(r, header, sizeof(header));
        if (rc < 0)
            return rc;
        offset = le64toh(header[0]);
        length = le64toh(header[1]);
        if (offset < position || offset > size || length > size - offset)
            return -EBADMSG;
        rc = range_is_same(r, file, position, offset - position, true);
        if (rc != 1 || length == 0)
            return rc;
        rc = range_is_same(r, file, offset, length, false);
        if (rc != 1)
            return rc;
        position = offset + length;
    }
}

int blob_is_content(int dirfd, const char *name, int file)
{
    struct reader r = { .fd = -1 };
    int rc = reader_open(&r, dirfd, name);

    if (rc == 0)
        rc = compare(&r, file);
    reader_close(&r);
    return rc;
}
