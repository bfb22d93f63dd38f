/* SPDX-License-Identifier: Apache-2.0
 *
 * fs_view - see fs_view.h.
 */
#include "agent/session/fs_view.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/errors.h"
#include "common/fd.h"
#include "common/log_name.h"

/* Limit on the names read from one folder for sorting; bounds memory. */
enum { MAX_NAMES = 1 << 20 };

static void fail(GError **error, const char *path, int number)
{
    enum error_code code = ERROR_IO_ERROR;
    const char *text = g_strerror(number);

    if (number == EXDEV) { /* RESOLVE_BENEATH stopped it */
        code = ERROR_PATH_OUTSIDE_ROOT;
        text = *path == '/' ? "the path must be relative to the working folder"
                            : "the path escapes from the working folder";
    } else if (number == ENOENT || number == ENOTDIR) {
        code = ERROR_NOT_FOUND;
    }
    g_set_error(error, STEPBACK_ERROR, code, "%s: %s", path, text);
}

static char *path_of(int fd)
{
    char proc[sizeof("/proc/self/fd/") + 11];

    g_snprintf(proc, sizeof(proc), "/proc/self/fd/%d", fd);
    return g_file_read_link(proc, NULL);
}

/* Return the path below the root, which is part of the string path; NULL: it is
 * the root itself, or outside by now. */
static const char *below(const char *root, const char *path)
{
    return root && path && g_str_has_prefix(path, root) &&
                   path[strlen(root)] == '/'
               ? path + strlen(root) + 1
               : NULL;
}

/* Return whether the fd is in the undo logs of a folder below the root, which
 * no client reaches, also not by a symbolic link. */
static bool is_log(int root_fd, int fd)
{
    g_autofree char *root = path_of(root_fd);
    g_autofree char *path = path_of(fd);
    const char *found = below(root, path);

    return found && log_name_is_in(found);
}

int fs_view_open(int root_fd, const char *path, int flags)
{
    struct open_how how = {
        .flags = (unsigned)(flags | O_CLOEXEC),
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
    };
    const char *name = *path ? path : ".";
    long fd;

    /* EAGAIN: a concurrent rename made the kernel unable to verify "..". */
    for (int i = 0; i < 100; i++) {
        fd = syscall(SYS_openat2, root_fd, name, &how, sizeof(how));
        if (fd >= 0 || errno != EAGAIN)
            break;
    }
    if (fd < 0)
        return -errno;
    if (!is_log(root_fd, (int)fd))
        return (int)fd;
    close((int)fd);
    return -EACCES;
}

static int open_beneath(int root_fd, const char *path, int flags,
                        GError **error)
{
    int fd = fs_view_open(root_fd, path, flags);

    if (fd < 0)
        fail(error, path, -fd);
    return fd;
}

char *fs_view_target(int root_fd, const char *path)
{
    fd_auto int fd = fs_view_open(root_fd, path, O_PATH);
    g_autofree char *root = path_of(root_fd);
    g_autofree char *found = fd < 0 ? NULL : path_of(fd);
    const char *slash = strrchr(path, '/');

    if (fd == -ENOENT && slash && slash != path) {
        g_autofree char *parent = g_strndup(path, (gsize)(slash - path));
        g_autofree char *target = fs_view_target(root_fd, parent);

        return target ? g_build_filename(target, slash + 1, NULL) : NULL;
    }
    return g_strdup(below(root, found));
}

const char *fs_type_name(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFREG:
        return "file";
    case S_IFDIR:
        return "directory";
    case S_IFLNK:
        return "symlink";
    case S_IFIFO:
        return "fifo";
    case S_IFSOCK:
        return "socket";
    default:
        return "device";
    }
}

static int compare_names(gconstpointer a, gconstpointer b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Return the sorted names in a folder. Takes fd. */
static GPtrArray *read_names(int fd, const char *path, GError **error)
{
    GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
    DIR *stream = fdopendir(fd);
    struct dirent *entry = NULL;
    int failed;

    if (!stream) {
        fail(error, path, errno);
        fd_close(&fd);
        g_ptr_array_unref(names);
        return NULL;
    }
    /* readdir() returns NULL at the end and on error; only errno tells
     * which. */
    while (names->len < MAX_NAMES && (errno = 0, entry = readdir(stream))) {
        if (strcmp(entry->d_name, ".") != 0 &&
            strcmp(entry->d_name, "..") != 0 && !log_name_is(entry->d_name))
            g_ptr_array_add(names, g_strdup(entry->d_name));
    }
    failed = entry || names->len >= MAX_NAMES ? 0 : errno;
    closedir(stream);
    if (failed) {
        fail(error, path, failed);
        g_ptr_array_unref(names);
        return NULL;
    }
    g_ptr_array_sort(names, compare_names);
    return names;
}

static void entry_clear(gpointer data)
{
    struct fs_entry *entry = data;

    g_free(entry->name);
}

struct fs_listing *fs_view_list(int root_fd, const char *path, unsigned limit,
                                GError **error)
{
    fd_auto int fd = open_beneath(root_fd, path, O_RDONLY | O_DIRECTORY, error);
    g_autoptr(GPtrArray) names = NULL;
    struct fs_listing *listing;

    if (fd < 0)
        return NULL;
    names = read_names(fcntl(fd, F_DUPFD_CLOEXEC, 0), path, error);
    if (!names)
        return NULL;
    listing = g_new0(struct fs_listing, 1);
    listing->truncated = names->len > limit || names->len >= MAX_NAMES;
    listing->entries = g_array_new(FALSE, FALSE, sizeof(struct fs_entry));
    g_array_set_clear_func(listing->entries, entry_clear);
    for (guint i = 0; i < names->len && i < limit; i++) {
        const char *name = g_ptr_array_index(names, i);
        struct fs_entry entry;

        /* The entry may have been removed in the meantime. */
        if (fstatat(fd, name, &entry.st, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        entry.name = g_strdup(name);
        g_array_append_val(listing->entries, entry);
    }
    return listing;
}

void fs_listing_free(struct fs_listing *listing)
{
    if (!listing)
        return;
    g_array_unref(listing->entries);
    g_free(listing);
}

static gboolean read_range(int fd, const char *path, struct fs_content *content,
                           size_t length, GError **error)
{
    content->data = g_malloc(length + 1);
    while (content->length < length) {
        ssize_t n = pread(fd, content->data + content->length,
                          length - content->length,
                          (off_t)(content->offset + (int64_t)content->length));

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            fail(error, path, errno);
            return FALSE;
        }
        if (n == 0)
            break;
        content->length += (size_t)n;
    }
    content->data[content->length] = '\0';
    return TRUE;
}

/* Open a regular file. Check the type first: opening a device or a FIFO, which
 * the guest can create, may block or have side effects. */
static int open_file(int root_fd, const char *path, struct stat *ret_stat,
                     GError **error)
{
    fd_auto int found = open_beneath(root_fd, path, O_PATH, error);
    char proc[sizeof("/proc/self/fd/") + 11];
    int fd;

    if (found < 0)
        return -1;
    if (fstat(found, ret_stat) < 0) {
        fail(error, path, errno);
        return -1;
    }
    if (!S_ISREG(ret_stat->st_mode)) {
        g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                    "the field 'path' must be a file: %s is a %s", path,
                    fs_type_name(ret_stat->st_mode));
        return -1;
    }
    g_snprintf(proc, sizeof(proc), "/proc/self/fd/%d", found);
    fd = open(proc, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        fail(error, path, errno);
    return fd;
}

struct fs_content *fs_view_read(int root_fd, const char *path, int64_t offset,
                                int64_t length, GError **error)
{
    struct stat st;
    fd_auto int fd = open_file(root_fd, path, &st, error);
    struct fs_content *content;

    if (fd < 0)
        return NULL;
    if (length < 0)
        length = MAX(st.st_size - offset, 0);
    if (length > FS_VIEW_READ_MAX) {
        g_set_error(error, STEPBACK_ERROR, ERROR_TOO_LARGE,
                    "%s: one answer holds at most %d bytes; read it in parts "
                    "with 'offset' and 'length'",
                    path, FS_VIEW_READ_MAX);
        return NULL;
    }
    length = MIN(length, MAX(st.st_size - offset, 0));
    content = g_new0(struct fs_content, 1);
    content->offset = offset;
    content->size = st.st_size;
    if (!read_range(fd, path, content, (size_t)length, error))
        g_clear_pointer(&content, fs_content_free);
    return content;
}

void fs_content_free(struct fs_content *content)
{
    if (!content)
        return;
    g_free(content->data);
    g_free(content);
}
