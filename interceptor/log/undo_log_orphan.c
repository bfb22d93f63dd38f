/* SPDX-License-Identifier: Apache-2.0
 *
 * undo_log_orphan - logs whose folder is gone.
 *
 * A log may be the only copy of a user's files, so all doubt keeps it: only a
 * log at its default path beside the folder is examined, which is on the
 * folder's filesystem; a step that cannot be read may belong to another folder;
 * and a folder that was renamed is recognised by its inode number.
 *
 * A log is removed under its lock. It is first renamed to .removing-NUMBER, so
 * that a killed removal leaves no log with missing parts; the next one goes on.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/errors.h"
#include "common/fd.h"
#include "interceptor/interceptor.h"
#include "interceptor/log/step.h"
#include "interceptor/log/undo_log_above.h"
#include "interceptor/log/undo_log_names.h"
#include "interceptor/log/undo_log_parts.h"
#include "interceptor/sys/sys.h"

#define REMOVING ".removing-"

enum { SIZE_MAX_DEPTH = 64 };

struct orphan {
    const char *path;
    char *name;         /* of the log and of its folder */
    int above;          /* LOG_FOLDER */
    int log;            /* the log */
    int lock;           /* its lock, held; -1: it has none */
    GHashTable *roots;  /* inode numbers of the folders of its steps */
    GPtrArray *folders; /* their paths */
    char *reason;       /* why it is kept */
};

static void orphan_clear(struct orphan *orphan)
{
    fd_close(&orphan->above);
    fd_close(&orphan->log);
    fd_close(&orphan->lock); /* last: this releases the lock */
    g_hash_table_unref(orphan->roots);
    g_ptr_array_unref(orphan->folders);
    g_free(orphan->name);
    g_free(orphan->reason);
}

static bool is_half_removed(const struct orphan *orphan)
{
    return g_str_has_prefix(orphan->name, REMOVING);
}

/* Return whether this is a log of the current format and of this user. */
static bool open_log(struct orphan *orphan)
{
    g_autofree char *wanted = g_strdup_printf("%d\n", UNDO_LOG_FORMAT);
    g_autofree char *found = NULL;

    orphan->name = g_path_get_basename(orphan->path);
    orphan->above = undo_log_open_above(orphan->path);
    if (orphan->above >= 0)
        orphan->log = undo_log_open_own(orphan->above, orphan->name);
    if (orphan->log < 0)
        return false;
    orphan->lock = sys_openat(orphan->log, "lock",
                              O_RDWR | O_NOFOLLOW | O_NONBLOCK, 0);
    if (is_half_removed(orphan))
        return true;
    return orphan->lock >= 0 &&
           fd_read_file(orphan->log, "version", 64, &found, NULL) == 0 &&
           strcmp(found, wanted) == 0;
}

/* Note the folder of the step in a folder of the log. */
static int note_step(int parent, const char *name, struct orphan *orphan)
{
    fd_auto int dir = sys_openat(parent, name, UNDO_LOG_DIR_FLAGS, 0);
    struct step *step = NULL;
    int rc = dir < 0 ? dir : step_load_summary(dir, &step);

    if (rc < 0)
        return rc;
    g_hash_table_add(orphan->roots,
                     g_memdup2(&step->root->ino, sizeof(step->root->ino)));
    if (step->folder.path)
        g_ptr_array_add(orphan->folders, g_strdup(step->folder.path));
    step_free(step);
    return 0;
}

static int note_entry(int fd, const struct dirent *entry, void *opaque)
{
    return note_step(fd, entry->d_name, opaque);
}

/* Note the folders of all steps. Returns 0 or -errno. */
static int note_steps(struct orphan *orphan)
{
    static const char *const parts[] = { "steps", "redo" };
    int rc = note_step(orphan->log, "wal/in_progress", orphan);

    /* Without a whole line nothing was changed. */
    if (rc == -ENOENT || rc == -ENODATA)
        rc = 0;
    for (size_t i = 0; rc == 0 && i < G_N_ELEMENTS(parts); i++) {
        rc = sys_dir_each(orphan->log, parts[i], note_entry, orphan);
        if (rc == -ENOENT &&
            faccessat(orphan->log, parts[i], F_OK, AT_SYMLINK_NOFOLLOW) < 0)
            rc = 0;
    }
    return rc;
}

/* Return whether there is certainly no such name. */
static bool is_gone(int dirfd, const char *path)
{
    struct stat st;

    return sys_stat_name(dirfd, path, &st) == -ENOENT;
}

static int find_root(int fd, const struct dirent *entry, void *opaque)
{
    struct orphan *orphan = opaque;
    uint64_t ino;
    struct stat st;

    if (sys_stat_name(fd, entry->d_name, &st) < 0 || !S_ISDIR(st.st_mode))
        return 0;
    ino = st.st_ino;
    if (!g_hash_table_contains(orphan->roots, &ino))
        return 0;
    orphan->reason = g_strdup_printf("its folder may be %s now", entry->d_name);
    return 1;
}

/* The sibling of the log's folder, or one that a step knew. */
static char *find_folder(const struct orphan *orphan)
{
    g_autofree char *beside = g_strconcat("../../", orphan->name, NULL);

    if (!is_gone(orphan->above, beside))
        return g_strdup(orphan->name);
    for (guint i = 0; i < orphan->folders->len; i++) {
        if (!is_gone(AT_FDCWD, orphan->folders->pdata[i]))
            return g_strdup(orphan->folders->pdata[i]);
    }
    return NULL;
}

static enum ic_log_use examine(struct orphan *orphan)
{
    g_autofree char *folder = NULL;
    int rc;

    if (!open_log(orphan))
        return IC_LOG_NONE;
    if (orphan->lock >= 0 && flock(orphan->lock, LOCK_EX | LOCK_NB) < 0)
        return IC_LOG_BUSY;
    rc = is_half_removed(orphan) ? 0 : note_steps(orphan);
    folder = find_folder(orphan);
    if (folder)
        return IC_LOG_USED;
    if (rc < 0)
        orphan->reason = g_strdup_printf("a step cannot be read: %s",
                                         g_strerror(-rc));
    else
        rc = sys_dir_each(orphan->above, "../..", find_root, orphan);
    if (rc < 0 && !orphan->reason)
        orphan->reason = g_strdup_printf("its parent cannot be read: %s",
                                         g_strerror(-rc));
    return orphan->reason ? IC_LOG_UNSURE : IC_LOG_ORPHAN;
}

struct size {
    uint64_t bytes;
    unsigned depth;
};

static int add_size(int fd, const struct dirent *entry, void *opaque)
{
    struct size *size = opaque;
    struct stat st;

    if (sys_stat_name(fd, entry->d_name, &st) < 0)
        return 0;
    size->bytes += (uint64_t)st.st_blocks * 512;
    if (S_ISDIR(st.st_mode) && size->depth < SIZE_MAX_DEPTH) {
        size->depth++;
        sys_dir_each(fd, entry->d_name, add_size, size);
        size->depth--;
    }
    return 0;
}

static struct orphan orphan_new(const char *path)
{
    return (struct orphan){
        .path = path,
        .above = -1,
        .log = -1,
        .lock = -1,
        .roots = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free,
                                       NULL),
        .folders = g_ptr_array_new_with_free_func(g_free),
    };
}

enum ic_log_use ic_log_examine(const char *undo_dir, uint64_t *ret_bytes,
                               char **ret_reason)
{
    struct orphan orphan = orphan_new(undo_dir);
    enum ic_log_use use = examine(&orphan);
    struct size size = { 0 };

    if (use == IC_LOG_ORPHAN)
        sys_dir_each(orphan.log, ".", add_size, &size);
    *ret_bytes = size.bytes;
    *ret_reason = g_steal_pointer(&orphan.reason);
    orphan_clear(&orphan);
    return use;
}

static int remove_log(const struct orphan *orphan)
{
    g_autofree char *removing = NULL;
    int rc = -EEXIST;

    if (is_half_removed(orphan))
        return sys_remove_tree(orphan->above, orphan->name);
    for (int i = 0; rc == -EEXIST && i < 16; i++) {
        g_free(removing);
        removing = g_strdup_printf(REMOVING "%08x", g_random_int());
        rc = sys_renameat2(orphan->above, orphan->name, orphan->above, removing,
                           RENAME_NOREPLACE);
    }
    return rc < 0 ? rc : sys_remove_tree(orphan->above, removing);
}

gboolean ic_log_remove_orphan(const char *undo_dir, GError **error)
{
    struct orphan orphan = orphan_new(undo_dir);
    bool is_orphan = examine(&orphan) == IC_LOG_ORPHAN;
    int rc = is_orphan ? remove_log(&orphan) : 0;

    if (!is_orphan)
        g_set_error(error, STEPBACK_ERROR, ERROR_BUSY,
                    "%s: kept: it is in use, or its folder exists", undo_dir);
    else if (rc < 0)
        g_set_error(error, STEPBACK_ERROR, ERROR_IO_ERROR,
                    "%s: cannot remove it: %s", undo_dir, g_strerror(-rc));
    orphan_clear(&orphan);
    return is_orphan && rc == 0;
}
