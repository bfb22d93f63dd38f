/* SPDX-License-Identifier: Apache-2.0
 *
 * copy_attributes - see copy_attributes.h.
 */
#include "copy/copy_attributes.h"

#include <archive.h>
#include <errno.h>
#include <linux/limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>

static bool is_user(const char *name)
{
    return strncmp(name, "user.", 5) == 0;
}

static bool is_privileged(const char *name)
{
    return strcmp(name, "security.capability") == 0 ||
           strcmp(name, "system.posix_acl_access") == 0 ||
           strcmp(name, "system.posix_acl_default") == 0;
}

void copy_attributes_read(int fd, struct archive_entry *entry)
{
    ssize_t len = flistxattr(fd, NULL, 0);
    char *names, *value;

    if (len <= 0)
        return;
    names = malloc(XATTR_LIST_MAX);
    value = malloc(XATTR_SIZE_MAX);
    if (names && value)
        len = flistxattr(fd, names, XATTR_LIST_MAX);
    else
        len = 0;
    for (char *name = names; len > 0 && name < names + len;
         name += strlen(name) + 1) {
        ssize_t size;

        if (!is_user(name) && !is_privileged(name))
            continue;
        size = fgetxattr(fd, name, value, XATTR_SIZE_MAX);
        if (size >= 0)
            archive_entry_xattr_add_entry(entry, name, value, (size_t)size);
    }
    free(names);
    free(value);
}

int copy_attributes_write(int fd, struct archive_entry *entry, bool all)
{
    const char *name;
    const void *value;
    size_t size;

    archive_entry_xattr_reset(entry);
    while (archive_entry_xattr_next(entry, &name, &value, &size) ==
           ARCHIVE_OK) {
        if (!is_user(name) && !(all && is_privileged(name)))
            continue;
        if (fsetxattr(fd, name, value, size, 0) < 0 && errno != EOPNOTSUPP)
            return -errno;
    }
    return 0;
}
