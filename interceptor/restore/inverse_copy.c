/* SPDX-License-Identifier: Apache-2.0
 *
 * inverse_copy - see inverse_parts.h.
 *
 * If names can be moved into the log, a rollback moves what it puts aside
 * there. Otherwise it removes it, so the inverse copies it first, as a step
 * copies what it is about to remove (capture_copy()): the inode is retired in
 * the inverse, and redo makes it anew.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "common/fd.h"
#include "interceptor/sys/btime.h"
#include "interceptor/restore/inverse_parts.h"
#include "interceptor/restore/restore_alive.h"
#include "interceptor/restore/restore_find.h"
#include "interceptor/capture/search.h"
#include "interceptor/sys/sys.h"

/* ---- inodes that the step created ---------------------------------------- */

/* Return whether the source knows the inode and the inode either has a name
 * that stays or gets one back. Another process may have removed that name. */
static bool lives_on(struct inverter *v, uint64_t ino)
{
    const struct step_inode *inode = step_find_inode(v->source->step, ino);

    return inode && (step_has_name(inode) ||
                     g_hash_table_contains(v->source->survey->inodes, inode));
}

static int copy_inode(struct inverter *v, const struct survey_entry *entry,
                      struct step_inode *inode)
{
    fd_auto int fd = inverse_open_entry(v, entry);
    int rc = inverse_record_meta(v, inode, fd);

    inode->born = btime_of_name(fd, "");
    if (rc == 0 && S_ISREG(entry->st.st_mode))
        rc = inverse_keep_file(v, inode, fd, &entry->st);
    return rc;
}

static int copy_entry(struct inverter *v, const struct survey_entry *entry,
                      GPtrArray *copied)
{
    struct step_inode *inode, *dir;
    int rc = 0;

    /* The step only added a name to it. */
    if (lives_on(v, entry->st.st_ino))
        return 0;
    inode = step_get_inode(v->step, entry->st.st_ino);
    dir = step_get_inode(v->step, entry->dir->st.st_ino);
    if (!step_find_binding(v->step, dir, entry->name))
        rc = step_record_binding(v->step, dir, entry->name, inode);
    /* It survives under a name that another process made. */
    if (rc == 0 && g_hash_table_contains(v->living, &inode->ino))
        return step_record_seen(v->step, inode, &entry->st);
    if (rc < 0 || inode->flags & STEP_DATA ||
        (inode->flags & STEP_META && !S_ISDIR(entry->st.st_mode)))
        return rc; /* a further name of the same inode */
    g_ptr_array_add(copied, inode);
    if (!(inode->flags & STEP_META))
        rc = copy_inode(v, entry, inode);
    return rc;
}

int inverse_copy_created(struct inverter *v)
{
    GPtrArray *created = v->source->survey->created;
    g_autoptr(GPtrArray) copied = g_ptr_array_new();
    int rc = 0;

    for (guint i = 0; rc == 0 && i < created->len; i++)
        rc = copy_entry(v, g_ptr_array_index(created, i), copied);
    /* Last, since other records mean these inodes by number. */
    for (guint i = 0; rc == 0 && i < copied->len; i++)
        rc = step_record_retiring(v->step, g_ptr_array_index(copied, i));
    return rc;
}

/* ---- files under unknown names ------------------------------------------- */

/* Find files that keep a name which no record contains: files that lost all
 * recorded names, and files all of whose recorded names the rollback will
 * remove, such as one that another process linked into a directory that the
 * step made. */
struct finder {
    struct inverter *v;
    GHashTable *dirs;   /* a set of &ino: directories that the step made */
    GHashTable *wanted; /* see search_set_new() */
};

static bool will_go(const struct finder *f, uint64_t dir_ino, const char *name)
{
    struct step *step = f->v->source->step;
    struct step_inode *dir = step_find_inode(step, dir_ino);

    /* The rollback reaches no name in a directory that another process moved:
     * it makes a new directory in the old one's place. */
    return g_hash_table_contains(f->dirs, &dir_ino) ||
           (dir && g_hash_table_contains(f->v->source->survey->inodes, dir) &&
            step_find_binding(step, dir, name));
}

/* The place of a directory above such a file. */
struct spot {
    uint64_t ino, parent;
    char *name; /* in parent */
};

static void spot_clear(gpointer data)
{
    g_free(((struct spot *)data)->name);
}

struct name_search {
    uint64_t ino;
    char *name; /* NULL until it is found */
};

static int compare_ino(int fd, const struct dirent *entry, void *opaque)
{
    struct name_search *search = opaque;

    if (entry->d_ino != search->ino)
        return 0;
    search->name = g_strdup(entry->d_name);
    return 1;
}

static int find_name(int parent, uint64_t ino, char **ret_name)
{
    struct name_search search = { .ino = ino };
    int rc = sys_dir_each(parent, ".", compare_ino, &search);

    if (rc > 0)
        *ret_name = search.name;
    return rc > 0 ? 0 : rc < 0 ? rc : -ENOENT;
}

/* Record the places from the directory fd (taken) up to a directory whose place
 * is known. */
static int climb(struct inverter *v, int fd, GArray *spots)
{
    fd_auto int at = fd;
    struct stat st;
    int rc = sys_stat_fd(at, &st);

    while (rc == 0 &&
           !step_has_home(v->step, step_get_inode(v->step, st.st_ino))) {
        fd_auto int parent = sys_openat(at, "..", O_PATH | O_DIRECTORY, 0);
        struct spot spot = { .ino = st.st_ino };

        rc = parent < 0 ? parent : sys_stat_fd(parent, &st);
        if (rc == 0 && st.st_ino == spot.ino)
            rc = -ESTALE; /* reached the top: not in the share */
        if (rc == 0)
            rc = find_name(parent, spot.ino, &spot.name);
        if (rc < 0)
            return rc;
        spot.parent = st.st_ino;
        g_array_append_val(spots, spot);
        fd_close(&at);
        at = fd_steal(&parent);
    }
    return rc;
}

static int add_home(struct inverter *v, const struct spot *spot)
{
    return step_record_home(v->step, step_get_inode(v->step, spot->ino),
                            step_get_inode(v->step, spot->parent), spot->name);
}

static int add_homes(struct inverter *v, int dirfd, const char *name,
                     uint64_t ino)
{
    g_autoptr(GArray) spots = g_array_new(FALSE, FALSE, sizeof(struct spot));
    int dir = sys_openat(dirfd, ".", O_PATH | O_DIRECTORY, 0);
    struct spot last = { .ino = ino, .name = (char *)name };
    struct stat st;
    int rc = dir < 0 ? dir : sys_stat_fd(dir, &st);

    g_array_set_clear_func(spots, spot_clear);
    if (rc < 0) {
        fd_close(&dir);
        return rc;
    }
    last.parent = st.st_ino;
    rc = climb(v, dir, spots);
    for (guint i = spots->len; rc == 0 && i > 0; i--)
        rc = add_home(v, &g_array_index(spots, struct spot, i - 1));
    return rc < 0 ? rc : add_home(v, &last);
}

static int record_found(struct inverter *v, int dirfd, const char *name,
                        uint64_t ino)
{
    const struct step_inode *inode = step_find_inode(v->source->step, ino);
    struct step_inode *mine = step_get_inode(v->step, ino);
    unsigned flags = inode ? inode->flags : 0;
    fd_auto int fd = sys_openat(dirfd, name, O_PATH | O_NOFOLLOW, 0);
    struct stat st;
    int rc = fd < 0 ? fd : sys_stat_fd(fd, &st);

    if (rc == 0 && st.st_ino != ino)
        return -ENOENT;
    if (rc == 0)
        rc = add_homes(v, dirfd, name, ino);
    if (rc == 0)
        rc = step_record_seen(v->step, mine, &st);
    if (rc == 0 && flags & STEP_META)
        rc = inverse_record_meta(v, mine, fd);
    if (rc == 0 && flags & STEP_DATA && S_ISREG(st.st_mode))
        rc = inverse_keep_file(v, mine, fd, &st);
    if (rc == 0)
        search_set_add(v->living, ino);
    return rc;
}

/* Has another process moved the file? The rollback copies such a file and does
 * not change it. 1, 0 or -errno. */
static int is_left_alone(struct inverter *v, int dirfd, const char *name,
                         uint64_t ino)
{
    const struct step_inode *inode = step_find_inode(v->source->step, ino);

    return inode && !v->source->copies
               ? restore_was_moved(v->source->restore, inode, dirfd, name)
               : 0;
}

static int found_name(int dirfd, const char *name, uint64_t ino, void *opaque)
{
    const struct finder *f = opaque;
    struct stat st;
    int rc = sys_stat_fd(dirfd, &st);

    if (rc < 0)
        return rc;
    if (will_go(f, st.st_ino, name))
        return -ENOENT;
    rc = is_left_alone(f->v, dirfd, name, ino);
    return rc != 0 ? MIN(rc, 0) : record_found(f->v, dirfd, name, ino);
}

/* Return whether a link in the log leads to the inode (inverse.c); there is
 * none if the log cannot take names. 1, 0 or -errno. */
static int is_linked(const struct inverse_source *source,
                     const struct step_inode *inode)
{
    return source->copies ? 0 : restore_is_kept(source->restore, inode);
}

static int want_recorded(struct finder *f)
{
    const struct inverse_source *source = f->v->source;
    GHashTableIter iter;
    gpointer value;

    g_hash_table_iter_init(&iter, source->step->inodes);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        const struct step_inode *inode = value;
        int linked;

        if (!inode->names ||
            g_hash_table_contains(source->survey->inodes, inode))
            continue;
        linked = is_linked(source, inode);
        if (linked < 0)
            return linked;
        if (!linked)
            search_set_add(f->wanted, inode->ino);
    }
    return 0;
}

/* Add the files that have more names than the rollback will remove. */
static void want_created(struct finder *f)
{
    const GPtrArray *created = f->v->source->survey->created;
    g_autoptr(GHashTable) names = g_hash_table_new(g_int64_hash, g_int64_equal);

    for (guint i = 0; i < created->len; i++) {
        const struct survey_entry *entry = g_ptr_array_index(created, i);
        uint64_t ino = entry->st.st_ino;
        guint count;

        if (S_ISDIR(entry->st.st_mode)) {
            search_set_add(f->dirs, ino);
            continue;
        }
        if (entry->st.st_nlink < 2 || lives_on(f->v, ino))
            continue;
        count = GPOINTER_TO_UINT(g_hash_table_lookup(names, &ino)) + 1;
        g_hash_table_insert(names, (gpointer)&entry->st.st_ino,
                            GUINT_TO_POINTER(count));
        if (count < entry->st.st_nlink)
            search_set_add(f->wanted, ino);
        else
            g_hash_table_remove(f->wanted, &ino);
    }
}

int inverse_copy_living(struct inverter *v)
{
    g_autoptr(GHashTable) dirs = search_set_new();
    g_autoptr(GHashTable) wanted = search_set_new();
    struct finder f = { v, dirs, wanted };
    int rc;

    if (!v->source->copies && !v->source->restore->edited_too)
        return 0;
    if (v->source->copies)
        want_created(&f);
    rc = want_recorded(&f);
    return rc < 0 ? rc : search_files(v->source->root, wanted, found_name, &f);
}
