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

#include "agent/session/fs_view.h"
#include "common/fd.h"

enum {
    SAMPLE = 10,      /* paths listed in a warning */
    MAX_WORK = 20000, /* directory entries read per report */
};

struct finding {
    const char *code, *problem;
    GPtrArray *paths;
    gint64 count;
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
        g_ptr_array_add(finding->paths, g_strdup(path));
}

/* Takes finding->paths. */
static void add_warning(struct finding *finding, gint64 step_id,
                        const char *label, GPtrArray *list)
{
    struct folder_warning *warning;
    g_autofree char *others = NULL;
    const char *name;

    if (finding->count == 0) {
        g_ptr_array_unref(finding->paths);
        return;
    }
    warning = g_new0(struct folder_warning, 1);
    name = g_ptr_array_index(finding->paths, 0);
    if (!g_utf8_validate(name, -1, NULL))
        name = "a name that is not UTF-8";
    if (finding->count > 1)
        others = g_strdup_printf(" and %" G_GINT64_FORMAT " more",
                                 finding->count - 1);
    warning->directory = g_strdup(label);
    warning->code = g_strdup(finding->code);
    warning->message = g_strdup_printf("%s%s: %s", name, others ? others : "",
                                       finding->problem);
    warning->step_id = step_id;
    warning->paths = finding->paths;
    warning->count = finding->count;
    g_ptr_array_add(list, warning);
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

GPtrArray *name_check(int root_fd, const struct step_report *report,
                      const char *label)
{
    struct check check = {
        .root_fd = root_fd,
        .folders = g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
                                         (GDestroyNotify)g_hash_table_unref),
        .outside = { "symlink_outside",
                     "a symlink that escapes from the working folder: the host "
                     "resolves it to another file, or to none",
                     g_ptr_array_new_with_free_func(g_free), 0 },
        .collision = { "case_collision",
                       "names that differ only in case: a case-insensitive "
                       "system sees one file",
                       g_ptr_array_new_with_free_func(g_free), 0 },
    };
    GPtrArray *list = g_ptr_array_new();

    for (guint i = 0; i < report->changes->len; i++) {
        const struct step_change *change = g_ptr_array_index(report->changes,
                                                             i);

        if (is_new_name(change, label))
            check_path(&check, change->path);
    }
    g_hash_table_unref(check.folders);
    add_warning(&check.outside, report->step_id, label, list);
    add_warning(&check.collision, report->step_id, label, list);
    return list;
}
