/* SPDX-License-Identifier: Apache-2.0
 *
 * journal - an append-only file of checksummed JSON lines.
 *
 * A line is a JSON object whose last member is "sum": the CRC-32C, as eight
 * lower-case hex digits, of all bytes of the line before ',"sum"':
 *
 *     {"t":"bind","p":2,"n":"a","i":12,"sum":"0a1b2c3d"}\n
 *
 * J1  Each line is appended by one write(2). A killed writer leaves whole
 *     lines, or (on a full disk, after a power cut) one torn line at the end.
 * J2  A failed append leaves the file as it was before.
 *
 * Threads: the lock of the journal's owner guards it.
 */
#ifndef INTERCEPTOR_LOG_JOURNAL_H
#define INTERCEPTOR_LOG_JOURNAL_H

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    JOURNAL_MAX_FILE = 1 << 30, /* bytes; a longer file is not a journal */
    JOURNAL_MAX_LINE = 1 << 24,
    JOURNAL_RESERVE = 64 << 10,
    JOURNAL_LAST = 4 << 10, /* part of the reserved room, for the last line */
};

struct journal;

/* Open dirfd/name for appending; create it if it is missing. Drops a torn last
 * line. Returns 0 or -errno. */
int journal_open(int dirfd, const char *name, struct journal **ret_journal);

void journal_close(struct journal *journal);

/* Append the members of text, '{"t":...' without the closing brace. -EFBIG: the
 * line or the file would exceed what journal_read() accepts. */
int journal_append_text(struct journal *journal, const char *text, size_t len);

/* Append an object (ownership taken). */
int journal_append(struct journal *journal, json_t *record);

/* From now on reserve disk room for the next lines, JOURNAL_RESERVE bytes or
 * more, so that removals can be recorded on a full disk. Returns 0, -ENOSPC or
 * -EDQUOT. Does nothing on filesystems that cannot reserve. */
int journal_reserve(struct journal *journal);

/* Ensure room for a line of this length plus JOURNAL_LAST bytes for the last
 * line, which must be writable on a full disk. Returns 0 (also if nothing is
 * reserved), -ENOSPC or -EDQUOT. */
int journal_make_room(struct journal *journal, size_t len);

/* Release the reserved room: no more lines follow. */
void journal_trim(struct journal *journal);

/* Remove all lines appended since the journal had this size, and reserve room
 * again if it was reserved. Returns 0 or -errno. */
int journal_truncate(struct journal *journal, int64_t size);

/* Return the size in bytes. */
int64_t journal_size(const struct journal *journal);

/* fdatasync(2). */
int journal_sync(struct journal *journal);

/* Read all records of dirfd/name in order; stop at the first error of the
 * callback, which returns 0 or -errno. *ret_damaged is set if a line other than
 * a torn last one was bad; bad lines are skipped. The record is borrowed for
 * the call. Returns 0 or -errno. */
int journal_read(int dirfd, const char *name,
                 int (*record)(json_t *record, void *opaque), void *opaque,
                 bool *ret_damaged);

/* Find the first record for which is_it() returns true. *ret_size: where it
 * ends, in bytes. Returns 0 or -errno; -ENODATA: none. */
int journal_find(int dirfd, const char *name, bool (*is_it)(json_t *record),
                 int64_t *ret_size);

/* As journal_read(), but only the first and the last whole line. -ENODATA if
 * there is no whole line. */
int journal_read_ends(int dirfd, const char *name,
                      int (*record)(json_t *record, void *opaque),
                      void *opaque);

#endif
