/* SPDX-License-Identifier: Apache-2.0
 *
 * dir_stream - the entries of an open directory, by offset.
 *
 * Entries that lead to undo logs (log_name.h) are left out: no client can enter
 * them, so a search or "git status" would report an error for each.
 *
 * Offsets are the kernel's own d_off, which the client passes to continue from
 * there or from any earlier position.
 *
 * Read-ahead entries are kept for the next request, but only for
 * DIR_STREAM_MAX_KEPT streams of the process: a client may open as many
 * directories as there are descriptors, and leave each halfway.
 *
 * Threads: one at a time for each stream; the owner locks.
 */
#ifndef DAEMON_DIR_STREAM_H
#define DAEMON_DIR_STREAM_H

#include <stdint.h>

enum { DIR_STREAM_MAX_KEPT = 256 }; /* buffers of 32 KiB */

struct dir_stream;

/* As returned by getdents64(2). */
struct dir_entry {
    uint64_t ino;
    int64_t off; /* offset of the next entry */
    unsigned short reclen;
    unsigned char type;
    char name[];
};

/* fd is borrowed for the lifetime of the stream. */
struct dir_stream *dir_stream_new(int fd);
void dir_stream_free(struct dir_stream *stream);

/* Seek to an offset: 0, or one from an entry. Seeking to 0 reads the directory
 * anew. Return 0 or -errno. */
int dir_stream_seek(struct dir_stream *stream, int64_t offset);

/* Return the current entry, borrowed until the next call. 1, 0 at the end, or
 * -errno. */
int dir_stream_peek(struct dir_stream *stream,
                    const struct dir_entry **ret_entry);

/* Skip the entry that dir_stream_peek() returned. */
void dir_stream_advance(struct dir_stream *stream);

/* Stop reading for now: the next call must be dir_stream_seek(). */
void dir_stream_pause(struct dir_stream *stream);

#endif
