/* SPDX-License-Identifier: Apache-2.0
 *
 * audit_file - see audit_file.h.
 */
#include "agent/sandbox/audit_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/base/state_place.h"
#include "common/errors.h"
#include "common/fd.h"

enum { SHORT_TEXT = 256 }; /* bytes that even a long record keeps */

struct audit_file {
    enum audit_part part;
    char *sandbox, *path;
    int dir_fd, fd;
    char prev[AUDIT_HASH_LENGTH + 1];
};

static char *file_name(const char *sandbox, unsigned age)
{
    return age == 0 ? g_strdup_printf("%s.jsonl", sandbox)
                    : g_strdup_printf("%s.jsonl.%u", sandbox, age);
}

char *audit_file_path(enum audit_part part, const char *sandbox)
{
    g_autofree char *name = sandbox ? file_name(sandbox, 0) : NULL;
    g_autofree char *dir = g_build_filename(
        g_get_user_state_dir(), "stepback", "audit",
        part == AUDIT_NETWORK ? "network" : NULL, NULL);

    return g_build_filename(dir, name, NULL);
}

void audit_file_hash(const char *line, gsize length,
                     char ret_hash[AUDIT_HASH_LENGTH + 1])
{
    g_autofree char *hash = g_compute_checksum_for_data(
        G_CHECKSUM_SHA256, (const guchar *)line, length);

    memcpy(ret_hash, hash, AUDIT_HASH_LENGTH + 1);
}

static gboolean fail(GError **error, const char *path, int number)
{
    g_set_error(error, STEPBACK_ERROR, ERROR_IO_ERROR, "%s: %s", path,
                g_strerror(number));
    return FALSE;
}

/* ---- opening ------------------------------------------------------------- */

static gboolean open_dir(struct audit_file *file, GError **error)
{
    g_autofree char *path = audit_file_path(file->part, NULL);

    if (!state_place_check(path, error))
        return FALSE;
    if (g_mkdir_with_parents(path, 0700) < 0)
        return fail(error, path, errno);
    file->dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (file->dir_fd < 0)
        return fail(error, path, errno);
    return state_place_check_own(file->dir_fd, path, error);
}

static gboolean open_newest(struct audit_file *file, GError **error)
{
    g_autofree char *name = file_name(file->sandbox, 0);

    file->fd = openat(file->dir_fd, name,
                      O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC |
                          O_NONBLOCK,
                      0600);
    return file->fd >= 0 ? TRUE : fail(error, file->path, errno);
}

/* Set file->prev to the hash of the last line of fd; 0: there is none. Set
 * ret_torn if a crash has left it without a newline. */
static int read_end(struct audit_file *file, int fd, bool *ret_torn)
{
    g_autofree char *data = g_malloc(2 * AUDIT_LINE_MAX);
    off_t size = lseek(fd, 0, SEEK_END);
    ssize_t n = pread(fd, data, 2 * AUDIT_LINE_MAX,
                      MAX(size - 2 * AUDIT_LINE_MAX, 0));
    const char *newline, *line;

    if (size < 0 || n < 0)
        return -errno;
    *ret_torn = n > 0 && data[n - 1] != '\n';
    if (n == 0)
        return 0;
    n -= !*ret_torn;
    newline = memrchr(data, '\n', (size_t)n);
    line = newline ? newline + 1 : data;
    audit_file_hash(line, (gsize)(data + n - line), file->prev);
    return 1;
}

/* Continue the chain; a new file continues that of the one before it. */
static gboolean find_end(struct audit_file *file, GError **error)
{
    g_autofree char *name = file_name(file->sandbox, 1);
    bool torn = false;
    int found = read_end(file, file->fd, &torn);

    if (found > 0 && torn)
        found = fd_write_all(file->fd, "\n", 1);
    if (found == 0 && !torn) {
        fd_auto int old = openat(
            file->dir_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);

        found = old >= 0 ? read_end(file, old, &torn) : 0;
    }
    return found >= 0 ? TRUE : fail(error, file->path, -found);
}

static gboolean lock(struct audit_file *file, GError **error)
{
    if (flock(file->fd, LOCK_EX | LOCK_NB) == 0)
        return TRUE;
    if (errno != EWOULDBLOCK)
        return fail(error, file->path, errno);
    g_set_error(error, STEPBACK_ERROR, ERROR_BUSY,
                "%s: another process appends to it", file->path);
    return FALSE;
}

struct audit_file *audit_file_open(enum audit_part part, const char *sandbox,
                                   GError **error)
{
    struct audit_file *file = g_new0(struct audit_file, 1);

    file->part = part;
    file->sandbox = g_strdup(sandbox);
    file->path = audit_file_path(part, sandbox);
    file->dir_fd = file->fd = -1;
    memset(file->prev, '0', AUDIT_HASH_LENGTH);
    if (open_dir(file, error) && open_newest(file, error) &&
        lock(file, error) && find_end(file, error))
        return file;
    audit_file_close(file);
    return NULL;
}

void audit_file_close(struct audit_file *file)
{
    if (!file)
        return;
    fd_close(&file->dir_fd);
    fd_close(&file->fd);
    g_free(file->sandbox);
    g_free(file->path);
    g_free(file);
}

/* ---- appending ----------------------------------------------------------- */

/* Return whether the newest file still has its name: an earlier rotation may
 * have got no further than renaming it. */
static bool is_in_place(const struct audit_file *file)
{
    g_autofree char *name = file_name(file->sandbox, 0);
    struct stat own, named;

    return fstat(file->fd, &own) == 0 &&
           fstatat(file->dir_fd, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           own.st_dev == named.st_dev && own.st_ino == named.st_ino;
}

static gboolean rename_all(const struct audit_file *file, GError **error)
{
    for (unsigned age = AUDIT_FILES; age > 0; age--) {
        g_autofree char *from = file_name(file->sandbox, age - 1);
        g_autofree char *to = file_name(file->sandbox, age);

        if (renameat(file->dir_fd, from, file->dir_fd, to) < 0 &&
            errno != ENOENT)
            return fail(error, file->path, errno);
    }
    return TRUE;
}

/* Begin a new file. On failure file->fd is the old one. */
static gboolean begin(struct audit_file *file, GError **error)
{
    fd_auto int old = file->fd;

    if (open_newest(file, error) && lock(file, error))
        return TRUE;
    fd_close(&file->fd);
    file->fd = fd_steal(&old);
    return FALSE;
}

/* Rename the files, and begin a new one. */
static gboolean rotate(struct audit_file *file, GError **error)
{
    if (fdatasync(file->fd) < 0)
        return fail(error, file->path, errno);
    if (is_in_place(file) && !rename_all(file, error))
        return FALSE;
    return begin(file, error);
}

/* Write all or nothing. */
static gboolean write_line(struct audit_file *file, const char *line,
                           gsize length, GError **error)
{
    off_t size = lseek(file->fd, 0, SEEK_END);
    ssize_t n = write(file->fd, line, length);
    int number = n < 0 ? errno : ENOSPC;

    if (n == (ssize_t)length)
        return TRUE;
    if (n > 0 && (size < 0 || ftruncate(file->fd, size) < 0))
        number = errno;
    return fail(error, file->path, number);
}

static char *make_line(const struct audit_file *file, const char *type,
                       json_t *members)
{
    g_autoptr(GDateTime) now = g_date_time_new_now_utc();
    g_autofree char *time = g_date_time_format(now, "%Y-%m-%dT%H:%M:%S.%fZ");
    json_t *record = json_pack("{s:s, s:s, s:s}", "time", time, "type", type,
                               "sandbox", file->sandbox);
    char *text, *line;

    json_object_update_missing(record, members);
    json_object_set_new(record, "prev", json_string(file->prev));
    text = json_dumps(record, JSON_COMPACT);
    line = g_strdup_printf("%s\n", text);
    free(text);
    json_decref(record);
    return line;
}

/* Return the members of a record that is too long but for texts and lists: a
 * new object. */
static json_t *short_members(json_t *members, gsize length)
{
    json_t *rest = json_pack("{s:I}", "omitted_bytes", (json_int_t)length);
    json_t *value;
    const char *key;

    json_object_foreach(members, key, value)
    {
        bool is_short = json_is_string(value) &&
                        json_string_length(value) <= SHORT_TEXT;

        if (is_short || json_is_number(value) || json_is_boolean(value))
            json_object_set(rest, key, value);
    }
    return rest;
}

gboolean audit_file_append(struct audit_file *file, const char *type,
                           json_t *members, GError **error)
{
    g_autofree char *line = make_line(file, type, members);
    gsize length = strlen(line);
    struct stat st;

    if (length > AUDIT_LINE_MAX) {
        json_t *rest = short_members(members, length);

        g_free(line);
        line = make_line(file, type, rest);
        length = strlen(line);
        json_decref(rest);
    }
    json_decref(members);
    if (!is_in_place(file) && !begin(file, error))
        return FALSE;
    if (fstat(file->fd, &st) < 0)
        return fail(error, file->path, errno);
    if (st.st_size + (off_t)length > AUDIT_FILE_MAX && !rotate(file, error))
        return FALSE;
    if (!write_line(file, line, length, error))
        return FALSE;
    audit_file_hash(line, length - 1, file->prev);
    return TRUE;
}
