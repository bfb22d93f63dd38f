/* SPDX-License-Identifier: Apache-2.0
 *
 * oracle - see oracle.h. Own code on purpose: it shares nothing with the
 * engine that it judges.
 */
#include "tests/oracle.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

struct snapshot {
    GPtrArray *lines;
    GHashTable *first_names; /* "dev:ino" -> path; filled in sorted order */
    GString *trouble;
};

static void trouble(struct snapshot *s, const char *path, const char *what)
{
    g_string_append_printf(s->trouble, "%s: %s: %s\n", path, what,
                           g_strerror(errno));
}

/* Only printable ASCII, so that a line is a line. */
static char *escape(const void *data, size_t len)
{
    g_autofree char *copy = g_strndup(data, len);

    return g_strescape(copy, NULL);
}

static int compare_names(gconstpointer a, gconstpointer b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void add_xattrs(struct snapshot *s, GString *line, const char *full)
{
    char names[65536], value[65536];
    ssize_t len = llistxattr(full, names, sizeof(names));
    g_autoptr(GPtrArray) found = g_ptr_array_new_with_free_func(g_free);

    if (len < 0) {
        if (errno != ENOTSUP)
            trouble(s, full, "llistxattr");
        return;
    }
    for (const char *name = names; name < names + len;
         name += strlen(name) + 1) {
        ssize_t size = lgetxattr(full, name, value, sizeof(value));
        g_autofree char *hash = NULL, *shown = escape(name, strlen(name));

        if (size < 0) {
            trouble(s, full, "lgetxattr");
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

static void add_map(GString *line, int fd, off_t size)
{
    off_t at = 0;

    g_string_append(line, " data:");
    while (at < size) {
        off_t data = lseek(fd, at, SEEK_DATA);
        off_t hole;

        if (data < 0)
            break;
        hole = lseek(fd, data, SEEK_HOLE);
        g_string_append_printf(line, "%jd-%jd,", (intmax_t)data,
                               (intmax_t)MIN(hole, size));
        at = hole;
    }
}

static void add_content(struct snapshot *s, GString *line, const char *full,
                        const struct stat *st)
{
    int fd = open(full, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NOATIME);
    GChecksum *sum;
    char *chunk;
    ssize_t n;

    if (fd < 0) {
        trouble(s, full, "open");
        return;
    }
    add_map(line, fd, st->st_size);
    lseek(fd, 0, SEEK_SET);
    sum = g_checksum_new(G_CHECKSUM_SHA256);
    chunk = g_malloc(1 << 20);
    while ((n = read(fd, chunk, 1 << 20)) > 0)
        g_checksum_update(sum, (guchar *)chunk, n);
    if (n < 0)
        trouble(s, full, "read");
    g_string_append_printf(line, " %s", g_checksum_get_string(sum));
    g_checksum_free(sum);
    g_free(chunk);
    close(fd);
}

static void add_link_group(struct snapshot *s, GString *line, const char *path,
                           const struct stat *st)
{
    g_autofree char *key = g_strdup_printf("%ju:%ju", (uintmax_t)st->st_dev,
                                           (uintmax_t)st->st_ino);
    const char *first;

    if (S_ISDIR(st->st_mode))
        return;
    first = g_hash_table_lookup(s->first_names, key);
    if (first)
        g_string_append_printf(line, " same-as:%s", first);
    else
        g_hash_table_insert(s->first_names, g_steal_pointer(&key),
                            g_strdup(path));
}

static void add_entry(struct snapshot *s, const char *full, const char *path);

static void add_children(struct snapshot *s, const char *full, const char *path)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    DIR *dir = opendir(full);
    struct dirent *entry;

    if (!dir) {
        trouble(s, full, "opendir");
        return;
    }
    while ((entry = readdir(dir))) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            g_ptr_array_add(names, g_strdup(entry->d_name));
    }
    closedir(dir);
    g_ptr_array_sort(names, compare_names);
    for (guint i = 0; i < names->len; i++) {
        const char *name = g_ptr_array_index(names, i);
        g_autofree char *child_full = g_strdup_printf("%s/%s", full, name);
        g_autofree char *shown = escape(name, strlen(name));
        g_autofree char *child = strcmp(path, ".") == 0
                                     ? g_strdup(shown)
                                     : g_strdup_printf("%s/%s", path, shown);

        add_entry(s, child_full, child);
    }
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

static void add_entry(struct snapshot *s, const char *full, const char *path)
{
    GString *line = g_string_new(path);
    struct stat st;

    if (lstat(full, &st) < 0) {
        trouble(s, full, "lstat");
        g_string_free(line, TRUE);
        return;
    }
    g_string_append_printf(line, " %s %04o %u:%u %jd.%09ld",
                           type_name(st.st_mode), st.st_mode & 07777, st.st_uid,
                           st.st_gid, (intmax_t)st.st_mtim.tv_sec,
                           st.st_mtim.tv_nsec);
    if (!S_ISDIR(
            st.st_mode)) /* a directory's size is the filesystem's affair */
        g_string_append_printf(line, " %jd", (intmax_t)st.st_size);
    if (S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode))
        g_string_append_printf(line, " dev:%u,%u", major(st.st_rdev),
                               minor(st.st_rdev));
    if (S_ISLNK(st.st_mode)) {
        char target[8192];
        ssize_t len = readlink(full, target, sizeof(target));
        g_autofree char *shown = escape(target, len < 0 ? 0 : (size_t)len);

        g_string_append_printf(line, " -> %s", shown);
    }
    add_xattrs(s, line, full);
    if (S_ISREG(st.st_mode))
        add_content(s, line, full, &st);
    add_link_group(s, line, path, &st);
    g_ptr_array_add(s->lines, g_string_free(line, FALSE));
    if (S_ISDIR(st.st_mode))
        add_children(s, full, path);
}

GPtrArray *oracle_snapshot(const char *path, char **ret_trouble)
{
    struct snapshot s = {
        .lines = g_ptr_array_new_with_free_func(g_free),
        .first_names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
                                             g_free),
        .trouble = g_string_new(NULL),
    };
    gboolean ok;

    add_entry(&s, path, ".");
    g_hash_table_unref(s.first_names);
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

static GHashTable *line_set(GPtrArray *lines)
{
    GHashTable *set = g_hash_table_new(g_str_hash, g_str_equal);

    for (guint i = 0; i < lines->len; i++)
        g_hash_table_add(set, g_ptr_array_index(lines, i));
    return set;
}

static void add_missing(GString *out, const char *mark, GPtrArray *from,
                        GPtrArray *in)
{
    g_autoptr(GHashTable) set = line_set(in);
    guint shown = 0;

    for (guint i = 0; i < from->len && shown < 40; i++) {
        const char *line = g_ptr_array_index(from, i);

        if (!g_hash_table_contains(set, line)) {
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
