/* SPDX-License-Identifier: Apache-2.0
 *
 * stale - see stale.h.
 */
#include "interceptor/engine/stale.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/vfs.h>

#include "common/fd.h"
#include "interceptor/engine/core.h"
#include "interceptor/sys/sys.h"

static void clear_item(gpointer data)
{
    struct ic_stale *item = data;

    g_free((char *)item->name);
    if (item->pages)
        ic_stale_pages_end(item->pages);
}

static GArray *new_list(void)
{
    GArray *list = g_array_new(FALSE, FALSE, sizeof(struct ic_stale));

    g_array_set_clear_func(list, clear_item);
    return list;
}

void stale_init(struct stale *stale)
{
    pthread_rwlock_init(&stale->lock, NULL);
    stale->list = new_list();
}

void stale_clear(struct stale *stale)
{
    g_array_unref(stale->list);
    pthread_rwlock_destroy(&stale->lock);
}

/* Return whether only this host changes the filesystem. Other hosts' changes of
 * a network filesystem, for example, are not reported here. */
static bool is_local(int fd)
{
    static const uint32_t magics[] = {
        EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC,       BTRFS_SUPER_MAGIC,
        F2FS_SUPER_MAGIC, OVERLAYFS_SUPER_MAGIC, TMPFS_MAGIC,
        0x2fc12fc1, /* ZFS */
        0xca451a4e, /* bcachefs */
    };
    struct statfs fs;

    if (fstatfs(fd, &fs) < 0)
        return false;
    for (size_t i = 0; i < G_N_ELEMENTS(magics); i++) {
        if ((uint32_t)fs.f_type == magics[i])
            return true;
    }
    return false;
}

void ic_set_stale(struct ic *ic,
                  void (*tell)(const struct ic_stale *list, size_t n, bool wait,
                               void *opaque),
                  void *opaque)
{
    pthread_rwlock_wrlock(&ic->stale.lock);
    ic->stale.tell = tell;
    ic->stale.opaque = opaque;
    ic->stale.is_local = tell && is_local(ic->root->fd);
    if (tell)
        inode_table_note_young(ic->inodes);
    pthread_rwlock_unlock(&ic->stale.lock);
}

void ic_set_stale_pages(struct ic *ic, bool can)
{
    ic->stale.drops_pages = can;
}

void ic_stale_pages_end(struct ic_inode *inode)
{
    inode_end_stale_pages(inode);
    ic_inode_unhold(inode);
}

uint64_t ic_stale_undos(struct ic *ic)
{
    return atomic_load(&ic->stale.n_undos);
}

bool stale_is_wanted(struct ic *ic)
{
    bool wanted;

    pthread_rwlock_rdlock(&ic->stale.lock);
    wanted = ic->stale.tell != NULL;
    pthread_rwlock_unlock(&ic->stale.lock);
    return wanted;
}

void stale_set_complete(struct ic *ic, int64_t since_ms)
{
    atomic_store_explicit(&ic->stale.complete_ms, since_ms,
                          memory_order_relaxed);
}

bool ic_inode_is_on_share(struct ic *ic, const struct ic_inode *inode)
{
    return inode->dev == ic->dev && !inode->other_mount;
}

bool ic_inode_is_watched(struct ic *ic, const struct ic_inode *inode)
{
    int64_t since = atomic_load_explicit(&ic->stale.complete_ms,
                                         memory_order_relaxed);

    return inode->young_ms < since && ic->stale.is_local &&
           ic_inode_is_on_share(ic, inode) &&
           (ic->stale.writes || !S_ISREG(inode->type));
}

bool ic_stale_is_reported(struct ic *ic)
{
    return ic->watch && ic->stale.is_local;
}

uint64_t ic_stale_count(struct ic *ic, uint64_t *ret_n_own)
{
    if (ret_n_own)
        *ret_n_own = atomic_load(&ic->stale.n_own);
    return atomic_load(&ic->stale.n_changes);
}

void stale_note_own(struct ic *ic)
{
    atomic_fetch_add(&ic->stale.n_own, 1);
    atomic_fetch_add(&ic->stale.n_changes, 1);
}

/* The callee has the pages now. */
static void forget_pages(const GArray *list)
{
    for (guint i = 0; i < list->len; i++)
        g_array_index(list, struct ic_stale, i).pages = NULL;
}

static void tell(struct ic *ic, const GArray *list, bool wait)
{
    struct stale *stale = &ic->stale;

    if (list->len > 0)
        atomic_fetch_add(&stale->n_changes, 1);
    pthread_rwlock_rdlock(&stale->lock);
    if (stale->tell && (list->len > 0 || wait)) {
        stale->tell((const struct ic_stale *)(const void *)list->data,
                    list->len, wait, stale->opaque);
        forget_pages(list);
    }
    pthread_rwlock_unlock(&stale->lock);
}

/* ---- changes by a rollback ----------------------------------------------- */

static void mark_entry(struct ic *ic, const struct survey_entry *entry)
{
    struct ic_inode *inode = inode_table_find(ic->inodes, ic->dev,
                                              entry->st.st_ino);

    if (inode)
        inode_note_suspect(inode);
    ic_inode_unhold(inode);
}

static void mark_entries(struct ic *ic, const GPtrArray *entries)
{
    for (guint i = 0; i < entries->len; i++)
        mark_entry(ic, g_ptr_array_index(entries, i));
}

/* Mark the inodes that the step's names led to before, and those below them:
 * the rollback may have put them aside. */
static void mark_removed(struct ic *ic, const struct survey *survey)
{
    GHashTableIter iter;
    gpointer value;

    g_hash_table_iter_init(&iter, survey->bindings);
    while (g_hash_table_iter_next(&iter, NULL, &value))
        mark_entry(ic, value);
    mark_entries(ic, survey->created);
    mark_entries(ic, survey->foreign);
}

static struct ic_inode *find_now(struct ic *ic, const struct step_inode *inode)
{
    return inode_table_find(ic->inodes, ic->dev,
                            inode->flags & STEP_RETIRED ? inode->now
                                                        : inode->ino);
}

static uint64_t tag_now(struct ic *ic, const struct step_inode *step_inode)
{
    struct ic_inode *inode = find_now(ic, step_inode);
    uint64_t tag = inode ? ic_inode_tag(inode) : 0;

    ic_inode_unhold(inode);
    return tag;
}

static void add_tag(GArray *list, uint64_t tag)
{
    struct ic_stale item = { .inode = tag };

    if (tag != 0)
        g_array_append_val(list, item);
}

/* Add a name, with the folder's attributes: its times have changed as well. */
static void add_name(GArray *list, const struct ic_stale *item)
{
    g_array_append_vals(list, item, 1);
    add_tag(list, item->dir);
}

/* Set the inode that the name led to before. If another name still leads to it,
 * only its link count and ctime have changed. */
static void fill_former(struct ic *ic, const struct survey_entry *entry,
                        struct ic_stale *item)
{
    struct ic_inode *inode = entry ? inode_table_find(ic->inodes, ic->dev,
                                                      entry->st.st_ino)
                                   : NULL;

    if (inode) {
        item->inode = ic_inode_tag(inode);
        item->removed = item->inode != 0 && !S_ISDIR(inode->type) &&
                        inode_is_gone(inode);
    }
    ic_inode_unhold(inode);
}

static void add_binding(struct ic *ic, const struct step_binding *binding,
                        const struct survey *survey)
{
    struct ic_stale item = { .dir = tag_now(ic, binding->dir) };

    /* The inode has its name, and so its link count, back. */
    if (binding->before)
        add_tag(ic->stale.list, tag_now(ic, binding->before));
    if (survey)
        fill_former(ic, g_hash_table_lookup(survey->bindings, binding), &item);
    if (item.dir != 0) {
        item.name = g_strdup(binding->name);
        add_name(ic->stale.list, &item);
    } else if (!item.removed) {
        add_tag(ic->stale.list, item.inode);
    }
}

static void add_names(struct ic *ic, const struct step *step,
                      const struct survey *survey)
{
    GHashTableIter iter;
    gpointer key;

    g_hash_table_iter_init(&iter, step->bindings);
    while (g_hash_table_iter_next(&iter, &key, NULL))
        add_binding(ic, key, survey);
}

/* The step made these; a process may be in one of its folders still, and have
 * their names in its cache. */
static void add_created(struct ic *ic, const struct survey *survey)
{
    for (guint i = 0; i < survey->created->len; i++) {
        const struct survey_entry *entry = g_ptr_array_index(survey->created,
                                                             i);
        struct ic_inode *dir = entry->dir
                                   ? inode_table_find(ic->inodes, ic->dev,
                                                      entry->dir->st.st_ino)
                                   : NULL;
        struct ic_stale item = { .dir = dir ? ic_inode_tag(dir) : 0 };

        ic_inode_unhold(dir);
        if (item.dir == 0)
            continue;
        fill_former(ic, entry, &item);
        item.name = g_strdup(entry->name);
        add_name(ic->stale.list, &item);
    }
}

/* hold: taken. With the gate write-locked. */
static void add_pages(struct ic *ic, struct ic_inode *hold)
{
    struct ic_stale item = { .inode = ic_inode_tag(hold), .pages = hold };

    inode_begin_stale_pages(hold, atomic_load(&ic->stale.n_undos));
    g_array_append_val(ic->stale.list, item);
}

static void add_inode(struct ic *ic, const struct step_inode *step_inode)
{
    struct ic_inode *inode;

    if (!(step_inode->flags & (STEP_DATA | STEP_META)))
        return;
    inode = find_now(ic, step_inode);
    if (inode && ic_inode_tag(inode) != 0 && ic->stale.drops_pages &&
        (step_inode->flags & STEP_DATA))
        add_pages(ic, g_steal_pointer(&inode));
    else if (inode)
        add_tag(ic->stale.list, ic_inode_tag(inode));
    ic_inode_unhold(inode);
}

static void add_inodes(struct ic *ic, const struct step *step)
{
    GHashTableIter iter;
    gpointer value;

    g_hash_table_iter_init(&iter, step->inodes);
    while (g_hash_table_iter_next(&iter, NULL, &value))
        add_inode(ic, value);
    for (guint i = 0; i < step->retired->len; i++)
        add_inode(ic, g_ptr_array_index(step->retired, i));
}

void stale_gather(struct ic *ic, const struct step *step,
                  const struct survey *survey)
{
    if (survey)
        mark_removed(ic, survey);
    if (!stale_is_wanted(ic))
        return;
    stale_note_own(ic);
    atomic_fetch_add(&ic->stale.n_undos, 1);
    add_names(ic, step, survey);
    if (survey)
        add_created(ic, survey);
    add_inodes(ic, step);
}

GArray *stale_take(struct ic *ic)
{
    GArray *list = ic->stale.list;

    if (list->len == 0)
        return NULL;
    ic->stale.list = new_list();
    return list;
}

void stale_tell(struct ic *ic, GArray *list)
{
    if (!list)
        return;
    tell(ic, list, true);
    g_array_unref(list);
}

void stale_flush(struct ic *ic)
{
    const struct ic_stale dirty = { .dirty = true };
    struct stale *stale = &ic->stale;

    if (parking_holds(&ic->parking) & (PARKING_DECISION | PARKING_DENIED))
        return; /* what the client writes would wait, too */
    pthread_rwlock_rdlock(&stale->lock);
    if (stale->tell)
        stale->tell(&dirty, 1, true, stale->opaque);
    pthread_rwlock_unlock(&stale->lock);
}

void stale_note_pages(struct ic *ic, struct ic_inode *inode)
{
    if (!ic->stale.drops_pages || ic_inode_tag(inode) == 0)
        return;
    pthread_rwlock_wrlock(&ic->gate);
    atomic_fetch_add(&ic->stale.n_undos, 1);
    add_pages(ic, ic_inode_hold(inode));
    pthread_rwlock_unlock(&ic->gate);
}

/* ---- changes by other processes ------------------------------------------ */

/* Open the parent folder of a path; *ret_name: the last component. Returns an
 * fd or -errno. */
static int open_folder(struct ic *ic, const char *path, const char **ret_name)
{
    enum { FLAGS = O_PATH | O_DIRECTORY | O_NOFOLLOW };
    fd_auto int at = sys_openat(ic->root->fd, ".", FLAGS, 0);
    const char *slash;

    for (; at >= 0 && (slash = strchr(path, '/')); path = slash + 1) {
        g_autofree char *name = g_strndup(path, (size_t)(slash - path));
        int next = sys_openat(at, name, FLAGS, 0);

        fd_close(&at);
        at = next;
    }
    *ret_name = path;
    return fd_steal(&at);
}

static struct ic_inode *find_known(struct ic *ic, const struct stat *st)
{
    return st->st_dev == ic->dev
               ? inode_table_find(ic->inodes, st->st_dev, st->st_ino)
               : NULL;
}

/* Set the inode that the name leads to now, or led to when it was last seen. */
static void fill_inode(struct ic *ic, const struct ic_inode *dir, int dirfd,
                       struct ic_stale *item)
{
    struct ic_inode *inode;
    struct stat st;

    if (sys_stat_name(dirfd, item->name, &st) == 0) {
        inode = find_known(ic, &st);
    } else {
        inode = inode_table_find_at(ic->inodes, dir, item->name);
        item->removed = inode && inode_is_gone(inode) && !S_ISDIR(inode->type);
        if (!item->removed)
            g_clear_pointer(&inode, ic_inode_unhold);
    }
    item->inode = inode ? ic_inode_tag(inode) : 0;
    ic_inode_unhold(inode);
}

static void add_path(struct ic *ic, const char *path, GArray *list)
{
    struct ic_stale item = { .inode = ic_inode_tag(ic->root) };
    fd_auto int fd = -1;
    struct ic_inode *dir;
    const char *name;
    struct stat st;

    if (strcmp(path, ".") == 0) {
        g_array_append_val(list, item);
        return;
    }
    fd = open_folder(ic, path, &name);
    dir = fd >= 0 && sys_stat_fd(fd, &st) == 0 ? find_known(ic, &st) : NULL;
    item.dir = dir ? ic_inode_tag(dir) : 0;
    if (item.dir != 0) {
        item.name = g_strdup(name);
        fill_inode(ic, dir, fd, &item);
        add_name(list, &item);
    }
    ic_inode_unhold(dir);
}

void stale_tell_paths(struct ic *ic, GPtrArray *paths, bool wait)
{
    g_autoptr(GArray) list = new_list();

    for (guint i = 0; i < paths->len; i++)
        add_path(ic, g_ptr_array_index(paths, i), list);
    tell(ic, list, wait);
}

void stale_tell_all(struct ic *ic, bool wait)
{
    g_autoptr(GArray) list = new_list();
    const struct ic_stale all = { .all = true };

    g_array_append_val(list, all);
    tell(ic, list, wait);
}

void stale_wait(struct ic *ic)
{
    g_autoptr(GArray) list = new_list();

    tell(ic, list, true);
}

void stale_tell_path(struct ic *ic, const char *path)
{
    g_autoptr(GPtrArray) paths = g_ptr_array_new();

    if (!stale_is_wanted(ic))
        return;
    g_ptr_array_add(paths, (char *)path);
    stale_tell_paths(ic, paths, true);
}
