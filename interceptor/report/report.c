/* SPDX-License-Identifier: Apache-2.0
 *
 * report - see report.h.
 */
#include "interceptor/report/report.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>

#include "common/fd.h"
#include "interceptor/sys/sys.h"

static void change_free(gpointer data)
{
    struct ic_change *change = data;

    g_free(change->path);
    g_free(change->from);
    g_free(change);
}

void ic_step_info_free(struct ic_step_info *info)
{
    if (!info)
        return;
    g_free(info->command);
    g_ptr_array_unref(info->changes);
    g_free(info);
}

struct ic_step_info *report_new(const struct step *step)
{
    struct ic_step_info *info = g_new0(struct ic_step_info, 1);

    info->id = step->id;
    info->type = step->type;
    info->command = g_strdup(step->command);
    info->exit_code = -1;
    info->unprotected = step->unprotected;
    info->started_us = info->ended_us = step->started_us;
    info->changes = g_ptr_array_new_with_free_func(change_free);
    return info;
}

/* ---- building ------------------------------------------------------------ */

struct reporter {
    struct step *step;
    const struct survey *survey;
    int blobs;
    bool redone;
    struct ic_step_info *info;
    GHashTable *deleted; /* ic_change -> step_inode with unknown size: only
                          * listed changes need it */
    GHashTable *targets; /* step_binding -> survey_entry: its new name */
    GHashTable *landed;  /* set of survey_entry: the values of targets */
    GPtrArray *links;    /* borrowed survey_entry: additional names */
};

/* Add the executions that changed an inode or a name; either may be NULL. */
static void add_writers(struct reporter *r, struct ic_change *change,
                        const struct step_binding *binding,
                        const struct step_inode *inode)
{
    struct step *step = r->step;
    bool found = false;

    if (!change || !step->writers)
        return;
    if (binding)
        found |= writers_read(step->writers, step->writers_table, &binding->by,
                              change->by, &change->n_by);
    if (inode)
        found |= writers_read(step->writers, step->writers_table, &inode->by,
                              change->by, &change->n_by);
    if (!found)
        change->by[change->n_by++] = 0;
}

/* The same for what an entry is now. */
static void add_writers_of(struct reporter *r, struct ic_change *change,
                           const struct survey_entry *now)
{
    add_writers(r, change, now->binding,
                step_find_inode(r->step, now->st.st_ino));
}

/* Count a change. path (ownership taken) may be NULL if it is longer than a
 * system call accepts: such a change is counted, but not listed. */
static struct ic_change *add(struct reporter *r, enum ic_change_type type,
                             char *path, int64_t before, int64_t after)
{
    struct ic_change *change;

    r->info->affected++;
    r->info->counts[type]++;
    if (!path)
        return NULL;
    change = g_new0(struct ic_change, 1);
    change->type = type;
    change->path = path;
    change->size_before = before;
    change->size_after = after;
    g_ptr_array_add(r->info->changes, change);
    return change;
}

static char *path_of(const struct survey_entry *entry)
{
    return entry->path_length < PATH_MAX ? survey_path(entry) : NULL;
}

static int64_t size_of(const struct stat *st)
{
    return S_ISREG(st->st_mode) ? st->st_size : -1;
}

/* Return the size of an inode's content before the step. */
static int64_t size_before(struct reporter *r, const struct step_inode *inode)
{
    const struct survey_entry *now = g_hash_table_lookup(r->survey->inodes,
                                                         inode);
    struct stat st;

    if (inode->flags & STEP_DATA)
        return inode->data_size;
    if (now)
        return size_of(&now->st);
    if (sys_stat_name(r->blobs, step_inode_blob(inode->ino).text, &st) == 0)
        return size_of(&st);
    return -1;
}

static bool is_arrival_of_recorded(struct reporter *r,
                                   const struct survey_entry *now)
{
    struct step_inode *inode = step_find_inode(r->step, now->st.st_ino);

    return inode && inode->names && !(inode->flags & STEP_CREATED);
}

/* ---- names of recorded inodes -------------------------------------------- */

/* An inode that lost names and gained others was renamed, one to one. Remaining
 * names were removed or made. */

static bool is_same(const struct step_inode *before,
                    const struct survey_entry *now)
{
    return before && now && step_is_now(before, now->st.st_ino);
}

static void note_name(struct reporter *r, GHashTable *names,
                      const struct survey_entry *now)
{
    struct step_inode *inode = step_find_inode(r->step, now->st.st_ino);
    GPtrArray *list;

    if (!is_arrival_of_recorded(r, now))
        return; /* survey->created has it */
    list = g_hash_table_lookup(names, inode);
    if (!list) {
        list = g_ptr_array_new();
        g_hash_table_insert(names, inode, list);
    }
    g_ptr_array_add(list, (gpointer)now);
}

static int compare_paths(gconstpointer a, gconstpointer b)
{
    const struct survey_entry *x = *(struct survey_entry *const *)a;
    const struct survey_entry *y = *(struct survey_entry *const *)b;
    g_autofree char *path_x = survey_path(x), *path_y = survey_path(y);

    return strcmp(path_x, path_y);
}

/* list: the new names of the inode. */
static void pair_names(struct reporter *r, const struct step_inode *inode,
                       GPtrArray *list)
{
    guint next = 0;

    g_ptr_array_sort(list, compare_paths);
    for (guint i = 0; i < inode->names->len && next < list->len; i++) {
        struct step_binding *binding = g_ptr_array_index(inode->names, i);

        if (!is_same(inode,
                     g_hash_table_lookup(r->survey->bindings, binding))) {
            gpointer target = g_ptr_array_index(list, next++);

            g_hash_table_insert(r->targets, binding, target);
            g_hash_table_add(r->landed, target);
        }
    }
    for (; next < list->len; next++)
        g_ptr_array_add(r->links, g_ptr_array_index(list, next));
}

static void find_new_names(struct reporter *r)
{
    g_autoptr(GHashTable) names = g_hash_table_new_full(
        NULL, NULL, NULL, (GDestroyNotify)g_ptr_array_unref);
    GHashTableIter iter;
    gpointer key, value;

    g_hash_table_iter_init(&iter, r->survey->bindings);
    while (g_hash_table_iter_next(&iter, &key, &value)) {
        const struct step_binding *binding = key;

        if (!is_same(binding->before, value))
            note_name(r, names, value);
    }
    for (guint i = 0; i < r->survey->arrivals->len; i++)
        note_name(r, names, g_ptr_array_index(r->survey->arrivals, i));
    g_hash_table_iter_init(&iter, names);
    while (g_hash_table_iter_next(&iter, &key, &value))
        pair_names(r, key, value);
}

/* Return whether the entry replaces one whose inode has no new name. */
static bool is_replacement(struct reporter *r, const struct survey_entry *now)
{
    const struct step_binding *binding = now->binding;

    return binding && binding->before &&
           !g_hash_table_contains(r->targets, binding);
}

static void report_links(struct reporter *r)
{
    for (guint i = 0; i < r->links->len; i++) {
        const struct survey_entry *now = g_ptr_array_index(r->links, i);

        if (is_replacement(r, now))
            add_writers_of(r,
                           add(r, IC_MODIFIED, path_of(now),
                               size_before(r, now->binding->before),
                               size_of(&now->st)),
                           now);
        else
            add_writers_of(
                r, add(r, IC_CREATED, path_of(now), -1, size_of(&now->st)),
                now);
    }
}

/* ---- what was changed ---------------------------------------------------- */

/* Report the former content of a folder that is in the log as a whole. */
static void report_inside(struct reporter *r, const struct step_inode *before,
                          const char *path)
{
    fd_auto int top = sys_openat(r->blobs, step_inode_blob(before->ino).text,
                                 O_PATH | O_DIRECTORY | O_NOFOLLOW, 0);
    g_autoptr(survey_auto) inside = top < 0 ? NULL : survey_folder(top);

    for (guint i = 0; inside && i < inside->created->len; i++) {
        const struct survey_entry *entry = g_ptr_array_index(inside->created,
                                                             i);
        char *full = NULL;

        if (path && strlen(path) + 1 + entry->path_length < PATH_MAX) {
            g_autofree char *below = survey_path(entry);

            full = g_strdup_printf("%s/%s", path, below);
        }
        add(r, IC_DELETED, full, size_of(&entry->st), -1);
    }
}

/* Report a binding that names another inode than before, or none. */
static void report_binding(struct reporter *r, struct step_binding *binding)
{
    const struct survey_entry *now = g_hash_table_lookup(r->survey->bindings,
                                                         binding);
    struct step_inode *before = binding->before;
    const struct survey_entry *target;
    g_autofree char *path = NULL;

    if (!before || is_same(before, now))
        return; /* new inodes are in survey->created */
    path = step_path_before(r->step, binding->dir, binding->name);
    target = g_hash_table_lookup(r->targets, binding);
    if (r->redone && !g_hash_table_contains(r->survey->inodes, before))
        report_inside(r, before, path);
    if (target) {
        struct ic_change *change = add(
            r, IC_RENAMED, path ? path_of(target) : NULL,
            size_before(r, before), size_of(&target->st));

        if (change)
            change->from = g_steal_pointer(&path);
        add_writers(r, change, binding, NULL);
    } else if (now && !g_hash_table_contains(r->landed, now)) {
        if (!is_arrival_of_recorded(r, now)) /* else see report_links() */
            add_writers_of(r,
                           add(r, IC_MODIFIED, path_of(now),
                               size_before(r, before), size_of(&now->st)),
                           now);
    } else { /* a rename onto this path reports the new inode, not the old */
        struct ic_change *change = add(r, IC_DELETED, g_steal_pointer(&path),
                                       -1, -1);

        if (change)
            g_hash_table_insert(r->deleted, change, before);
        add_writers(r, change, binding, NULL);
    }
}

static void find_deleted_sizes(struct reporter *r)
{
    for (guint i = 0; i < r->info->changes->len; i++) {
        struct ic_change *change = g_ptr_array_index(r->info->changes, i);
        const struct step_inode *before = g_hash_table_lookup(r->deleted,
                                                              change);

        if (before)
            change->size_before = size_before(r, before);
    }
}

static void report_inode(struct reporter *r, const struct step_inode *inode,
                         const struct survey_entry *now)
{
    bool mtime_is_own = !inode->bindings && now->mtime_changed;

    if (inode->flags & STEP_DATA && !(inode->flags & STEP_UNWRITTEN))
        add_writers(r,
                    add(r, IC_MODIFIED, path_of(now), inode->data_size,
                        size_of(&now->st)),
                    NULL, inode);
    else if (inode->flags & STEP_META && (now->meta_changed || mtime_is_own))
        add_writers(r,
                    add(r, IC_METADATA, path_of(now), size_of(&now->st),
                        size_of(&now->st)),
                    NULL, inode);
}

static int compare_changes(gconstpointer a, gconstpointer b)
{
    const struct ic_change *x = *(struct ic_change *const *)a;
    const struct ic_change *y = *(struct ic_change *const *)b;
    int order = strcmp(x->path, y->path);

    return order ? order : (int)x->type - (int)y->type;
}

/* The share's root has an empty path; "." stands for it. */
static void name_root(struct ic_step_info *info)
{
    for (guint i = 0; i < info->changes->len; i++) {
        struct ic_change *change = g_ptr_array_index(info->changes, i);

        if (change->path[0] == '\0') {
            g_free(change->path);
            change->path = g_strdup(".");
        }
    }
}

static void report_created(struct reporter *r)
{
    for (guint i = 0; i < r->survey->created->len; i++) {
        const struct survey_entry *created = g_ptr_array_index(
            r->survey->created, i);

        if (!is_replacement(r, created)) /* a replacement counts as modified */
            add_writers_of(
                r,
                add(r, IC_CREATED, path_of(created), -1, size_of(&created->st)),
                created);
    }
}

/* Paths may be long: a thousand of them must fit a log record
 * (JOURNAL_MAX_LINE) even if every byte is escaped. */
static guint changes_that_fit(const struct ic_step_info *info)
{
    guint count = MIN(info->changes->len, REPORT_MAX_CHANGES);
    size_t bytes = 0;

    for (guint i = 0; i < count; i++) {
        const struct ic_change *change = g_ptr_array_index(info->changes, i);

        bytes += strlen(change->path);
        bytes += change->from ? strlen(change->from) : 0;
        if (bytes > REPORT_MAX_BYTES)
            return i;
    }
    return count;
}

struct ic_step_info *report_make(struct step *step, const struct survey *survey,
                                 int blobs, bool redone)
{
    g_autoptr(GHashTable) deleted = g_hash_table_new(NULL, NULL);
    g_autoptr(GHashTable) targets = g_hash_table_new(NULL, NULL);
    g_autoptr(GHashTable) landed = g_hash_table_new(NULL, NULL);
    g_autoptr(GPtrArray) links = g_ptr_array_new();
    struct reporter r = { step,    survey,  blobs,  redone, report_new(step),
                          deleted, targets, landed, links };
    GHashTableIter iter;
    gpointer key, value;

    find_new_names(&r);
    g_hash_table_iter_init(&iter, step->bindings);
    while (g_hash_table_iter_next(&iter, &key, NULL))
        report_binding(&r, key);
    report_created(&r);
    report_links(&r);
    g_hash_table_iter_init(&iter, survey->inodes);
    while (g_hash_table_iter_next(&iter, &key, &value))
        report_inode(&r, key, value);
    name_root(r.info);
    g_ptr_array_sort(r.info->changes, compare_changes);
    r.info->undoable = step->records > 0;
    g_ptr_array_set_size(r.info->changes, (gint)changes_that_fit(r.info));
    find_deleted_sizes(&r);
    return r.info;
}

bool report_is_nothing(const struct step *step, const struct survey *survey,
                       const struct ic_step_info *info)
{
    GHashTableIter iter;
    gpointer value;

    if (info->affected > 0 || step->retired->len > 0)
        return false;
    /* Saved content counts as a change, since times are too coarse to rule it
     * out; also for a file without a name in the tree. */
    g_hash_table_iter_init(&iter, step->inodes);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        const struct step_inode *inode = value;

        if (inode->flags & (STEP_DATA | STEP_KEPT))
            return false;
    }
    g_hash_table_iter_init(&iter, survey->inodes);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        const struct survey_entry *now = value;

        if (now->meta_changed || now->mtime_changed)
            return false;
    }
    return true;
}

void report_copy_by(struct ic_step_info *info, const struct ic_step_info *from)
{
    g_autoptr(GHashTable) known = g_hash_table_new(g_str_hash, g_str_equal);

    for (guint i = 0; i < from->changes->len; i++) {
        struct ic_change *change = g_ptr_array_index(from->changes, i);

        g_hash_table_insert(known, change->path, change);
    }
    for (guint i = 0; i < info->changes->len; i++) {
        struct ic_change *change = g_ptr_array_index(info->changes, i);
        const struct ic_change *same = g_hash_table_lookup(known, change->path);

        if (!same)
            continue;
        memcpy(change->by, same->by, sizeof(change->by));
        change->n_by = same->n_by;
    }
}

/* ---- reversing ----------------------------------------------------------- */

static void turn_change(struct ic_change *change)
{
    int64_t size = change->size_before;

    change->size_before = change->size_after;
    change->size_after = size;
    if (change->type == IC_CREATED) {
        change->type = IC_DELETED;
    } else if (change->type == IC_DELETED) {
        change->type = IC_CREATED;
    } else if (change->type == IC_RENAMED) {
        char *path = change->path;

        change->path = change->from;
        change->from = path;
    }
}

void report_turn_round(struct ic_step_info *info)
{
    size_t created = info->counts[IC_CREATED];

    info->counts[IC_CREATED] = info->counts[IC_DELETED];
    info->counts[IC_DELETED] = created;
    for (guint i = 0; i < info->changes->len; i++)
        turn_change(g_ptr_array_index(info->changes, i));
}
