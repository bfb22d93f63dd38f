/* SPDX-License-Identifier: Apache-2.0
 *
 * oracle - see oracle.h.
 *
 * It deliberately shares no code with the engine that it judges.
 */
#include "tests/lib/oracle.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "tests/lib/oracle_map.h"

/* Longer paths are cut in the lines, with a hash of the directory. */
enum { MAX_SHOWN = 1500 };

/* A directory that is being read. */
struct level {
    GPtrArray *names; /* sorted */
    guint next;
    char *shown; /* its path as shown in the lines */
    struct stat st;
};

struct snapshot {
    GPtrArray *lines;
    GHashTable *first_names; /* "dev:ino" -> path; filled in sorted order */
    GString *trouble;
    GPtrArray *levels; /* of struct level, from the top to the present one */
    int fd;            /* the last level's directory */
};

/* An entry of the present directory. */
struct entry {
    const char *name;
    const char *shown;
    char full[64 +
              NAME_MAX]; /* through /proc, for calls without an *at() form */
    struct stat st;
};

static void trouble(struct snapshot *s, const char *path, const char *what)
{
    g_string_append_printf(s->trouble, "%s: %s: %s\n", path, what,
                           g_strerror(errno));
}

/* Escape all but printable ASCII, so that a line stays one line. */
static char *escape(const void *data, size_t len)
{
    g_autofree char *copy = g_strndup(data, len);

    return g_strescape(copy, NULL);
}

static int compare_names(gconstpointer a, gconstpointer b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void add_xattrs(struct snapshot *s, GString *line, const struct entry *e)
{
    const char *full = e->full;
    char names[65536], value[65536];
    ssize_t len = llistxattr(full, names, sizeof(names));
    g_autoptr(GPtrArray) found = g_ptr_array_new_with_free_func(g_free);

    if (len < 0) {
        if (errno != ENOTSUP)
            trouble(s, e->shown, "llistxattr");
        return;
    }
    for (const char *name = names; name < names + len;
         name += strlen(name) + 1) {
        ssize_t size = lgetxattr(full, name, value, sizeof(value));
        g_autofree char *hash = NULL, *shown = escape(name, strlen(name));

        if (size < 0) {
            trouble(s, e->shown, "lgetxattr");
            continue;
        }
        hash = g_compute_checksum_for_data(G_CHECKSUM_SHA1, (guchar *)value,
                                           (gsize)size);
        g_ptr_array_add(found, g_strdup_printf(" xattr:%s=%s", shown, hash));
    }
    g_ptr_array_sort(found, compare_names);
    for (guint i = 0; i < found->len; i++)
        g_string_append(line, g_ptr_array_index(found, i));
}

static void add_content(struct snapshot *s, GString *line,
                        const struct entry *e)
{
    int fd = openat(s->fd, e->name,
                    O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NOATIME);

    if (fd < 0) {
        trouble(s, e->shown, "open");
        return;
    }
    if (oracle_map_append(line, fd, e->st.st_size) < 0)
        trouble(s, e->shown, "read");
    close(fd);
}

static void add_link_group(struct snapshot *s, GString *line,
                           const struct entry *e)
{
    g_autofree char *key = NULL;
    const char *first;

    if (S_ISDIR(e->st.st_mode) || e->st.st_nlink == 1)
        return;
    key = g_strdup_printf("%ju:%ju", (uintmax_t)e->st.st_dev,
                          (uintmax_t)e->st.st_ino);
    first = g_hash_table_lookup(s->first_names, key);
    if (first)
        g_string_append_printf(line, " same-as:%s", first);
    else
        g_hash_table_insert(s->first_names, g_steal_pointer(&key),
                            g_strdup(e->shown));
}

static const char *type_name(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFREG:
        return "file";
    case S_IFDIR:
        return "dir";
    case S_IFLNK:
        return "symlink";
    case S_IFIFO:
        return "fifo";
    case S_IFSOCK:
        return "socket";
    case S_IFCHR:
        return "char";
    default:
        return "block";
    }
}

static void add_target(struct snapshot *s, GString *line, const struct entry *e)
{
    char target[PATH_MAX];
    ssize_t len = readlinkat(s->fd, e->name, target, sizeof(target));
    g_autofree char *shown = escape(target, len < 0 ? 0 : (size_t)len);

    if (len < 0)
        trouble(s, e->shown, "readlink");
    g_string_append_printf(line, " -> %s", shown);
}

static void add_entry(struct snapshot *s, const struct entry *e)
{
    const struct stat *st = &e->st;
    GString *line = g_string_new(e->shown);

    g_string_append_printf(line, " %s %04o %u:%u %jd.%09ld",
                           type_name(st->st_mode), st->st_mode & 07777,
                           st->st_uid, st->st_gid, (intmax_t)st->st_mtim.tv_sec,
                           st->st_mtim.tv_nsec);
    if (!S_ISDIR(
            st->st_mode)) /* a directory's size depends on the file system */
        g_string_append_printf(line, " %jd", (intmax_t)st->st_size);
    if (S_ISCHR(st->st_mode) || S_ISBLK(st->st_mode))
        g_string_append_printf(line, " dev:%u,%u", major(st->st_rdev),
                               minor(st->st_rdev));
    if (S_ISLNK(st->st_mode))
        add_target(s, line, e);
    add_xattrs(s, line, e);
    if (S_ISREG(st->st_mode))
        add_content(s, line, e);
    add_link_group(s, line, e);
    g_ptr_array_add(s->lines, g_string_free(line, FALSE));
}

/* ---- the tree ------------------------------------------------------------ */

/* No recursion and one open directory: depth has no bound here either. */

static void level_free(gpointer data)
{
    struct level *level = data;

    g_ptr_array_unref(level->names);
    g_free(level->shown);
    g_free(level);
}

static GPtrArray *read_names(struct snapshot *s, const char *shown, int fd)
{
    GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
    int own = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = own < 0 ? NULL : fdopendir(own);
    struct dirent *entry;

    if (!dir)
        trouble(s, shown, "opendir");
    while (dir && (entry = readdir(dir))) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            g_ptr_array_add(names, g_strdup(entry->d_name));
    }
    if (dir)
        closedir(dir);
    g_ptr_array_sort(names, compare_names);
    return names;
}

/* Enter fd (taken), a directory in the present one. */
static void push(struct snapshot *s, int fd, const struct entry *e)
{
    struct level *level = g_new0(struct level, 1);

    level->names = read_names(s, e->shown, fd);
    level->shown = g_strdup(e->shown);
    level->st = e->st;
    g_ptr_array_add(s->levels, level);
    if (s->fd >= 0)
        close(s->fd);
    s->fd = fd;
}

/* Leave the present directory; the tree must not change meanwhile. */
static void pop(struct snapshot *s)
{
    const struct level *above;
    struct stat st;
    int fd;

    g_ptr_array_set_size(s->levels, (gint)s->levels->len - 1);
    if (s->levels->len == 0)
        return;
    above = g_ptr_array_index(s->levels, s->levels->len - 1);
    fd = openat(s->fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
    close(s->fd);
    s->fd = fd;
    if (fd < 0 || fstat(fd, &st) < 0 || st.st_ino != above->st.st_ino) {
        trouble(s, above->shown, "the way back");
        g_ptr_array_set_size(s->levels, 0);
    }
}

static char *show_child(const struct level *level, const char *name)
{
    g_autofree char *shown = escape(name, strlen(name)), *hash = NULL;

    if (strcmp(level->shown, ".") == 0)
        return g_strdup(shown);
    if (strlen(level->shown) + strlen(shown) < MAX_SHOWN)
        return g_strdup_printf("%s/%s", level->shown, shown);
    hash = g_compute_checksum_for_string(G_CHECKSUM_SHA1, level->shown, -1);
    return g_strdup_printf("(%s)/%s", hash, shown);
}

static void visit(struct snapshot *s, const struct level *level,
                  const char *name)
{
    g_autofree char *shown = show_child(level, name);
    struct entry e = { .name = name, .shown = shown };
    int fd;

    g_snprintf(e.full, sizeof(e.full), "/proc/self/fd/%d/%s", s->fd, name);
    if (fstatat(s->fd, name, &e.st, AT_SYMLINK_NOFOLLOW) < 0) {
        trouble(s, shown, "lstat");
        return;
    }
    add_entry(s, &e);
    if (!S_ISDIR(e.st.st_mode))
        return;
    fd = openat(s->fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        trouble(s, shown, "open");
    else
        push(s, fd, &e);
}

static void visit_all(struct snapshot *s, const char *path)
{
    struct entry top = { .name = ".", .shown = "." };
    int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0 || fstat(fd, &top.st) < 0) {
        trouble(s, path, "open");
        return;
    }
    push(s, fd, &top);
    g_snprintf(top.full, sizeof(top.full), "/proc/self/fd/%d/.", fd);
    add_entry(s, &top);
    while (s->levels->len > 0) {
        struct level *level = g_ptr_array_index(s->levels, s->levels->len - 1);

        if (level->next < level->names->len)
            visit(s, level, g_ptr_array_index(level->names, level->next++));
        else
            pop(s);
    }
}

GPtrArray *oracle_snapshot(const char *path, char **ret_trouble)
{
    struct snapshot s = {
        .lines = g_ptr_array_new_with_free_func(g_free),
        .first_names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
                                             g_free),
        .trouble = g_string_new(NULL),
        .levels = g_ptr_array_new_with_free_func(level_free),
        .fd = -1,
    };
    gboolean ok;

    visit_all(&s, path);
    if (s.fd >= 0)
        close(s.fd);
    g_hash_table_unref(s.first_names);
    g_ptr_array_unref(s.levels);
    ok = s.trouble->len == 0;
    if (ok) {
        g_string_free(s.trouble, TRUE);
        return s.lines;
    }
    if (ret_trouble)
        *ret_trouble = g_string_free(s.trouble, FALSE);
    else
        g_string_free(s.trouble, TRUE);
    g_ptr_array_unref(s.lines);
    return NULL;
}

/* Index lines by the part that equal lines share. */
static GHashTable *index_lines(GPtrArray *lines)
{
    GHashTable *index = g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
                                              NULL);

    for (guint i = 0; i < lines->len; i++) {
        char *line = g_ptr_array_index(lines, i);

        g_hash_table_insert(index, oracle_map_strip(line), line);
    }
    return index;
}

static void add_missing(GString *out, const char *mark, GPtrArray *from,
                        GPtrArray *in)
{
    g_autoptr(GHashTable) index = index_lines(in);
    guint shown = 0;

    for (guint i = 0; i < from->len && shown < 40; i++) {
        const char *line = g_ptr_array_index(from, i);
        g_autofree char *key = oracle_map_strip(line);
        const char *other = g_hash_table_lookup(index, key);

        if (!other || !oracle_map_equal(line, other)) {
            g_string_append_printf(out, "%s %s\n", mark, line);
            shown++;
        }
    }
}

char *oracle_diff(GPtrArray *before, GPtrArray *after)
{
    GString *out = g_string_new(NULL);

    add_missing(out, "-", before, after);
    add_missing(out, "+", after, before);
    if (out->len == 0 && before->len == after->len) {
        g_string_free(out, TRUE);
        return NULL;
    }
    return g_string_free(out, FALSE);
}
