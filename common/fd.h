/* SPDX-License-Identifier: Apache-2.0
 *
 * fd - file descriptors that close themselves.
 *
 *     fd_auto int fd = open(...);      closed when it leaves scope, if >= 0
 *     return fd_steal(&fd);            given away instead
 */
#ifndef COMMON_FD_H
#define COMMON_FD_H

#include <stddef.h>
#include <sys/types.h>

/* Close *fd if it is >= 0 and set it to -1. errno is kept. */
void fd_close(int *fd);

/* Return *fd and set it to -1: the caller takes it over. */
int fd_steal(int *fd);

#define fd_auto __attribute__((cleanup(fd_close)))

/* Write once, as write(2); a socket that nothing reads raises no SIGPIPE. */
ssize_t fd_send(int fd, const void *data, size_t len);

/* Write all of buf, across short writes and EINTR. Return 0 or -errno; on error
 * a part may have been written. fd must be blocking. */
int fd_write_all(int fd, const void *buf, size_t len);

/* In the child of a fork(2): move fd to 3, and close all others except 0, 1 and
 * 2. Makes only system calls. Return 0 or -errno. */
int fd_keep_one(int fd);

/* Read a whole small file at dirfd/name into a new NUL-terminated buffer
 * (g_free). Return 0 or -errno: -EFBIG if it is longer than max bytes, -EBADMSG
 * if it is not a regular file. Does not follow a symlink. */
int fd_read_file(int dirfd, const char *name, size_t max, char **ret_text,
                 size_t *ret_len);

#endif
