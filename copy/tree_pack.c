/* SPDX-License-Identifier: Apache-2.0
 *
 * tree_pack - see tree_pack.h.
 */
#include "copy/tree_pack.h"

#include <archive.h>
#include <archive_entry.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "copy/copy_attributes.h"

enum {
    CHUNK = 256 * 1024,
    MAX_PATH = 32 * 1024, /* of a name in the stream */
    BLOCK = 64 * 1024,    /* written at once */
};

struct packer {
    struct archive *archive;
    struct archive_entry_linkresolver *links;
    struct copy_result *result;
    struct copy_error *error;
    const struct tree_pack *source;
    int fd;
    char *chunk;
    char path[MAX_PATH]; /* of the current entry, in the stream */
};

/* An entry of the tree while it is packed. */
struct item {
    int dir_fd;
    const char *name;
    struct stat st;
    int fd; /* of a regular file or a directory; -1: another type */
};

static bool fail_entry(struct packer *packer, const char *reason)
{
    return copy_fail_at(packer->error, packer->source->path,
                        packer->path + strlen(packer->source->top), reason);
}

static bool fail_errno(struct packer *packer)
{
    return fail_entry(packer, strerror(errno));
}

static bool fail_archive(struct packer *packer)
{
    const char *text = archive_error_string(packer->archive);

    return copy_fail_stream(packer->error,
                            text ? text : "cannot write the stream");
}

/* ---- content ------------------------------------------------------------- */

static bool put(struct packer *packer, const void *data, size_t len)
{
    return archive_write_data(packer->archive, data, len) == (la_ssize_t)len ||
           fail_archive(packer);
}

/* Write zeros. In a hole the archive writer drops them. */
static bool put_zeros(struct packer *packer, off_t len)
{
    static char zeros[1024 * 1024]; /* not const: no bytes of the program */

    while (len > 0) {
        size_t part = len < (off_t)sizeof(zeros) ? (size_t)len : sizeof(zeros);

        if (!put(packer, zeros, part))
            return false;
        len -= (off_t)part;
    }
    return true;
}

/* Write the bytes from..to. If the file has become shorter, fail: its size is
 * already in the stream, and zeros in place of the rest would damage the copy
 * without a notice. */
static bool put_range(struct packer *packer, int fd, off_t from, off_t to)
{
    while (from < to) {
        size_t want = to - from < CHUNK ? (size_t)(to - from) : CHUNK;
        ssize_t got = pread(fd, packer->chunk, want, from);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return fail_errno(packer);
        if (got == 0)
            return fail_entry(packer,
                              "the file was truncated while it was copied");
        if (!put(packer, packer->chunk, (size_t)got))
            return false;
        from += got;
    }
    return true;
}

/* Record the data ranges of a file that has holes. */
static void find_holes(struct archive_entry *entry, const struct item *item)
{
    off_t size = item->st.st_size, data, hole = 0;

    /* A file with all its blocks has no hole worth a map. */
    if (item->st.st_blocks * 512 >= size)
        return;
    while (hole < size) {
        data = lseek(item->fd, hole, SEEK_DATA);
        if (data < 0 && errno != ENXIO)
            return;
        if (data < 0 || data >= size)
            break;
        hole = lseek(item->fd, data, SEEK_HOLE);
        if (hole < 0 || hole > size)
            hole = size;
        archive_entry_sparse_add_entry(entry, data, hole - data);
    }
    if (archive_entry_sparse_count(entry) == 0)
        archive_entry_sparse_add_entry(entry, size, 0);
}

/* Write the content as the map says, so that it agrees with the header even if
 * the file's holes change. */
static bool put_content(struct packer *packer, struct archive_entry *entry,
                        const struct item *item)
{
    la_int64_t offset, len;
    off_t done = 0;

    if (archive_entry_sparse_reset(entry) == 0)
        return put_range(packer, item->fd, 0, item->st.st_size);
    while (archive_entry_sparse_next(entry, &offset, &len) == ARCHIVE_OK) {
        if (!put_zeros(packer, offset - done) ||
            !put_range(packer, item->fd, offset, offset + len))
            return false;
        done = offset + len;
    }
    return put_zeros(packer, item->st.st_size - done);
}

/* ---- entries ------------------------------------------------------------- */

static bool read_link(struct packer *packer, struct archive_entry *entry,
                      const struct item *item)
{
    char target[4096 + 1];
    ssize_t len = readlinkat(item->dir_fd, item->name, target,
                             sizeof(target) - 1);

    if (len < 0)
        return fail_errno(packer);
    target[len] = '\0';
    archive_entry_set_symlink(entry, target);
    return true;
}

static bool put_header(struct packer *packer, struct archive_entry **entry,
                       const struct item *item)
{
    struct archive_entry *unused = NULL;

    archive_entry_copy_stat(*entry, &item->st);
    archive_entry_unset_atime(*entry);
    archive_entry_unset_ctime(*entry);
    archive_entry_set_pathname(*entry, packer->path);
    if (S_ISLNK(item->st.st_mode) && !read_link(packer, *entry, item))
        return false;
    if (S_ISREG(item->st.st_mode))
        find_holes(*entry, item);
    if (item->fd >= 0)
        copy_attributes_read(item->fd, *entry);
    if (!S_ISDIR(item->st.st_mode))
        archive_entry_linkify(packer->links, entry, &unused);
    if (archive_write_header(packer->archive, *entry) < ARCHIVE_WARN)
        return fail_archive(packer);
    packer->result->entries++;
    return true;
}

static bool put_item(struct packer *packer, const struct item *item)
{
    struct archive_entry *entry = archive_entry_new();
    bool good = put_header(packer, &entry, item);

    if (good && S_ISREG(item->st.st_mode) && !archive_entry_hardlink(entry))
        good = put_content(packer, entry, item);
    archive_entry_free(entry);
    return good;
}

static bool pack(struct packer *packer, int dir_fd, const char *name,
                 bool follow);

/* Append "/name" to the path. Return the old length, or 0 if it is too long. */
static size_t push(struct packer *packer, const char *name)
{
    size_t old = strlen(packer->path), len = strlen(name);

    if (old + len + 2 > sizeof(packer->path))
        return 0;
    packer->path[old] = '/';
    memcpy(packer->path + old + 1, name, len + 1);
    return old;
}

/* Pack what a directory holds; takes its fd. */
static bool pack_below(struct packer *packer, int fd)
{
    DIR *stream = fdopendir(fd);
    struct dirent *child;
    bool good = true;

    if (!stream) {
        fail_errno(packer);
        close(fd);
        return false;
    }
    while (good && (errno = 0, child = readdir(stream))) {
        size_t old;

        if (strcmp(child->d_name, ".") == 0 || strcmp(child->d_name, "..") == 0)
            continue;
        old = push(packer, child->d_name);
        if (old == 0) {
            closedir(stream);
            return fail_entry(packer, strerror(ENAMETOOLONG));
        }
        good = pack(packer, dirfd(stream), child->d_name, false);
        if (good)
            packer->path[old] = '\0';
    }
    if (good && errno)
        good = fail_errno(packer);
    closedir(stream);
    return good;
}

/* Open a file or directory, and get its stat. Return 1, 0 if there is nothing
 * to pack (it has vanished, or is a socket), or -1. */
static int open_item(struct packer *packer, struct item *item, bool follow)
{
    int no_follow = follow ? 0 : O_NOFOLLOW;
    int flags = follow ? 0 : AT_SYMLINK_NOFOLLOW;

    item->fd = -1;
    if (fstatat(item->dir_fd, item->name, &item->st, flags) < 0)
        goto failed;
    if (S_ISSOCK(item->st.st_mode)) {
        packer->result->skipped++;
        return 0;
    }
    if (!S_ISREG(item->st.st_mode) && !S_ISDIR(item->st.st_mode))
        return 1;
    /* Non-blocking: another process may put a FIFO in its place. */
    item->fd = openat(item->dir_fd, item->name,
                      O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | no_follow);
    if (item->fd < 0 || fstat(item->fd, &item->st) < 0)
        goto failed;
    if (S_ISREG(item->st.st_mode) || S_ISDIR(item->st.st_mode))
        return 1;
    close(item->fd);
    return 0;
failed:
    if (errno == ENOENT && item->dir_fd != AT_FDCWD)
        return 0;
    fail_errno(packer);
    return -1;
}

static bool pack(struct packer *packer, int dir_fd, const char *name,
                 bool follow)
{
    struct item item = { .dir_fd = dir_fd, .name = name };
    int found = open_item(packer, &item, follow);
    bool good;

    if (found <= 0)
        return found == 0;
    good = put_item(packer, &item);
    if (good && S_ISDIR(item.st.st_mode))
        return pack_below(packer, item.fd);
    if (item.fd >= 0)
        close(item.fd);
    return good;
}

/* ---- the stream ---------------------------------------------------------- */

static la_ssize_t on_write(struct archive *archive, void *data,
                           const void *buffer, size_t len)
{
    struct packer *packer = data;
    ssize_t put_len;

    do {
        put_len = write(packer->fd, buffer, len);
    } while (put_len < 0 && errno == EINTR);
    if (put_len < 0)
        archive_set_error(archive, errno, "cannot write the stream: %s",
                          strerror(errno));
    return put_len;
}

static bool open_stream(struct packer *packer)
{
    packer->archive = archive_write_new();
    packer->links = archive_entry_linkresolver_new();
    packer->chunk = malloc(CHUNK);
    if (!packer->archive || !packer->links || !packer->chunk)
        return copy_fail(packer->error, "out of memory");
    archive_entry_linkresolver_set_strategy(packer->links,
                                            ARCHIVE_FORMAT_TAR_PAX_INTERCHANGE);
    if (archive_write_set_format_pax(packer->archive) ||
        archive_write_set_options(packer->archive, "xattrheader=SCHILY") ||
        archive_write_set_bytes_per_block(packer->archive, BLOCK) ||
        archive_write_set_bytes_in_last_block(packer->archive, 1) ||
        archive_write_open(packer->archive, packer, NULL, on_write, NULL))
        return fail_archive(packer);
    return true;
}

bool tree_pack_write(const struct tree_pack *source, int fd,
                     struct copy_result *ret_result, struct copy_error *error)
{
    struct packer *packer = calloc(1, sizeof(*packer));
    bool good;

    *ret_result = (struct copy_result){ 0 };
    if (!packer)
        return copy_fail(error, "out of memory");
    packer->source = source;
    packer->fd = fd;
    packer->result = ret_result;
    packer->error = error;
    good = open_stream(packer);
    strncpy(packer->path, source->top, sizeof(packer->path) - 1);
    if (good)
        good = pack(packer, AT_FDCWD, source->path, source->follow);
    /* An incomplete stream must not get its end mark. */
    if (good && archive_write_close(packer->archive) != ARCHIVE_OK)
        good = fail_archive(packer);
    else if (!good && packer->archive)
        archive_write_fail(packer->archive);
    archive_entry_linkresolver_free(packer->links);
    archive_write_free(packer->archive);
    free(packer->chunk);
    free(packer);
    return good;
}

/* ---- the source ---------------------------------------------------------- */

/* Remove trailing "/" and "/." from a path. Set what was there. */
static void strip(char *path, bool *ret_content, bool *ret_slash)
{
    size_t len = strlen(path);

    *ret_content = *ret_slash = false;
    while (len > 1) {
        if (path[len - 1] == '/')
            *ret_slash = true;
        else if (len > 2 && strcmp(path + len - 2, "/.") == 0)
            *ret_content = *ret_slash = true;
        else
            break;
        path[--len] = '\0';
    }
}

char *tree_pack_top(const char *path)
{
    char *copy = strdup(path), *top;
    bool content, slash;
    const char *name;

    if (!copy)
        return NULL;
    strip(copy, &content, &slash);
    name = strrchr(copy, '/');
    name = name ? name + 1 : copy;
    content = content || !*name || strcmp(name, ".") == 0 ||
              strcmp(name, "..") == 0;
    top = strdup(content ? "." : name);
    free(copy);
    return top;
}

bool tree_pack_open(struct tree_pack *pack, const char *path, bool follow,
                    struct copy_error *error)
{
    bool content, slash;
    struct stat st;

    *pack = (struct tree_pack){ .path = strdup(path),
                                .top = tree_pack_top(path) };
    if (!pack->path || !pack->top)
        return copy_fail(error, "out of memory");
    strip(pack->path, &content, &slash);
    pack->follow = follow || slash;
    if (fstatat(AT_FDCWD, pack->path, &st,
                pack->follow ? 0 : AT_SYMLINK_NOFOLLOW) < 0)
        return copy_fail(error, "%s: %s", path, strerror(errno));
    pack->is_directory = S_ISDIR(st.st_mode);
    if ((slash || strcmp(pack->top, ".") == 0) && !pack->is_directory)
        return copy_fail(error, "%s: %s", path, strerror(ENOTDIR));
    if (S_ISSOCK(st.st_mode))
        return copy_fail(error, "%s: a socket cannot be copied", path);
    return true;
}

void tree_pack_free(struct tree_pack *pack)
{
    free(pack->path);
    free(pack->top);
    *pack = (struct tree_pack){ 0 };
}
