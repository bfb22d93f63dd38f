/* SPDX-License-Identifier: Apache-2.0
 *
 * template_file - see template_file.h.
 */
#include "agent/vm/template_file.h"

#include <errno.h>
#include <glib.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHUNK = 1 << 20, LANES = 4 };

/* Odd, so that a step of the sum is reversible: no change of a single word
 * leaves the sum as it was. */
#define FACTOR 0x9e3779b97f4a7c15u

struct sum {
    uint64_t
        lanes[LANES]; /* independent, so that the processor overlaps them */
};

static uint64_t mix(uint64_t lane, uint64_t word)
{
    lane = (lane ^ word) * FACTOR;
    return lane << 29 | lane >> 35;
}

/* len: less than a multiple of the lanes' size only at the end. */
static void add(struct sum *sum, const char *data, size_t len)
{
    uint64_t words[LANES];

    for (; len > 0; data += sizeof(words)) {
        size_t part = MIN(len, sizeof(words));

        if (part < sizeof(words))
            memset(words, 0, sizeof(words));
        memcpy(words, data, part);
        for (int i = 0; i < LANES; i++)
            sum->lanes[i] = mix(sum->lanes[i], words[i]);
        len -= part;
    }
}

/* Read until size bytes are there, or the file ends. */
static ssize_t read_chunk(int fd, char *buffer, size_t size)
{
    size_t at = 0;

    while (at < size) {
        ssize_t n = read(fd, buffer + at, size - at);

        if (n < 0 && errno != EINTR)
            return -errno;
        if (n == 0)
            break;
        at += n > 0 ? (size_t)n : 0;
    }
    return (ssize_t)at;
}

/* Sum the state up. */
static int sum_state(int fd, uint64_t *ret_bytes, uint64_t *ret_sum)
{
    g_autofree char *buffer = g_malloc(CHUNK);
    struct sum sum = { { 1, 2, 3, 4 } };
    ssize_t n;

    *ret_bytes = *ret_sum = 0;
    if (lseek(fd, TEMPLATE_FILE_HEADER, SEEK_SET) < 0)
        return -errno;
    while ((n = read_chunk(fd, buffer, CHUNK)) > 0) {
        add(&sum, buffer, (size_t)n);
        *ret_bytes += (uint64_t)n;
    }
    for (int i = 0; i < LANES; i++)
        *ret_sum = mix(*ret_sum, sum.lanes[i]);
    return (int)n;
}

static void fill_header(char *header, const char *key, uint64_t bytes,
                        uint64_t sum)
{
    memset(header, 0, TEMPLATE_FILE_HEADER);
    g_snprintf(header, TEMPLATE_FILE_HEADER,
               "stepback template 1\nkey %s\nbytes %" PRIu64 "\nsum %016" PRIx64
               "\n",
               key, bytes, sum);
}

int template_file_seal(int fd, const char *key)
{
    g_autofree char *header = g_malloc(TEMPLATE_FILE_HEADER);
    uint64_t bytes, sum;
    int rc = sum_state(fd, &bytes, &sum);
    ssize_t n;

    if (rc)
        return rc;
    fill_header(header, key, bytes, sum);
    n = pwrite(fd, header, TEMPLATE_FILE_HEADER, 0);
    if (n != TEMPLATE_FILE_HEADER)
        return n < 0 ? -errno : -EIO;
    return fsync(fd) < 0 ? -errno : 0;
}

int template_file_check(int fd, const char *key)
{
    g_autofree char *found = g_malloc(TEMPLATE_FILE_HEADER);
    g_autofree char *wanted = g_malloc(TEMPLATE_FILE_HEADER);
    uint64_t bytes, sum;
    ssize_t n = pread(fd, found, TEMPLATE_FILE_HEADER, 0);
    int rc;

    if (n < 0)
        return -errno;
    rc = sum_state(fd, &bytes, &sum);
    if (rc)
        return rc;
    fill_header(wanted, key, bytes, sum);
    if (n != TEMPLATE_FILE_HEADER || bytes == 0 ||
        memcmp(found, wanted, TEMPLATE_FILE_HEADER) != 0)
        return -EBADMSG;
    return lseek(fd, TEMPLATE_FILE_HEADER, SEEK_SET) < 0 ? -errno : 0;
}
