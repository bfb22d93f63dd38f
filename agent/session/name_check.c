/* SPDX-License-Identifier: Apache-2.0
 *
 * name_check - see name_check.h.
 *
 * The kernel resolves the symlinks: a lookup confined to the folder fails with
 * a distinct error if the target lies outside.
 */
#include "agent/session/name_check.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/base/undo_result.h"
#include "agent/session/fs_view.h"
#include "common/fd.h"
#include "common/json_bytes.h"

enum {
    SAMPLE = 10,      /* paths listed in a warning */
    MAX_WORK = 20000, /* directory entries read per report */
};

struct finding {
    const char *code, *problem;
    json_t *paths;
    json_int_t count;
};

struct check {
    int root_fd;
    unsigned work;
    GHashTable *folders; /* path -> GHashTable: case-folded name -> count */
    struct finding outside, collision;
};

/* ---- findings ------------------------------------------------------------ */

static void find(struct finding *finding, const char *path)
{
    if (finding->count++ < SAMPLE)
        json_array_append_new(finding->paths, json_bytes_path(path));
}

/* Takes finding->paths. */
static void add_warning(struct finding *finding, json_t *list)
{
    json_t *first = json_array_get(finding->paths, 0);
    const char *name = json_string_value(first);

    if (finding->count == 0) {
        json_decref(finding->paths);
        return;
    }
    json_array_append_new(
        list,
        json_pack("{s:s, s:o, s:o, s:I}", "code", finding->code, "message",
                  finding->count == 1
                      ? json_sprintf("%s: %s",
                                     name ? name
                                          : "a name that is "
                                            "not UTF-8",
                                     finding->problem)
                      : json_sprintf("%s and %" JSON_INTEGER_FORMAT " more: %s",
                                     name ? name : "a name that is not UTF-8",
                                     finding->count - 1, finding->problem),
                  "paths", finding->paths, "count", finding->count));
}

/* ---- symlinks ------------------------------------------------------------ */

static bool is_symlink(int root_fd, const char *path)
{
    fd_auto int fd = fs_view_open(root_fd, path, O_PATH | O_NOFOLLOW);
    struct stat st;

    return fd >= 0 && fstat(fd, &st) == 0 && S_ISLNK(st.st_mode);
}

static bool leads_outside(int root_fd, const char *path)
{
    int fd = fs_view_open(root_fd, path, O_PATH);

    if (fd >= 0)
        close(fd);
    return fd == -EXDEV;
}

/* ---- names --------------------------------------------------------------- */

/* Fold a name as a case-insensitive host would. NULL: not UTF-8. */
static char *fold(const char *name)
{
    g_autofree char *folded = g_utf8_validate(name, -1, NULL)
                                  ? g_utf8_casefold(name, -1)
                                  : NULL;

    return folded ? g_utf8_normalize(folded, -1, G_NORMALIZE_NFC) : NULL;
}

/* fd is taken. */
static GHashTable *count_names(struct check *check, int fd)
{
    GHashTable *names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
                                              NULL);
    DIR *stream = fdopendir(fd);
    struct dirent *entry;

    if (!stream) {
        fd_close(&fd);
        return names;
    }
    while (check->work < MAX_WORK && (entry = readdir(stream))) {
        char *folded = fold(entry->d_name);
        guint count;

        check->work++;
        if (!folded)
            continue;
        count = GPOINTER_TO_UINT(g_hash_table_lookup(names, folded));
        g_hash_table_replace(names, folded, GUINT_TO_POINTER(count + 1));
    }
    closedir(stream);
    return names;
}

static GHashTable *names_of(struct check *check, const char *folder)
{
    GHashTable *names = g_hash_table_lookup(check->folders, folder);
    int fd;

    if (names || check->work >= MAX_WORK)
        return names;
    fd = fs_view_open(check->root_fd, folder, O_RDONLY | O_DIRECTORY);
    if (fd < 0)
        return NULL;
    names = count_names(check, fd);
    g_hash_table_insert(check->folders, g_strdup(folder), names);
    return names;
}

static bool collides(struct check *check, const char *path)
{
    const char *slash = strrchr(path, '/');
    g_autofree char *folder = g_strndup(path,
                                        slash ? (gsize)(slash - path) : 0);
    g_autofree char *folded = fold(slash ? slash + 1 : path);
    GHashTable *names = folded ? names_of(check, folder) : NULL;

    return names && GPOINTER_TO_UINT(g_hash_table_lookup(names, folded)) > 1;
}

/* ---- reports ------------------------------------------------------------- */

static bool is_new_name(const struct step_change *change, const char *label)
{
    return (change->type == IC_CREATED || change->type == IC_RENAMED) &&
           g_strcmp0(change->directory, label) == 0;
}

static void check_path(struct check *check, const char *path)
{
    if (*path == '\0')
        return;
    if (is_symlink(check->root_fd, path) && leads_outside(check->root_fd, path))
        find(&check->outside, path);
    if (collides(check, path))
        find(&check->collision, path);
}

json_t *name_check(int root_fd, GPtrArray *changes, const char *label)
{
    struct check check = {
        .root_fd = root_fd,
        .folders = g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
                                         (GDestroyNotify)g_hash_table_unref),
        .outside = { "symlink_outside",
                     "a symlink that escapes from the working folder: the host "
                     "resolves it to another file, or to none",
                     json_array(), 0 },
        .collision = { "case_collision",
                       "names that differ only in case: a case-insensitive "
                       "system sees one file",
                       json_array(), 0 },
    };
    json_t *list = json_array();

    for (guint i = 0; i < changes->len; i++) {
        const struct step_change *change = g_ptr_array_index(changes, i);

        if (is_new_name(change, label))
            check_path(&check, change->path);
    }
    g_hash_table_unref(check.folders);
    add_warning(&check.outside, list);
    add_warning(&check.collision, list);
    return list;
}
