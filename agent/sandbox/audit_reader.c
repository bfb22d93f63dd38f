/* SPDX-License-Identifier: Apache-2.0
 *
 * audit_reader - see audit_reader.h.
 */
#include "agent/sandbox/audit_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/errors.h"
#include "common/fd.h"

enum { CHUNK = 64 << 10 };

struct audit_reader {
    char *path;    /* of the newest file */
    GQueue files;  /* of int: those that follow, the newest is the last */
    GQueue names;  /* of char *: theirs */
    int fd;        /* the one that is read */
    char *name;    /* its */
    unsigned line; /* in it, that was read last */
    GString *data; /* read, and not yet returned */
    char *text;    /* that was returned last */
    json_t *record;
    char prev[AUDIT_HASH_LENGTH + 1];
    bool is_first; /* no line was read */
    bool is_whole; /* the oldest file is the first that there was */
};

static int open_file(const char *path)
{
    return open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
}

static bool is_same(int a, int b)
{
    struct stat first, second;

    return fstat(a, &first) == 0 && fstat(b, &second) == 0 &&
           first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

/* Open all files at once, the newest first: a rotation renames them, and one
 * that was opened may have its next name now. */
static void open_all(struct audit_reader *reader)
{
    for (int age = 0; age <= AUDIT_FILES; age++) {
        g_autofree char *old = g_strdup_printf("%s.%d", reader->path, age);
        const char *path = age == 0 ? reader->path : old;
        int fd = open_file(path);

        if (fd >= 0 && !g_queue_is_empty(&reader->files) &&
            is_same(fd, GPOINTER_TO_INT(g_queue_peek_head(&reader->files))))
            fd_close(&fd);
        if (fd < 0)
            continue;
        g_queue_push_head(&reader->files, GINT_TO_POINTER(fd));
        g_queue_push_head(&reader->names, g_path_get_basename(path));
        if (age == AUDIT_FILES)
            reader->is_whole = false;
    }
}

static bool open_next(struct audit_reader *reader)
{
    if (g_queue_is_empty(&reader->files))
        return false;
    fd_close(&reader->fd);
    g_free(reader->name);
    reader->fd = GPOINTER_TO_INT(g_queue_pop_head(&reader->files));
    reader->name = g_queue_pop_head(&reader->names);
    reader->line = 0;
    return true;
}

/* After the end of the last file that was opened: a new one may have begun. */
static bool open_new(struct audit_reader *reader)
{
    struct stat own, named;
    int fd;

    if (fstat(reader->fd, &own) < 0 || lstat(reader->path, &named) < 0 ||
        (own.st_dev == named.st_dev && own.st_ino == named.st_ino))
        return false;
    fd = open_file(reader->path);
    if (fd < 0)
        return false;
    g_queue_push_tail(&reader->files, GINT_TO_POINTER(fd));
    g_queue_push_tail(&reader->names, g_path_get_basename(reader->path));
    return true;
}

struct audit_reader *audit_reader_new(enum audit_part part, const char *sandbox,
                                      GError **error)
{
    struct audit_reader *reader = g_new0(struct audit_reader, 1);

    reader->path = audit_file_path(part, sandbox);
    reader->fd = -1;
    reader->data = g_string_new(NULL);
    reader->is_first = reader->is_whole = true;
    memset(reader->prev, '0', AUDIT_HASH_LENGTH);
    g_queue_init(&reader->files);
    g_queue_init(&reader->names);
    open_all(reader);
    if (open_next(reader))
        return reader;
    g_set_error(error, STEPBACK_ERROR, ERROR_NOT_FOUND,
                "%s: there is no record of a sandbox of this name",
                reader->path);
    audit_reader_free(reader);
    return NULL;
}

void audit_reader_free(struct audit_reader *reader)
{
    while (open_next(reader))
        continue;
    fd_close(&reader->fd);
    g_string_free(reader->data, TRUE);
    json_decref(reader->record);
    g_free(reader->name);
    g_free(reader->text);
    g_free(reader->path);
    g_free(reader);
}

/* Read until there is a whole line; a file that is not the last may end without
 * a newline. */
static char *find_line(struct audit_reader *reader)
{
    char chunk[CHUNK], *newline;
    ssize_t n;

    while (!(newline = memchr(reader->data->str, '\n', reader->data->len))) {
        n = read(reader->fd, chunk, sizeof(chunk));
        if (n > 0)
            g_string_append_len(reader->data, chunk, n);
        else if (g_queue_is_empty(&reader->files) && !open_new(reader))
            return NULL;
        else if (reader->data->len > 0)
            g_string_append_c(reader->data, '\n');
        else
            open_next(reader);
    }
    return newline;
}

bool audit_reader_next(struct audit_reader *reader, struct audit_line *ret_line)
{
    char *newline = find_line(reader);
    const char *prev;
    gsize length;

    if (!newline)
        return false;
    length = (gsize)(newline - reader->data->str);
    json_decref(reader->record);
    reader->record = json_loadb(reader->data->str, length, 0, NULL);
    if (!json_is_object(reader->record))
        g_clear_pointer(&reader->record, json_decref);
    prev = json_string_value(json_object_get(reader->record, "prev"));
    *ret_line = (struct audit_line){
        .record = reader->record,
        .file = reader->name,
        .number = ++reader->line,
        .fits = g_strcmp0(prev, reader->prev) == 0 ||
                (prev && reader->is_first && !reader->is_whole),
    };
    reader->is_first = false;
    audit_file_hash(reader->data->str, length, reader->prev);
    for (gsize i = 0; i < length; i++) {
        if (reader->data->str[i] == '\0')
            reader->data->str[i] = ' ';
    }
    g_free(reader->text);
    ret_line->text = reader->text = g_strndup(reader->data->str, length);
    g_string_erase(reader->data, 0, (gssize)length + 1);
    return true;
}

gsize audit_reader_rest(const struct audit_reader *reader)
{
    return reader->data->len;
}
