/* SPDX-License-Identifier: Apache-2.0
 *
 * pack_compress - see pack.h: compress a sealed pack.
 */
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "common/fd.h"
#include "interceptor/log/pack.h"
#include "interceptor/log/pack_format.h"
#include "interceptor/sys/sys.h"

enum {
    LEVEL = 3,
    CHUNK = 256 << 10,
    WORTH_IT = 4096, /* bytes; a shorter pack takes one block anyway */
};

#define TEMPORARY PACK_COMPRESSED ".tmp"

struct compressor {
    ZSTD_CCtx *zstd;
    int in, out;
    char *read, *written;
    size_t written_size;
    off_t total; /* bytes written */
    const atomic_bool *cancel;
};

static int put(struct compressor *c, size_t len, bool last)
{
    ZSTD_inBuffer input = { c->read, len, 0 };
    size_t left;

    do {
        ZSTD_outBuffer output = { c->written, c->written_size, 0 };
        int rc;

        left = ZSTD_compressStream2(c->zstd, &output, &input,
                                    last ? ZSTD_e_end : ZSTD_e_continue);
        if (ZSTD_isError(left))
            return -ENOMEM;
        rc = sys_write_all(c->out, c->written, output.pos);
        if (rc < 0)
            return rc;
        c->total += (off_t)output.pos;
    } while (last ? left > 0 : input.pos < input.size);
    return 0;
}

static int copy(struct compressor *c)
{
    for (;;) {
        ssize_t n = read(c->in, c->read, CHUNK);
        int rc;

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (atomic_load(c->cancel))
            return -ECANCELED;
        rc = put(c, (size_t)n, n == 0);
        if (rc < 0 || n == 0)
            return rc;
    }
}

static int compress(struct compressor *c)
{
    int rc;

    c->zstd = ZSTD_createCCtx();
    if (!c->zstd)
        return -ENOMEM;
    ZSTD_CCtx_setParameter(c->zstd, ZSTD_c_compressionLevel, LEVEL);
    ZSTD_CCtx_setParameter(c->zstd, ZSTD_c_windowLog, PACK_WINDOW_LOG);
    ZSTD_CCtx_setParameter(c->zstd, ZSTD_c_checksumFlag, 1);
    c->written_size = ZSTD_CStreamOutSize();
    c->written = g_malloc(c->written_size);
    c->read = g_malloc(CHUNK);
    rc = copy(c);
    g_free(c->read);
    g_free(c->written);
    ZSTD_freeCCtx(c->zstd);
    return rc;
}

static int replace(int blobs, struct compressor *c, off_t before, bool sync)
{
    int rc;

    if (c->total >= before - before / 16)
        return sys_unlinkat(blobs, TEMPORARY, 0);
    rc = sync ? sys_fdatasync(c->out) : 0;
    if (rc == 0)
        rc = sys_renameat2(blobs, TEMPORARY, blobs, PACK_COMPRESSED, 0);
    if (rc == 0 && sync)
        rc = sys_fsync(blobs);
    return rc < 0 ? rc : sys_unlinkat(blobs, PACK_NAME, 0);
}

int pack_compress(int blobs, const atomic_bool *cancel, bool sync)
{
    fd_auto int in = sys_openat(blobs, PACK_NAME, O_RDONLY | O_NOFOLLOW, 0);
    fd_auto int out = -1;
    struct compressor c = { .in = in, .cancel = cancel };
    struct stat st;
    int rc = in < 0 ? in : sys_stat_fd(in, &st);

    if (rc < 0)
        return rc == -ENOENT ? 0 : rc;
    if (st.st_size <= WORTH_IT)
        return 0;
    out = sys_openat(blobs, TEMPORARY,
                     O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600);
    if (out < 0)
        return out;
    c.out = out;
    rc = compress(&c);
    if (rc == 0)
        rc = replace(blobs, &c, st.st_size, sync);
    if (rc < 0)
        sys_unlinkat(blobs, TEMPORARY, 0);
    return rc;
}
