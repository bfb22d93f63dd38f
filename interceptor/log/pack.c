/* SPDX-License-Identifier: Apache-2.0
 *
 * pack - see pack.h: writing.
 */
#include "interceptor/log/pack.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "common/crc32c.h"
#include "common/fd.h"
#include "interceptor/log/pack_format.h"
#include "interceptor/sys/sys.h"

struct pack {
    pthread_mutex_t lock; /* guards the fields below; a leaf lock */
    int fd;
    _Atomic int64_t size; /* changed under lock */
    int64_t entries;
    bool sealed;  /* the last entry is an end entry */
    bool torn;    /* a partial entry follows size */
    char *buffer; /* holds a header and PACK_MAX_DATA bytes */
};

int pack_create(int blobs, struct pack **ret_pack)
{
    fd_auto int fd = sys_openat(
        blobs, PACK_NAME, O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW,
        0600);
    int rc = fd < 0 ? fd : sys_write_all(fd, PACK_MAGIC, PACK_MAGIC_SIZE);
    struct pack *pack;

    if (rc < 0) {
        if (fd >= 0) /* it would block the next try */
            sys_unlinkat(blobs, PACK_NAME, 0);
        return rc;
    }
    pack = g_new0(struct pack, 1);
    pthread_mutex_init(&pack->lock, NULL);
    pack->fd = fd_steal(&fd);
    pack->size = PACK_MAGIC_SIZE;
    *ret_pack = pack;
    return 0;
}

struct extent {
    int64_t size, entries;
};

static int add_entry(const struct pack_entry *entry, void *opaque)
{
    struct extent *extent = opaque;

    extent->size += (int64_t)sizeof(struct pack_header) +
                    (entry->data ? entry->length : 0);
    extent->entries++;
    return 0;
}

/* Treat an end entry as torn, since more entries follow. */
int pack_reopen(int blobs, struct pack **ret_pack)
{
    struct extent extent = { .size = PACK_MAGIC_SIZE };
    int rc = pack_read(blobs, false, add_entry, &extent);
    fd_auto int fd = -1;
    struct pack *pack;

    if (rc < 0)
        return rc;
    fd = sys_openat(blobs, PACK_NAME, O_WRONLY | O_APPEND | O_NOFOLLOW, 0);
    if (fd < 0)
        return fd;
    pack = g_new0(struct pack, 1);
    pthread_mutex_init(&pack->lock, NULL);
    pack->fd = fd_steal(&fd);
    pack->size = extent.size;
    pack->entries = extent.entries;
    pack->torn = true; /* possibly */
    *ret_pack = pack;
    return 0;
}

void pack_close(struct pack *pack)
{
    if (!pack)
        return;
    fd_close(&pack->fd);
    pthread_mutex_destroy(&pack->lock);
    g_free(pack->buffer);
    g_free(pack);
}

/* ---- appending ----------------------------------------------------------- */

/* Append the header in the buffer and the n bytes that follow it there. */
static int append(struct pack *pack, enum pack_kind kind, uint64_t number,
                  off_t offset, off_t length, size_t n)
{
    struct pack_header header = {
        .kind = htole32(kind),
        .number = htole64(number),
        .offset = htole64((uint64_t)offset),
        .length = htole64((uint64_t)length),
    };
    int rc;

    if (n > 0)
        header.data_sum = htole32(crc32c(pack->buffer + sizeof(header), n));
    header.sum = htole32(crc32c(PACK_SUMMED(&header), PACK_SUMMED_SIZE));
    memcpy(pack->buffer, &header, sizeof(header));
    /* P3. Entries after a torn entry could not be read. */
    rc = pack->torn ? sys_ftruncate(pack->fd, pack->size) : 0;
    if (rc < 0)
        return rc;
    rc = sys_write_all(pack->fd, pack->buffer, sizeof(header) + n);
    pack->torn = rc < 0 && sys_ftruncate(pack->fd, pack->size) < 0;
    if (rc < 0)
        return rc;
    pack->size += (int64_t)(sizeof(header) + n);
    pack->entries++;
    pack->sealed = kind == PACK_END;
    return 0;
}

/* Remove the end entry before more entries follow: a commit failed after it. */
static int unseal(struct pack *pack)
{
    int64_t size = pack->size - (int64_t)sizeof(struct pack_header);
    int rc;

    if (!pack->sealed)
        return 0;
    rc = sys_ftruncate(pack->fd, size);
    if (rc < 0)
        return rc;
    pack->size = size;
    pack->entries--;
    pack->sealed = false;
    return 0;
}

static int make_buffer(struct pack *pack)
{
    if (!pack->buffer)
        pack->buffer = g_try_malloc(sizeof(struct pack_header) + PACK_MAX_DATA);
    return pack->buffer ? 0 : -ENOMEM;
}

static int save_data(struct pack *pack, int64_t number, int file, off_t start,
                     off_t end)
{
    while (start < end) {
        size_t want = (size_t)MIN(end - start, (off_t)PACK_MAX_DATA);
        ssize_t n = pread(file, pack->buffer + sizeof(struct pack_header), want,
                          start);
        int rc;

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            return 0; /* another process truncated the file */
        rc = append(pack, PACK_DATA, (uint64_t)number, start, n, (size_t)n);
        if (rc < 0)
            return rc;
        start += n;
    }
    return 0;
}

static int save_locked(struct pack *pack, int64_t number, int file, off_t start,
                       off_t end)
{
    int rc = make_buffer(pack);

    if (rc == 0)
        rc = unseal(pack);
    while (rc == 0 && start < end) {
        off_t data = lseek(file, start, SEEK_DATA);
        off_t hole;

        if (data < 0 && errno != ENXIO) /* ENXIO: a hole up to the end */
            return -errno;
        data = data < 0 ? end : MIN(data, end);
        if (data > start)
            rc = append(pack, PACK_HOLE, (uint64_t)number, start, data - start,
                        0);
        if (rc < 0 || data == end)
            break;
        hole = lseek(file, data, SEEK_HOLE);
        if (hole < 0)
            return errno == ENXIO ? 0 : -errno; /* truncated meanwhile */
        hole = MIN(hole, end);
        rc = save_data(pack, number, file, data, hole);
        start = hole;
    }
    return rc;
}

int pack_save(struct pack *pack, int64_t number, int file, off_t start,
              off_t end)
{
    int rc;

    pthread_mutex_lock(&pack->lock);
    rc = save_locked(pack, number, file, start, end);
    pthread_mutex_unlock(&pack->lock);
    return rc;
}

int pack_seal(struct pack *pack)
{
    int rc;

    pthread_mutex_lock(&pack->lock);
    rc = make_buffer(pack);
    if (rc == 0 && !pack->sealed)
        rc = append(pack, PACK_END, (uint64_t)pack->entries, 0, 0, 0);
    pthread_mutex_unlock(&pack->lock);
    return rc;
}

int64_t pack_size(struct pack *pack)
{
    return atomic_load(&pack->size);
}

int pack_sync(struct pack *pack)
{
    return sys_fdatasync(pack->fd);
}
