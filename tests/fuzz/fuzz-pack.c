/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz-pack - read a hostile pack of contents (pack.h).
 *
 * An input is one byte and a pack. The byte: bit 0, correct its checksums; bit
 * 1, it is compressed; bit 2, it must have its end; bit 3, it is the compressed
 * file itself.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "common/crc32c.h"
#include "interceptor/log/pack.h"
#include "interceptor/log/pack_format.h"
#include "interceptor/sys/sys.h"
#include "tests/fuzz/fuzz_world.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct fuzz_world world;

static void put_sums_right(char *pack, size_t size)
{
    size_t at = PACK_MAGIC_SIZE;

    if (size >= at)
        memcpy(pack, PACK_MAGIC, PACK_MAGIC_SIZE);
    while (size >= at + sizeof(struct pack_header)) {
        struct pack_header header;
        size_t left = size - at - sizeof(header), n = 0;

        memcpy(&header, pack + at, sizeof(header));
        header.zero = 0;
        if (header.kind == htole32(PACK_DATA)) {
            n = MIN((size_t)le64toh(header.length), left);
            header.data_sum = htole32(crc32c(pack + at + sizeof(header), n));
        }
        header.sum = htole32(crc32c(PACK_SUMMED(&header), PACK_SUMMED_SIZE));
        memcpy(pack + at, &header, sizeof(header));
        at += sizeof(header) + n;
    }
}

static int look_at(const struct pack_entry *entry, void *opaque)
{
    uint32_t *sum = opaque;

    if (entry->offset < 0 || entry->length < 0 ||
        entry->length > INT64_MAX - entry->offset)
        abort();
    if (entry->data)
        *sum ^= crc32c(entry->data, (size_t)entry->length);
    return 0;
}

static void write_file(int dir, const char *name, const void *data, size_t len)
{
    int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    if (fd < 0 || sys_write_all(fd, data, len) < 0)
        abort();
    close(fd);
}

static void write_compressed(int dir, const void *data, size_t len)
{
    size_t room = ZSTD_compressBound(len);
    g_autofree void *out = g_malloc(room);
    size_t n = ZSTD_compress(out, room, data, len, 3);

    if (!ZSTD_isError(n))
        write_file(dir, PACK_COMPRESSED, out, n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree char *pack = NULL, *path = NULL;
    atomic_bool cancel = false;
    uint32_t sum = 0;
    int dir, rc;

    if (size < 1)
        return 0;
    if (!world.base)
        fuzz_world_reset(&world);
    path = g_build_filename(world.base, "blobs", NULL);
    dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    unlinkat(dir, PACK_NAME, 0);
    unlinkat(dir, PACK_COMPRESSED, 0);
    pack = g_memdup2(data + 1, size - 1);
    if (data[0] & 1)
        put_sums_right(pack, size - 1);
    if (data[0] & 8)
        write_file(dir, PACK_COMPRESSED, pack, size - 1);
    else if (data[0] & 2)
        write_compressed(dir, pack, size - 1);
    else
        write_file(dir, PACK_NAME, pack, size - 1);
    rc = pack_read(dir, data[0] & 4, look_at, &sum);
    if (rc == 0 && data[0] & 4 && pack_compress(dir, &cancel, false) == 0) {
        uint32_t again = 0;

        if (pack_read(dir, true, look_at, &again) < 0 || again != sum)
            abort();
    }
    close(dir);
    return 0;
}
