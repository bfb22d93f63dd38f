/* SPDX-License-Identifier: Apache-2.0
 *
 * fd - see fd.h.
 */
#include "common/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

void fd_close(int *fd)
{
    if (*fd >= 0) {
        int saved = errno;

        close(*fd);
        *fd = -1;
        errno = saved;
    }
}

int fd_keep_one(int fd)
{
    if (dup2(fd, 3) != 3)
        return -errno;
    if (syscall(SYS_close_range, 4U, ~0U, 0U) == 0)
        return 0;
    for (long i = 4, max = sysconf(_SC_OPEN_MAX); i < MIN(max, 65536); i++)
        close((int)i);
    return 0;
}

int fd_steal(int *fd)
{
    int taken = *fd;

    *fd = -1;
    return taken;
}

ssize_t fd_send(int fd, const void *data, size_t len)
{
    ssize_t n = send(fd, data, len, MSG_NOSIGNAL);

    return n < 0 && errno == ENOTSOCK ? write(fd, data, len) : n;
}

int fd_write_all(int fd, const void *buf, size_t len)
{
    const char *p = buf;

    while (len > 0) {
        ssize_t n = write(fd, p, len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        p += n;
        len -= (size_t)n;
    }
    return 0;
}

int fd_read_file(int dirfd, const char *name, size_t max, char **ret_text,
                 size_t *ret_len)
{
    /* O_NONBLOCK: opening a FIFO that another process put there must not
     * block. */
    fd_auto int fd = openat(dirfd, name,
                            O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    g_autoptr(GString) text = NULL;
    char chunk[16384];
    struct stat st;

    if (fd < 0)
        return -errno;
    if (fstat(fd, &st) < 0)
        return -errno;
    if (!S_ISREG(st.st_mode))
        return -EBADMSG;
    text = g_string_new(NULL);
    for (;;) {
        ssize_t n = read(fd, chunk, sizeof(chunk));

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        if (text->len + (size_t)n > max)
            return -EFBIG;
        g_string_append_len(text, chunk, n);
    }
    if (ret_len)
        *ret_len = text->len;
    *ret_text = g_string_free(g_steal_pointer(&text), FALSE);
    return 0;
}
