/* SPDX-License-Identifier: Apache-2.0
 *
 * dir_stream - the entries of an open directory, by offset.
 *
 * Offsets are the kernel's own d_off, which the client gives back to go on
 * from there or from anywhere it was before.
 *
 * What was read ahead is kept for the next request, but only for so many
 * streams of the process: a client may open as many directories as there are
 * descriptors, and leave each half-way.
 *
 * Threads: one at a time; the owner locks. Different streams at once.
 */
#ifndef DAEMON_DIR_STREAM_H
#define DAEMON_DIR_STREAM_H

#include <stdint.h>

enum { DIR_STREAM_MAX_KEPT = 256 }; /* of 32 KiB each */

struct dir_stream;

/* As getdents64(2) gives it. */
struct dir_entry {
    uint64_t ino;
    int64_t off; /* where the next entry is */
    unsigned short reclen;
    unsigned char type;
    char name[];
};

/* fd (borrowed) must live as long as the stream. */
struct dir_stream *dir_stream_new(int fd);
void dir_stream_free(struct dir_stream *stream);

/* Go to an offset: 0, or one that an entry carried. Going to 0 sees the
 * directory anew. 0 or -errno. */
int dir_stream_seek(struct dir_stream *stream, int64_t offset);

/* The entry here, borrowed until the next call. 1, 0 at the end, or -errno. */
int dir_stream_peek(struct dir_stream *stream,
                    const struct dir_entry **ret_entry);

/* Step over the entry that dir_stream_peek() returned. */
void dir_stream_advance(struct dir_stream *stream);

/* No more entries for now: the next call is dir_stream_seek(). */
void dir_stream_pause(struct dir_stream *stream);

#endif
