/* SPDX-License-Identifier: Apache-2.0
 *
 * journal - see journal.h.
 */
#include "interceptor/log/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/crc32c.h"
#include "common/fd.h"
#include "interceptor/sys/sys.h"

#define SUM_KEY ",\"sum\":\""

enum { SUM_TAIL = sizeof(SUM_KEY) - 1 + 8 + 2 }; /* includes the closing '"}' */

struct journal {
    int fd;
    off_t size;
    off_t reserved; /* end of the reserved room; 0: reserve nothing */
    bool torn;      /* a partial line follows size */
    GString *line;  /* scratch */
};

/* Return the length up to the last newline, and the file's length. */
static int whole_size(int fd, off_t *ret_size, off_t *ret_end)
{
    off_t end = lseek(fd, 0, SEEK_END);
    char chunk[4096];

    if (end < 0)
        return -errno;
    *ret_end = end;
    while (end > 0) {
        size_t len = (size_t)MIN(end, (off_t)sizeof(chunk));
        ssize_t n = pread(fd, chunk, len, end - (off_t)len);
        char *newline;

        if (n != (ssize_t)len)
            return n < 0 ? -errno : -EIO;
        newline = memrchr(chunk, '\n', len);
        if (newline) {
            *ret_size = end - (off_t)len + (newline - chunk) + 1;
            return 0;
        }
        end -= (off_t)len;
    }
    *ret_size = 0;
    return 0;
}

int journal_open(int dirfd, const char *name, struct journal **ret_journal)
{
    fd_auto int fd = sys_openat(dirfd, name,
                                O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW, 0600);
    struct journal *journal;
    off_t size, end;
    int rc;

    if (fd < 0)
        return fd;
    rc = whole_size(fd, &size, &end);
    /* Truncate only if needed: ext4 writes a file that was truncated to zero to
     * disk when it is closed, and an undo that soon removes the file waits for
     * that. */
    if (rc == 0 && size < end)
        rc = sys_ftruncate(fd, size);
    if (rc < 0)
        return rc;
    journal = g_new0(struct journal, 1);
    journal->fd = fd_steal(&fd);
    journal->size = size;
    journal->line = g_string_sized_new(256);
    *ret_journal = journal;
    return 0;
}

void journal_close(struct journal *journal)
{
    if (!journal)
        return;
    fd_close(&journal->fd);
    g_string_free(journal->line, TRUE);
    g_free(journal);
}

/* Truncation also releases the room reserved beyond the end. */
static int cut(struct journal *journal, off_t size)
{
    int rc = sys_ftruncate(journal->fd, size);

    if (journal->reserved)
        journal->reserved = size;
    return rc;
}

int journal_append_text(struct journal *journal, const char *text, size_t len)
{
    GString *line = journal->line;
    int rc;

    /* Never write a line that could not be read back. */
    if (len + SUM_TAIL > JOURNAL_MAX_LINE ||
        journal->size + (off_t)(len + SUM_TAIL) >= JOURNAL_MAX_FILE)
        return -EFBIG;
    g_string_truncate(line, 0);
    g_string_append_len(line, text, (gssize)len);
    g_string_append_printf(line, SUM_KEY "%08x\"}\n", crc32c(text, len));
    /* J2. Remove a torn line first: no line may follow it. */
    rc = journal->torn ? cut(journal, journal->size) : 0;
    if (rc < 0)
        return rc;
    rc = sys_write_all(journal->fd, line->str, line->len);
    if (rc < 0) {
        journal->torn = cut(journal, journal->size) < 0;
        return rc;
    }
    journal->size += (off_t)line->len;
    if (journal->reserved &&
        journal->size > journal->reserved - JOURNAL_RESERVE)
        journal_reserve(journal); /* for later lines; failure is harmless */
    return 0;
}

int journal_append(struct journal *journal, json_t *record)
{
    char *text = json_dumps(record, JSON_COMPACT);
    int rc;

    json_decref(record);
    if (!text)
        return -EINVAL;
    rc = journal_append_text(journal, text, strlen(text) - 1);
    free(text);
    return rc;
}

static int reserve(struct journal *journal, off_t length)
{
    int rc = sys_fallocate(journal->fd, FALLOC_FL_KEEP_SIZE, journal->size,
                           length);

    if (rc == 0)
        journal->reserved = journal->size + length;
    return rc == -ENOSPC || rc == -EDQUOT ? rc : 0;
}

int journal_reserve(struct journal *journal)
{
    return reserve(journal, 2 * JOURNAL_RESERVE);
}

int journal_make_room(struct journal *journal, size_t len)
{
    off_t wanted = (off_t)(len + SUM_TAIL) + JOURNAL_LAST;

    if (!journal->reserved || journal->size + wanted <= journal->reserved ||
        journal_reserve(journal) == 0)
        return 0;
    return reserve(journal, wanted);
}

void journal_trim(struct journal *journal)
{
    if (journal->reserved)
        sys_ftruncate(journal->fd, journal->size);
    journal->reserved = 0;
}

int journal_truncate(struct journal *journal, int64_t size)
{
    int rc = cut(journal, size);

    if (rc < 0)
        return rc;
    journal->size = size;
    journal->torn = false;
    if (journal->reserved)
        journal_reserve(journal);
    return 0;
}

int64_t journal_size(const struct journal *journal)
{
    return journal ? journal->size : 0;
}

int journal_sync(struct journal *journal)
{
    return sys_fdatasync(journal->fd);
}

/* Parse one line without its newline. Returns NULL if it is not intact. */
static json_t *parse(const char *line, size_t len)
{
    char sum[9];
    json_t *record;

    if (len <= SUM_TAIL || len > JOURNAL_MAX_LINE)
        return NULL;
    len -= SUM_TAIL;
    snprintf(sum, sizeof(sum), "%08x", crc32c(line, len));
    if (memcmp(line + len, SUM_KEY, sizeof(SUM_KEY) - 1) != 0 ||
        memcmp(line + len + sizeof(SUM_KEY) - 1, sum, 8) != 0 ||
        memcmp(line + len + SUM_TAIL - 2, "\"}", 2) != 0)
        return NULL;
    record = json_loadb(line, len + SUM_TAIL, JSON_REJECT_DUPLICATES, NULL);
    if (record && !json_is_object(record)) {
        json_decref(record);
        return NULL;
    }
    return record;
}

/* Return the line at *start as a new reference (NULL if it is bad) and advance
 * *start. False: no line is left, or it is torn, so its change was never made
 * (J1). */
static bool read_line(const char *text, size_t len, size_t *start,
                      json_t **ret_record)
{
    const char *line = text + *start;
    const char *newline = *start < len ? memchr(line, '\n', len - *start)
                                       : NULL;

    if (!newline)
        return false;
    *ret_record = parse(line, (size_t)(newline - line));
    *start += (size_t)(newline - line) + 1;
    return true;
}

int journal_read(int dirfd, const char *name,
                 int (*record)(json_t *record, void *opaque), void *opaque,
                 bool *ret_damaged)
{
    g_autofree char *text = NULL;
    size_t len, start = 0;
    int rc = fd_read_file(dirfd, name, JOURNAL_MAX_FILE, &text, &len);
    json_t *parsed;

    while (rc == 0 && read_line(text, len, &start, &parsed)) {
        if (parsed)
            rc = record(parsed, opaque);
        else
            *ret_damaged = true;
        json_decref(parsed);
    }
    return rc;
}

int journal_find(int dirfd, const char *name, bool (*is_it)(json_t *record),
                 int64_t *ret_size)
{
    g_autofree char *text = NULL;
    size_t len, start = 0;
    int rc = fd_read_file(dirfd, name, JOURNAL_MAX_FILE, &text, &len);
    bool found = false;
    json_t *parsed;

    if (rc < 0)
        return rc;
    while (!found && read_line(text, len, &start, &parsed)) {
        found = parsed && is_it(parsed);
        json_decref(parsed);
    }
    *ret_size = (int64_t)start;
    return found ? 0 : -ENODATA;
}

static int deliver_line(const char *line, size_t len,
                        int (*record)(json_t *record, void *opaque),
                        void *opaque)
{
    json_t *parsed = parse(line, len);
    int rc = parsed ? record(parsed, opaque) : -EBADMSG;

    json_decref(parsed);
    return rc;
}

int journal_read_ends(int dirfd, const char *name,
                      int (*record)(json_t *record, void *opaque), void *opaque)
{
    g_autofree char *text = NULL;
    const char *first_end, *last_end, *last;
    size_t len;
    int rc = fd_read_file(dirfd, name, JOURNAL_MAX_FILE, &text, &len);

    if (rc < 0)
        return rc;
    first_end = memchr(text, '\n', len);
    if (!first_end)
        return -ENODATA;
    rc = deliver_line(text, (size_t)(first_end - text), record, opaque);
    last_end = memrchr(text, '\n', len);
    if (rc < 0 || last_end == first_end)
        return rc;
    last = memrchr(text, '\n', (size_t)(last_end - text));
    return deliver_line(last + 1, (size_t)(last_end - last - 1), record,
                        opaque);
}
