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
#include "common/json_bytes.h"

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
    return fd < 0 ? -errno : (int)fd;
}

static int open_beneath(int root_fd, const char *path, int flags,
                        GError **error)
{
    int fd = fs_view_open(root_fd, path, flags);

    if (fd < 0)
        fail(error, path, -fd);
    return fd;
}

static char *path_of(int fd)
{
    char proc[sizeof("/proc/self/fd/") + 11];

    g_snprintf(proc, sizeof(proc), "/proc/self/fd/%d", fd);
    return g_file_read_link(proc, NULL);
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
    if (!root || !found || !g_str_has_prefix(found, root) ||
        found[strlen(root)] != '/')
        return NULL;
    return g_strdup(found + strlen(root) + 1);
}

static const char *type_name(mode_t mode)
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

static json_t *time_value(const struct timespec *time)
{
    g_autoptr(GDateTime) when = g_date_time_new_from_unix_utc(time->tv_sec);
    g_autofree char *seconds = when ? g_date_time_format(when,
                                                         "%Y-%m-%dT%H:%M:%S")
                                    : NULL;

    return seconds ? json_sprintf("%s.%06ldZ", seconds, time->tv_nsec / 1000)
                   : json_null();
}

static json_t *describe_entry(const char *name, const struct stat *st)
{
    json_t *entry = json_pack(
        "{s:s, s:I, s:i, s:o}", "type", type_name(st->st_mode), "size",
        (json_int_t)st->st_size, "mode", (int)(st->st_mode & 07777), "mtime",
        time_value(&st->st_mtim));

    json_bytes_set(entry, "name", name, strlen(name));
    return entry;
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
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
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

static json_t *path_object(const char *path)
{
    json_t *object = json_object();

    /* A path that came as JSON text is valid text. */
    json_object_set_new(object, "path", json_string(path));
    return object;
}

json_t *fs_view_list(int root_fd, const char *path, unsigned limit,
                     GError **error)
{
    fd_auto int fd = open_beneath(root_fd, path, O_RDONLY | O_DIRECTORY, error);
    g_autoptr(GPtrArray) names = NULL;
    json_t *entries, *result;

    if (fd < 0)
        return NULL;
    names = read_names(fcntl(fd, F_DUPFD_CLOEXEC, 0), path, error);
    if (!names)
        return NULL;
    entries = json_array();
    for (guint i = 0; i < names->len && i < limit; i++) {
        const char *name = g_ptr_array_index(names, i);
        struct stat st;

        /* The entry may have been removed in the meantime. */
        if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
            json_array_append_new(entries, describe_entry(name, &st));
    }
    result = path_object(path);
    json_object_set_new(result, "entries", entries);
    json_object_set_new(
        result, "truncated",
        json_boolean(names->len > limit || names->len >= MAX_NAMES));
    return result;
}

static json_t *read_range(int fd, const char *path, int64_t offset,
                          size_t length, GError **error)
{
    g_autofree char *data = g_malloc(length + 1);
    json_t *result = path_object(path);
    size_t done = 0;

    while (done < length) {
        ssize_t n = pread(fd, data + done, length - done,
                          (off_t)(offset + (int64_t)done));

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            fail(error, path, errno);
            json_decref(result);
            return NULL;
        }
        if (n == 0)
            break;
        done += (size_t)n;
    }
    if (json_bytes_has_many_escapes(data, done))
        json_bytes_force_base64(result);
    json_bytes_set(result, "data", data, done);
    json_object_set_new(result, "offset", json_integer(offset));
    json_object_set_new(result, "length", json_integer((json_int_t)done));
    return result;
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
                    type_name(ret_stat->st_mode));
        return -1;
    }
    g_snprintf(proc, sizeof(proc), "/proc/self/fd/%d", found);
    fd = open(proc, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        fail(error, path, errno);
    return fd;
}

json_t *fs_view_read(int root_fd, const char *path, int64_t offset,
                     int64_t length, GError **error)
{
    struct stat st;
    fd_auto int fd = open_file(root_fd, path, &st, error);
    json_t *result;

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
    result = read_range(fd, path, offset, (size_t)length, error);
    if (result)
        json_object_set_new(result, "size", json_integer(st.st_size));
    return result;
}
