/* SPDX-License-Identifier: Apache-2.0
 *
 * report - see report.h.
 */
#include "interceptor/report.h"

#include <limits.h>
#include <string.h>

#include "common/json_bytes.h"
#include "interceptor/sys.h"

static const char *const change_names[] = {
    [IC_CREATED] = "created",   [IC_MODIFIED] = "modified",
    [IC_DELETED] = "deleted",   [IC_RENAMED] = "renamed",
    [IC_METADATA] = "metadata",
};

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

static struct ic_step_info *info_new(const struct step *step)
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

/* ---- making -------------------------------------------------------------- */

struct reporter {
    struct step *step;
    const struct survey *survey;
    int blobs;
    struct ic_step_info *info;
    GHashTable *deleted; /* ic_change -> step_inode whose size is yet to be
                            found: only the changes that are listed need it */
};

/* Count a change. path (taken) may be NULL: longer than a system call takes.
 * Such are counted, but not named. */
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

/* The size of an inode's content before the step. */
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

/* A binding that names another inode than before, or none. */
static void report_binding(struct reporter *r, struct step_binding *binding)
{
    const struct survey_entry *now = g_hash_table_lookup(r->survey->bindings,
                                                         binding);
    struct step_inode *before = binding->before;
    const struct survey_entry *moved;
    g_autofree char *path = NULL;

    if (!before || (now && step_is_now(before, now->st.st_ino)))
        return; /* what is new is in survey->created */
    path = step_path_before(r->step, binding->dir, binding->name);
    moved = g_hash_table_lookup(r->survey->inodes, before);
    if (moved && before->names->len == 1) {
        struct ic_change *change = add(
            r, IC_RENAMED, path ? path_of(moved) : NULL, size_before(r, before),
            size_of(&moved->st));

        if (change)
            change->from = g_steal_pointer(&path);
    } else if (now && is_arrival_of_recorded(r, now)) {
        return; /* the rename onto this path is reported */
    } else if (now) {
        add(r, IC_MODIFIED, path_of(now), size_before(r, before),
            size_of(&now->st));
    } else {
        struct ic_change *change = add(r, IC_DELETED, g_steal_pointer(&path),
                                       -1, -1);

        if (change)
            g_hash_table_insert(r->deleted, change, before);
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

    if (inode->flags & STEP_DATA)
        add(r, IC_MODIFIED, path_of(now), inode->data_size, size_of(&now->st));
    else if (inode->flags & STEP_META && (now->meta_changed || mtime_is_own))
        add(r, IC_METADATA, path_of(now), size_of(&now->st), size_of(&now->st));
}

static int compare_changes(gconstpointer a, gconstpointer b)
{
    const struct ic_change *x = *(struct ic_change *const *)a;
    const struct ic_change *y = *(struct ic_change *const *)b;
    int order = strcmp(x->path, y->path);

    return order ? order : (int)x->type - (int)y->type;
}

/* The share's root has no path; "." stands for it. */
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

/* Is it in the place of something that is gone? That is reported as modified.
 */
static bool is_replacement(struct reporter *r,
                           const struct survey_entry *created)
{
    const struct step_binding *binding = created->binding;

    return binding && binding->before &&
           !g_hash_table_lookup(r->survey->inodes, binding->before);
}

static void report_created(struct reporter *r)
{
    for (guint i = 0; i < r->survey->created->len; i++) {
        const struct survey_entry *created = g_ptr_array_index(
            r->survey->created, i);

        if (!is_replacement(r, created))
            add(r, IC_CREATED, path_of(created), -1, size_of(&created->st));
    }
}

/* Paths may be long: a thousand of them must still fit a record of the log
 * (JOURNAL_MAX_LINE) with every byte escaped. */
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
                                 int blobs)
{
    g_autoptr(GHashTable) deleted = g_hash_table_new(NULL, NULL);
    struct reporter r = { step, survey, blobs, info_new(step), deleted };
    GHashTableIter iter;
    gpointer key, value;

    g_hash_table_iter_init(&iter, step->bindings);
    while (g_hash_table_iter_next(&iter, &key, NULL))
        report_binding(&r, key);
    report_created(&r);
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
    /* Content that was about to change counts as changed, since times are too
     * coarse to tell; also of a file that has no name in the tree. */
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

/* ---- JSON ---------------------------------------------------------------- */

static json_t *change_to_json(const struct ic_change *change)
{
    json_t *object = json_object();

    if (!json_bytes_is_text(change->path, strlen(change->path)) ||
        (change->from &&
         !json_bytes_is_text(change->from, strlen(change->from))))
        json_bytes_force_base64(object);
    json_bytes_set(object, "path", change->path, strlen(change->path));
    if (change->from)
        json_bytes_set(object, "from", change->from, strlen(change->from));
    json_object_set_new(object, "change",
                        json_string(change_names[change->type]));
    if (change->size_before >= 0)
        json_object_set_new(object, "size_before",
                            json_integer(change->size_before));
    if (change->size_after >= 0)
        json_object_set_new(object, "size_after",
                            json_integer(change->size_after));
    return object;
}

static json_t *changes_to_json(const struct ic_step_info *info)
{
    json_t *list = json_array();

    for (guint i = 0; i < info->changes->len; i++)
        json_array_append_new(
            list, change_to_json(g_ptr_array_index(info->changes, i)));
    return list;
}

static json_t *counts_to_json(const struct ic_step_info *info)
{
    json_t *counts = json_object();

    for (size_t i = 0; i < IC_CHANGE_TYPES; i++) {
        if (info->counts[i])
            json_object_set_new(counts, change_names[i],
                                json_integer((json_int_t)info->counts[i]));
    }
    return counts;
}

json_t *report_to_end_record(const struct ic_step_info *info)
{
    json_t *record = json_pack(
        "{s:s, s:i, s:I, s:I, s:o, s:o}", "t", "end", "exit", info->exit_code,
        "us", (json_int_t)info->ended_us, "affected",
        (json_int_t)info->affected, "counts", counts_to_json(info), "changes",
        changes_to_json(info));

    if (info->unprotected)
        json_object_set_new(record, "unprotected", json_true());
    return record;
}

static int64_t get_size(json_t *change, const char *key)
{
    json_t *member = json_object_get(change, key);

    return json_is_integer(member) ? json_integer_value(member) : -1;
}

static void change_from_json(struct ic_step_info *info, json_t *object)
{
    const char *name = json_string_value(json_object_get(object, "change"));
    char *path = json_bytes_get(object, "path", NULL);

    for (size_t i = 0; path && i < G_N_ELEMENTS(change_names); i++) {
        struct ic_change *change;

        if (g_strcmp0(name, change_names[i]) != 0)
            continue;
        change = g_new0(struct ic_change, 1);
        change->type = (enum ic_change_type)i;
        change->path = g_steal_pointer(&path);
        change->from = json_bytes_get(object, "from", NULL);
        change->size_before = get_size(object, "size_before");
        change->size_after = get_size(object, "size_after");
        g_ptr_array_add(info->changes, change);
    }
    g_free(path);
}

struct ic_step_info *report_from_step(const struct step *step)
{
    struct ic_step_info *info = info_new(step);
    json_t *changes = json_object_get(step->end, "changes");
    json_t *exit_code = json_object_get(step->end, "exit");
    json_t *change;
    size_t i;

    info->undoable = !step->unprotected;
    if (!step->end)
        return info;
    if (json_is_integer(exit_code))
        info->exit_code = (int)json_integer_value(exit_code);
    info->ended_us = json_integer_value(json_object_get(step->end, "us"));
    info->affected = (size_t)json_integer_value(
        json_object_get(step->end, "affected"));
    for (i = 0; i < IC_CHANGE_TYPES; i++)
        info->counts[i] = (size_t)json_integer_value(json_object_get(
            json_object_get(step->end, "counts"), change_names[i]));
    json_array_foreach(changes, i, change) change_from_json(info, change);
    return info;
}

struct ic_step_info *report_of_damaged(int64_t id)
{
    enum ic_step_type type = id < 0 ? IC_STEP_AMBIENT : IC_STEP_COMMAND;
    g_autoptr(step_auto) step = step_new(id, 0, type, NULL, 1);
    struct ic_step_info *info = report_from_step(step);

    info->started_us = info->ended_us = 0;
    info->undoable = false;
    info->damaged = true;
    return info;
}

json_t *report_time_to_json(int64_t us)
{
    g_autoptr(GDateTime) when = g_date_time_new_from_unix_utc(us / 1000000);
    g_autofree char *seconds = when ? g_date_time_format(when,
                                                         "%Y-%m-%dT%H:%M:%S")
                                    : g_strdup("?");

    return json_sprintf("%s.%06dZ", seconds, (int)(us % 1000000));
}

static void add_affected_path(json_t *list, GHashTable *seen, const char *path)
{
    size_t len = strlen(path);

    if (json_array_size(list) >= REPORT_MAX_CHANGES ||
        !g_hash_table_add(seen, (char *)path))
        return;
    if (json_bytes_is_text(path, len)) {
        json_array_append_new(list, json_string(path));
    } else {
        json_t *object = json_object();

        json_bytes_set(object, "path", path, len);
        json_array_append_new(list, object);
    }
}

static json_t *affected_paths(const struct ic_step_info *info)
{
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
    json_t *list = json_array();

    for (guint i = 0; i < info->changes->len; i++) {
        const struct ic_change *change = g_ptr_array_index(info->changes, i);

        if (change->from)
            add_affected_path(list, seen, change->from);
        add_affected_path(list, seen, change->path);
    }
    return list;
}

json_t *report_to_json(const struct ic_step_info *info)
{
    json_t *command = json_object();
    json_t *report;

    if (info->command)
        json_bytes_set(command, "command", info->command,
                       strlen(info->command));
    report = json_pack(
        "{s:I, s:s, s:i, s:o, s:o, s:I, s:b, s:o, s:I, s:o, s:o, s:b}",
        "step_id", (json_int_t)info->id, "type", step_type_name(info->type),
        "exit_code", info->exit_code, "started",
        report_time_to_json(info->started_us), "ended",
        report_time_to_json(info->ended_us), "duration_ms",
        (json_int_t)((info->ended_us - info->started_us) / 1000), "undoable",
        info->undoable, "affected_paths", affected_paths(info), "affected",
        (json_int_t)info->affected, "counts", counts_to_json(info), "changes",
        changes_to_json(info), "truncated",
        info->affected > info->changes->len);
    json_object_update_missing(report, command);
    if (info->unprotected)
        json_object_set_new(report, "unprotected", json_true());
    if (info->damaged)
        json_object_set_new(report, "damaged", json_true());
    json_decref(command);
    if (info->denied)
        json_object_update_new(
            report, json_pack("{s:b, s:s}", "aborted", 1, "reason", "denied"));
    return report;
}

json_t *report_list_to_json(const GPtrArray *infos)
{
    json_t *list = json_array();

    for (guint i = 0; i < infos->len; i++)
        json_array_append_new(list,
                              report_to_json(g_ptr_array_index(infos, i)));
    return list;
}
