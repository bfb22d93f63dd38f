/* SPDX-License-Identifier: Apache-2.0
 *
 * target_dir - see target_dir.h.
 */
#include "copy/target_dir.h"

#include <archive.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "copy/entry_name.h"
#include "copy/stale_files.h"

/* Another process can make a confined lookup fail with EAGAIN by renaming. */
enum { ATTEMPTS = 100 };

struct target_pending {
    struct target_pending *next;
    struct archive_entry *entry;
    char name[];
};

static int open_below(const struct target_dirs *dirs, const char *name)
{
    const struct open_how how = {
        .flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS |
                   (dirs->trusted ? 0 : RESOLVE_NO_SYMLINKS),
    };
    int fd = -1;

    if (!*name)
        return fcntl(dirs->base, F_DUPFD_CLOEXEC, 0);
    for (int i = 0; i < ATTEMPTS; i++) {
        fd = (int)syscall(SYS_openat2, dirs->base, name, &how, sizeof(how));
        if (fd >= 0 || (errno != EAGAIN && errno != EINTR))
            break;
    }
    return fd;
}

/* Create the missing parents of a name, and the name. */
static int make_path(const struct target_dirs *dirs, const char *name)
{
    char *path = strdup(name);
    int parent = open_below(dirs, "");

    for (char *at = path; path && parent >= 0 && *at;) {
        size_t len = strcspn(at, "/");
        char after = at[len];
        int fd = -1;

        at[len] = '\0';
        if (mkdirat(parent, at, 0777) == 0 || errno == EEXIST)
            fd = open_below(dirs, path);
        at[len] = after;
        at += len + (after == '/');
        close(parent);
        parent = fd;
    }
    free(path);
    return parent;
}

int target_dirs_enter(struct target_dirs *dirs, const char *name)
{
    int fd;

    if (dirs->last && strcmp(dirs->last, name) == 0)
        return dirs->last_fd;
    fd = open_below(dirs, name);
    if (fd < 0 && errno == ENOENT)
        fd = make_path(dirs, name);
    if (fd < 0)
        return -1;
    stale_files_guard(fd);
    if (dirs->last)
        close(dirs->last_fd);
    free(dirs->last);
    dirs->last = strdup(name);
    dirs->last_fd = fd;
    if (dirs->last)
        return fd;
    close(fd);
    errno = ENOMEM;
    return -1;
}

/* Return 0 if an existing directory may receive entries, or -errno. */
static int check_directory(const struct target_dirs *dirs, const char *name)
{
    int fd = open_below(dirs, name);

    if (fd < 0)
        return -errno;
    stale_files_remove(fd);
    close(fd);
    return 0;
}

int target_dirs_make(struct target_dirs *dirs, int parent_fd, const char *leaf,
                     const char *name, struct archive_entry *entry)
{
    struct target_pending *pending;

    if (mkdirat(parent_fd, leaf, 0700) < 0)
        return errno == EEXIST ? check_directory(dirs, name) : -errno;
    pending = malloc(sizeof(*pending) + strlen(name) + 1);
    if (!pending)
        return -ENOMEM;
    strcpy(pending->name, name);
    pending->entry = archive_entry_clone(entry);
    pending->next = dirs->pending;
    dirs->pending = pending;
    return 0;
}

static void pop(struct target_dirs *dirs)
{
    struct target_pending *pending = dirs->pending;

    dirs->pending = pending->next;
    archive_entry_free(pending->entry);
    free(pending);
}

bool target_dirs_leave(struct target_dirs *dirs, const char *name,
                       struct copy_error *error)
{
    while (dirs->pending &&
           !(name && entry_name_is_below(name, dirs->pending->name))) {
        const char *directory = dirs->pending->name;
        int fd = open_below(dirs, directory);

        if (fd < 0 ||
            !dirs->finish(fd, dirs->pending->entry, directory, dirs->opaque)) {
            copy_fail_at(error, dirs->target, directory, strerror(errno));
            if (fd >= 0)
                close(fd);
            return false;
        }
        close(fd);
        pop(dirs);
    }
    return true;
}

void target_dirs_clear(struct target_dirs *dirs)
{
    while (dirs->pending)
        pop(dirs);
    if (dirs->last)
        close(dirs->last_fd);
    free(dirs->last);
    dirs->last = NULL;
}
