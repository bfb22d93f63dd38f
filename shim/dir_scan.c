/* SPDX-License-Identifier: Apache-2.0
 *
 * dir_scan - see dir_scan.h.
 */
#include "shim/dir_scan.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static bool visit_block(const char *block, ssize_t length,
                        bool (*visit)(const char *name, void *opaque),
                        void *opaque)
{
    for (ssize_t at = 0; at < length;) {
        const struct dirent64 *entry = (const void *)(block + at);

        at += entry->d_reclen;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (!visit(entry->d_name, opaque))
            return false;
    }
    return true;
}

int dir_scan(const char *path, bool (*visit)(const char *name, void *opaque),
             void *opaque)
{
    _Alignas(struct dirent64) char block[16384];
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ssize_t got = 0;
    int result = 0;

    if (fd < 0)
        return -errno;
    while ((got = getdents64(fd, block, sizeof(block))) > 0) {
        if (!visit_block(block, got, visit, opaque))
            break;
    }
    if (got < 0)
        result = -errno;
    close(fd);
    return result;
}

int dir_scan_read_file(const char *path, char *room, int size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC), length = 0, error = 0;
    ssize_t got = 0;

    if (fd < 0)
        return -errno;
    while (length < size - 1 &&
           (got = read(fd, room + length, (size_t)(size - 1 - length))) > 0)
        length += (int)got;
    if (got < 0)
        error = -errno;
    close(fd);
    room[length] = '\0';
    return error ? error : length;
}
