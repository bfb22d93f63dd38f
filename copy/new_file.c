/* SPDX-License-Identifier: Apache-2.0
 *
 * new_file - see new_file.h.
 */
#include "copy/new_file.h"

#include <archive.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "copy/copy_attributes.h"

static int choose_name(struct new_file *file)
{
    uint64_t number;

    if (getrandom(&number, sizeof(number), 0) != sizeof(number))
        return -errno;
    snprintf(file->name, sizeof(file->name), NEW_FILE_PREFIX "%016jx",
             (uintmax_t)number);
    return 0;
}

/* Open a regular file, if possible without a name. */
static int open_regular(struct new_file *file)
{
    file->fd = openat(file->dir_fd, ".", O_WRONLY | O_TMPFILE | O_CLOEXEC,
                      0600);
    if (file->fd >= 0) {
        file->name[0] = '\0';
        return 0;
    }
    file->fd = openat(file->dir_fd, file->name,
                      O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                      0600);
    return file->fd < 0 ? -errno : 0;
}

static int make(struct new_file *file, struct archive_entry *entry)
{
    const char *target = archive_entry_symlink(entry);
    mode_t type = archive_entry_filetype(entry);

    switch (type) {
    case AE_IFREG:
        return open_regular(file);
    case AE_IFLNK:
        if (!target || !*target)
            return -EINVAL;
        return symlinkat(target, file->dir_fd, file->name) < 0 ? -errno : 0;
    case AE_IFIFO:
    case AE_IFCHR:
    case AE_IFBLK:
        return mknodat(file->dir_fd, file->name, type | 0600,
                       archive_entry_rdev(entry)) < 0
                   ? -errno
                   : 0;
    default:
        return -ENOTSUP;
    }
}

static int create(struct new_file *file, int dir_fd)
{
    file->dir_fd = dir_fd;
    file->fd = -1;
    return choose_name(file);
}

int new_file_create(struct new_file *file, int dir_fd,
                    struct archive_entry *entry)
{
    int result = create(file, dir_fd);

    if (result == 0)
        result = make(file, entry);
    if (result)
        file->name[0] = '\0';
    return result;
}

int new_file_link(struct new_file *file, int dir_fd, int from_dir,
                  const char *from)
{
    int result = create(file, dir_fd);

    if (result == 0 && linkat(from_dir, from, dir_fd, file->name, 0) < 0)
        result = -errno;
    if (result)
        file->name[0] = '\0';
    return result;
}

static void get_times(struct archive_entry *entry, struct timespec times[2])
{
    times[0] = (struct timespec){ .tv_nsec = UTIME_OMIT };
    times[1] = (struct timespec){ .tv_nsec = UTIME_OMIT };
    if (archive_entry_mtime_is_set(entry)) {
        times[1].tv_sec = archive_entry_mtime(entry);
        times[1].tv_nsec = archive_entry_mtime_nsec(entry);
    }
}

/* Set-id bits without the owner would let the user run the file as root. */
static mode_t get_mode(struct archive_entry *entry,
                       const struct new_file_rules *rules)
{
    mode_t kept = archive_entry_filetype(entry) == AE_IFDIR ? 01777 : 0777;

    if (rules->keep_owner && rules->special)
        kept = 07777;
    return archive_entry_perm(entry) & kept;
}

int new_file_finish_fd(int fd, struct archive_entry *entry,
                       const struct new_file_rules *rules)
{
    struct timespec times[2];
    int result;

    get_times(entry, times);
    if (rules->keep_owner && fchown(fd, (uid_t)archive_entry_uid(entry),
                                    (gid_t)archive_entry_gid(entry)) < 0)
        return -errno;
    result = copy_attributes_write(fd, entry,
                                   rules->keep_owner && rules->special);
    if (result)
        return result;
    if (fchmod(fd, get_mode(entry, rules)) < 0 || futimens(fd, times) < 0)
        return -errno;
    return 0;
}

/* Set owner and mode through an fd: a guest that shares the directory could put
 * a symbolic link to another file at the temporary name. */
static int finish_special(const struct new_file *file,
                          struct archive_entry *entry,
                          const struct new_file_rules *rules)
{
    mode_t type = archive_entry_filetype(entry);
    int fd = openat(file->dir_fd, file->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    char path[64];
    struct stat st;
    int result = 0;

    if (fd < 0 || fstat(fd, &st) < 0)
        result = -errno;
    else if ((st.st_mode & S_IFMT) != type)
        result = -ESTALE;
    else if (rules->keep_owner &&
             fchownat(fd, "", (uid_t)archive_entry_uid(entry),
                      (gid_t)archive_entry_gid(entry), AT_EMPTY_PATH) < 0)
        result = -errno;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (result == 0 && type != AE_IFLNK &&
        chmod(path, get_mode(entry, rules)) < 0)
        result = -errno;
    if (fd >= 0)
        close(fd);
    return result;
}

int new_file_finish(const struct new_file *file, struct archive_entry *entry,
                    const struct new_file_rules *rules)
{
    struct timespec times[2];
    int result;

    if (file->fd >= 0)
        return new_file_finish_fd(file->fd, entry, rules);
    result = finish_special(file, entry, rules);
    if (result)
        return result;
    get_times(entry, times);
    if (utimensat(file->dir_fd, file->name, times, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    return 0;
}

static void close_file(struct new_file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    file->fd = -1;
}

/* Name an open file that has no name. */
static int link_open(const struct new_file *file, const char *name)
{
    char path[64];

    /* AT_EMPTY_PATH would need CAP_DAC_READ_SEARCH. */
    snprintf(path, sizeof(path), "/proc/self/fd/%d", file->fd);
    return linkat(AT_FDCWD, path, file->dir_fd, name, AT_SYMLINK_FOLLOW) < 0
               ? -errno
               : 0;
}

/* A device, a FIFO or a socket is replaced by its like alone. */
static bool may_replace(const struct new_file *file, const char *name)
{
    struct stat old, new;

    if (fstatat(file->dir_fd, name, &old, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT;
    if (S_ISREG(old.st_mode) || S_ISLNK(old.st_mode) || S_ISDIR(old.st_mode))
        return true;
    return fstatat(file->dir_fd, file->name, &new, AT_SYMLINK_NOFOLLOW) == 0 &&
           (old.st_mode & S_IFMT) == (new.st_mode &S_IFMT);
}

/* Rename the file from its temporary name. */
static int rename_file(struct new_file *file, const char *name)
{
    if (!may_replace(file, name))
        return -EEXIST;
    if (renameat(file->dir_fd, file->name, file->dir_fd, name) < 0)
        return -errno;
    /* If both names are links of one file, rename() does nothing. */
    if (file->fd < 0)
        unlinkat(file->dir_fd, file->name, 0);
    file->name[0] = '\0';
    return 0;
}

int new_file_publish(struct new_file *file, const char *name)
{
    int result = -EEXIST;

    if (!file->name[0])
        result = link_open(file, name);
    /* link() does not replace a file; rename() does. */
    if (result == -EEXIST && !file->name[0]) {
        result = choose_name(file);
        if (result == 0)
            result = link_open(file, file->name);
        if (result)
            file->name[0] = '\0';
    }
    if (file->name[0])
        result = rename_file(file, name);
    new_file_discard(file);
    return result;
}

void new_file_discard(struct new_file *file)
{
    close_file(file);
    if (file->name[0])
        unlinkat(file->dir_fd, file->name, 0);
    file->name[0] = '\0';
}
