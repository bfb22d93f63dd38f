/* SPDX-License-Identifier: Apache-2.0
 *
 * new_file - create one entry of a stream, other than a directory.
 *
 * A regular file has no name until new_file_publish() (O_TMPFILE), so that a
 * process that is killed leaves nothing. Other types, a file that replaces
 * another, and files on a file system without O_TMPFILE get a temporary name in
 * their final directory, NEW_FILE_PREFIX and 16 hexadecimal digits, and
 * new_file_publish() renames it. stale_files.h removes those that are left.
 */
#ifndef COPY_NEW_FILE_H
#define COPY_NEW_FILE_H

#include <archive_entry.h>
#include <stdbool.h>

#define NEW_FILE_PREFIX ".stepback-cp-"

struct new_file {
    int dir_fd;                              /* borrowed */
    char name[sizeof(NEW_FILE_PREFIX) + 16]; /* "": none yet */
    int fd; /* of a regular file; -1: another type */
};

struct new_file_rules {
    bool keep_owner, special;
};

/* Create the file, empty. Return 0 or -errno; -ENOTSUP: an unknown type. */
int new_file_create(struct new_file *file, int dir_fd,
                    struct archive_entry *entry);

/* Create another name of an existing file, which is not a directory. */
int new_file_link(struct new_file *file, int dir_fd, int from_dir,
                  const char *from);

/* Set owner, mode, attributes and times; fd is open, or file of another type.
 * Return 0 or -errno. */
int new_file_finish(const struct new_file *file, struct archive_entry *entry,
                    const struct new_file_rules *rules);
int new_file_finish_fd(int fd, struct archive_entry *entry,
                       const struct new_file_rules *rules);

/* Give it its final name. Return 0 or -errno; on failure it is removed.
 * -EEXIST: a device, a FIFO or a socket has this name, and the file is of
 * another type. */
int new_file_publish(struct new_file *file, const char *name);

/* Remove it, if it was created. */
void new_file_discard(struct new_file *file);

#endif
