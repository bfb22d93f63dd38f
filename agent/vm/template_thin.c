/* SPDX-License-Identifier: Apache-2.0
 *
 * template_thin - see template_thin.h.
 */
#include "agent/vm/template_thin.h"

#include <errno.h>
#include <glib.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"

enum {
    MAGIC = 0x5145564d, /* "QEVM" */
    VERSION = 3,
    RAM_VERSION = 4,
    PAGE = 4096,
};

/* The first byte of a part of the stream. */
enum {
    SECTION_START = 1,
    SECTION_PART = 2,
    SECTION_END = 3,
    CONFIGURATION = 7,
    SECTION_FOOTER = 0x7e,
};

/* In the low bits of a record's address. */
enum {
    RECORD_ZERO = 0x02,
    RECORD_SIZES = 0x04,
    RECORD_PAGE = 0x08,
    RECORD_END = 0x10,
    RECORD_CONTINUE = 0x20, /* the block of the record before */
};

/* The output overwrites the input: what is kept never becomes longer, as a name
 * that moves to a later record takes the place of one that is left out. Both
 * QEMUs remember the last block beyond the end of a section. */
struct thin {
    uint8_t *stream;
    size_t size, in, out;
    bool writes; /* else a trial: is all of it known? */
    bool failed; /* it is not */
    uint32_t ram;
    uint8_t in_name[256], out_name[256]; /* of blocks: their lengths first */
};

static const uint8_t *take(struct thin *thin, size_t length)
{
    const uint8_t *at = thin->stream + thin->in;

    if (thin->failed || length > thin->size - thin->in) {
        thin->failed = true;
        return NULL;
    }
    thin->in += length;
    return at;
}

static uint64_t take_number(struct thin *thin, size_t length)
{
    const uint8_t *at = take(thin, length);
    uint64_t number = 0;

    for (size_t i = 0; at && i < length; i++)
        number = number << 8 | at[i];
    return number;
}

static void expect(struct thin *thin, size_t length, uint64_t wanted)
{
    if (take_number(thin, length) != wanted)
        thin->failed = true;
}

static void put(struct thin *thin, const void *data, size_t length)
{
    if (thin->writes)
        memmove(thin->stream + thin->out, data, length);
    thin->out += length;
}

/* Keep the input from this offset up to here. */
static void keep(struct thin *thin, size_t from)
{
    put(thin, thin->stream + from, thin->in - from);
}

/* Take a name with its length before it. */
static void take_name(struct thin *thin, uint8_t *ret_name)
{
    size_t length = take_number(thin, 1);
    const uint8_t *text = take(thin, length);

    if (!text)
        return;
    ret_name[0] = (uint8_t)length;
    memcpy(ret_name + 1, text, length);
}

static bool is_name(const uint8_t *name, const char *text)
{
    return name[0] == strlen(text) && memcmp(name + 1, text, name[0]) == 0;
}

/* ---- records ------------------------------------------------------------- */

static void keep_sizes(struct thin *thin, uint64_t total)
{
    uint8_t name[256];
    uint64_t length = 0;

    for (uint64_t sum = 0; sum < total && !thin->failed; sum += length) {
        take_name(thin, name);
        length = take_number(thin, 8);
        if (length == 0 || length > total - sum)
            thin->failed = true;
    }
}

static void put_header(struct thin *thin, uint64_t record)
{
    bool same = memcmp(thin->in_name, thin->out_name, 1u + thin->in_name[0]) ==
                0;
    uint64_t header = GUINT64_TO_BE((record & ~(uint64_t)RECORD_CONTINUE) |
                                    (same ? RECORD_CONTINUE : 0));

    put(thin, &header, sizeof(header));
    if (same)
        return;
    put(thin, thin->in_name, 1u + thin->in_name[0]);
    memcpy(thin->out_name, thin->in_name, 1u + thin->in_name[0]);
}

static void take_page(struct thin *thin, uint64_t record)
{
    bool is_zero = record & RECORD_ZERO;
    const uint8_t *data;

    if (!(record & RECORD_CONTINUE))
        take_name(thin, thin->in_name);
    if (thin->in_name[0] == 0)
        thin->failed = true;
    data = take(thin, is_zero ? 1 : PAGE);
    if (!data || (is_zero && *data == 0 &&
                  (is_name(thin->in_name, "mem") ||
                   is_name(thin->in_name, "/objects/mem"))))
        return;
    put_header(thin, record);
    put(thin, data, is_zero ? 1 : PAGE);
}

/* The records of a section, and its footer. */
static void take_records(struct thin *thin)
{
    while (!thin->failed) {
        size_t from = thin->in;
        uint64_t record = take_number(thin, 8);
        unsigned kind = record & (PAGE - 1) & ~RECORD_CONTINUE;

        if (kind == RECORD_ZERO || kind == RECORD_PAGE) {
            take_page(thin, record);
            continue;
        }
        if (kind == RECORD_SIZES)
            keep_sizes(thin, record & ~(uint64_t)(PAGE - 1));
        else if (kind != RECORD_END)
            thin->failed = true;
        if (kind == RECORD_END) {
            expect(thin, 1, SECTION_FOOTER);
            expect(thin, 4, thin->ram);
        }
        keep(thin, from);
        if (kind == RECORD_END)
            return;
    }
}

/* ---- sections ------------------------------------------------------------ */

static void take_start(struct thin *thin)
{
    uint8_t name[256] = { 0 };

    expect(thin, 4, MAGIC);
    expect(thin, 4, VERSION);
    expect(thin, 1, CONFIGURATION);
    take(thin, take_number(thin, 4));
    expect(thin, 1, SECTION_START);
    thin->ram = (uint32_t)take_number(thin, 4);
    take_name(thin, name);
    if (!is_name(name, "ram"))
        thin->failed = true;
    take(thin, 4);
    expect(thin, 4, RAM_VERSION);
    keep(thin, 0);
    take_records(thin);
}

static void thin_stream(struct thin *thin)
{
    uint64_t type = SECTION_START;

    take_start(thin);
    while (!thin->failed && type != SECTION_END) {
        size_t from = thin->in;

        type = take_number(thin, 1);
        if (type != SECTION_PART && type != SECTION_END)
            thin->failed = true;
        expect(thin, 4, thin->ram);
        keep(thin, from);
        take_records(thin);
    }
    if (!thin->failed) {
        size_t from = thin->in;

        thin->in = thin->size; /* the devices */
        keep(thin, from);
    }
}

size_t template_thin(uint8_t *stream, size_t size)
{
    struct thin trial = { .stream = stream, .size = size };
    struct thin thin = { .stream = stream, .size = size, .writes = true };

    thin_stream(&trial);
    if (trial.failed)
        return size;
    thin_stream(&thin);
    return thin.out;
}

/* Return 0 or -errno. */
static int read_all(int fd, uint8_t *data, size_t size, size_t offset)
{
    size_t at = 0;

    while (at < size) {
        ssize_t n = pread(fd, data + at, size - at, (off_t)(offset + at));

        if (n == 0)
            return -EIO;
        if (n < 0 && errno != EINTR)
            return -errno;
        at += n > 0 ? (size_t)n : 0;
    }
    return 0;
}

int template_thin_file(int fd, size_t offset)
{
    g_autofree uint8_t *data = NULL;
    size_t size, rest;
    struct stat st;
    int rc;

    if (fstat(fd, &st) < 0)
        return -errno;
    if ((size_t)st.st_size <= offset)
        return 0;
    size = (size_t)st.st_size - offset;
    data = g_try_malloc(size);
    if (!data)
        return 0; /* it works as it is */
    rc = read_all(fd, data, size, offset);
    rest = rc < 0 ? size : template_thin(data, size);
    if (rc < 0 || rest == size)
        return rc;
    if (lseek(fd, (off_t)offset, SEEK_SET) < 0)
        return -errno;
    rc = fd_write_all(fd, data, rest);
    return rc == 0 && ftruncate(fd, (off_t)(offset + rest)) < 0 ? -errno : rc;
}
