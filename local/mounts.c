/* SPDX-License-Identifier: Apache-2.0
 *
 * mounts - see mounts.h.
 */
#include "local/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "common/fd.h"

uint64_t mounts_device(int fd, const char *path)
{
    struct statx found;

    if (statx(fd, path,
              AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT |
                  AT_STATX_DONT_SYNC,
              0, &found) < 0)
        return 0;
    return makedev(found.stx_dev_major, found.stx_dev_minor);
}

/* Decode the kernel's "\040" in place. */
static void decode(char *text)
{
    char *to = text;

    while (*text) {
        unsigned code;

        if (text[0] == '\\' && sscanf(text + 1, "%3o", &code) == 1) {
            *to++ = (char)code;
            text += strlen("\\040");
        } else {
            *to++ = *text++;
        }
    }
    *to = '\0';
}

/* Return the path in a line "ID PARENT MAJOR:MINOR ROOT PATH ..." if it is that
 * of the device: a new string, or NULL. */
static char *match(const char *line, uint64_t device)
{
    unsigned major_number, minor_number;
    char *path = NULL;

    if (sscanf(line, "%*u %*u %u:%u %*s %ms", &major_number, &minor_number,
               &path) != 3)
        return NULL;
    if (makedev(major_number, minor_number) == device) {
        decode(path);
        return path;
    }
    free(path);
    return NULL;
}

char *mounts_find(int proc, uint64_t device)
{
    fd_auto int fd = openat(proc, "self/mountinfo", O_RDONLY | O_CLOEXEC);
    FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
    char *line = NULL, *path = NULL;
    size_t size = 0;
    int reason;

    if (!file)
        return NULL;
    fd = -1; /* the stream's */
    errno = 0;
    while (!path && getline(&line, &size, file) > 0)
        path = match(line, device);
    reason = ferror(file) ? EIO : 0;
    fclose(file);
    free(line);
    errno = reason;
    return path;
}
