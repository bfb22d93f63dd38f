/* SPDX-License-Identifier: Apache-2.0
 *
 * stale_files - see stale_files.h.
 */
#include "copy/stale_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "copy/new_file.h"

enum { DIGITS = 16, ATTEMPTS = 50 };

/* Without waiting for long: a guest can hold a lock on a shared directory. */
void stale_files_guard(int dir_fd)
{
    const struct timespec pause = { .tv_nsec = 2 * 1000 * 1000 };

    for (int i = 0; i < ATTEMPTS; i++) {
        if (flock(dir_fd, LOCK_SH | LOCK_NB) == 0)
            return;
        nanosleep(&pause, NULL);
    }
}

static bool is_temporary(const char *name)
{
    size_t len = strlen(NEW_FILE_PREFIX);

    return strncmp(name, NEW_FILE_PREFIX, len) == 0 &&
           strlen(name + len) == DIGITS &&
           strspn(name + len, "0123456789abcdef") == DIGITS;
}

void stale_files_remove(int dir_fd)
{
    /* With an offset and a lock of its own. */
    int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *stream = NULL;
    struct dirent *entry;

    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
        stream = fdopendir(fd);
    if (!stream) {
        if (fd >= 0)
            close(fd);
        return;
    }
    while ((entry = readdir(stream))) {
        if (is_temporary(entry->d_name))
            unlinkat(dirfd(stream), entry->d_name, 0);
    }
    closedir(stream);
}
