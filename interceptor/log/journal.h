/* SPDX-License-Identifier: Apache-2.0
 *
 * journal - an append-only file of checksummed JSON lines.
 *
 * A line is a JSON object whose last member is "sum": the CRC-32C, as eight
 * lower-case hex digits, of all bytes of the line before ',"sum"':
 *
 *     {"t":"bind","p":2,"n":"a","i":12,"sum":"0a1b2c3d"}\n
 *
 * J1  A line is appended by one write(2). A writer that is killed leaves
 *     whole lines, or (a full disk, a power cut) one torn line at the end.
 * J2  An append that fails leaves the file as it was before.
 *
 * Threads: a journal belongs to whoever holds the lock of its owner.
 */
#ifndef INTERCEPTOR_LOG_JOURNAL_H
#define INTERCEPTOR_LOG_JOURNAL_H

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    JOURNAL_MAX_FILE = 1 << 30, /* bytes; a longer file is not ours */
    JOURNAL_MAX_LINE = 1 << 24,
    JOURNAL_RESERVE = 64 << 10,
    JOURNAL_LAST = 4 << 10, /* of what is reserved, for the last line */
};

struct journal;

/* Open dirfd/name for appending, creating it if need be. Drops a torn last
 * line first. 0 or -errno. */
int journal_open(int dirfd, const char *name, struct journal **ret_journal);

void journal_close(struct journal *journal);

/* Append the members of text, '{"t":...' without the closing brace. -EFBIG if
 * the line or the file would be longer than is read back. */
int journal_append_text(struct journal *journal, const char *text, size_t len);

/* Append an object (taken). */
int journal_append(struct journal *journal, json_t *record);

/* From now on have room on the disk for the next lines, JOURNAL_RESERVE bytes
 * and more, so that what is removed on a full disk can be recorded. 0, or
 * -ENOSPC or -EDQUOT: there is not so much. Other filesystems than those that
 * can reserve do without. */
int journal_reserve(struct journal *journal);

/* Is there room for a line with so much text, and then still JOURNAL_LAST bytes
 * for the last one, which a full disk must not keep from being written? 0, also
 * where nothing is reserved; -ENOSPC or -EDQUOT. */
int journal_make_room(struct journal *journal, size_t len);

/* Give up what is reserved: nothing more will be written. */
void journal_trim(struct journal *journal);

/* Take back all that was appended since it had this size, and reserve anew what
 * that took of the reserved room, if that was wanted. 0 or -errno. */
int journal_truncate(struct journal *journal, int64_t size);

/* Bytes. */
int64_t journal_size(const struct journal *journal);

/* fdatasync(2). */
int journal_sync(struct journal *journal);

/* Read all records of dirfd/name in order; stops at the first error of the
 * callback, which returns 0 or -errno. *ret_damaged is set if a line other
 * than a torn last one was bad; bad lines are skipped. A record is borrowed
 * for the call. 0 or -errno. */
int journal_read(int dirfd, const char *name,
                 int (*record)(json_t *record, void *opaque), void *opaque,
                 bool *ret_damaged);

/* Where the first record ends for which it says true, in *ret_size (bytes from
 * the start). 0 or -errno; -ENODATA: there is none. */
int journal_find(int dirfd, const char *name, bool (*is_it)(json_t *record),
                 int64_t *ret_size);

/* As journal_read(), but of the first and the last whole line alone. -ENODATA
 * if there is no whole line. */
int journal_read_ends(int dirfd, const char *name,
                      int (*record)(json_t *record, void *opaque),
                      void *opaque);

#endif
