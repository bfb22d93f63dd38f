/* SPDX-License-Identifier: Apache-2.0
 *
 * diff_paths - see diff_paths.h.
 */
#include "interceptor/past/diff_paths.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "interceptor/past/past_content.h"

enum { BEFORE, AFTER, SIDES };

/* What a path named on one side of the step. */
struct side {
    enum { NOTHING, FILE_THERE, FOLDER } kind;
    bool symlink;
    bool written;                  /* in the step, under any name */
    uint64_t ino;                  /* 0: unknown */
    const struct step_inode *gone; /* past_node */
};

/* A path that may differ. */
struct place {
    char *path;
    bool reported;
    bool wanted[SIDES]; /* by the report: it exists, known or not */
    bool content, meta; /* what has changed by the report */
    bool looked_up;
    struct side sides[SIDES];
    struct place *from; /* borrowed; or NULL */
    bool moved;         /* another place's from refers to it */
    bool cut;           /* diff_path */
};

struct finder {
    const struct past *past;
    GHashTable *places; /* path (borrowed) -> owned struct place */
    GPtrArray *paths;   /* the result */
    bool cut;           /* a directory was not listed completely */
};

static void place_free(gpointer data)
{
    struct place *place = data;

    g_free(place->path);
    g_free(place);
}

static void path_free(gpointer data)
{
    struct diff_path *path = data;

    g_free(path->path);
    g_free(path->from);
    g_free(path);
}

static struct place *get_place(struct finder *f, const char *path)
{
    struct place *place = g_hash_table_lookup(f->places, path);

    if (place)
        return place;
    place = g_new0(struct place, 1);
    place->path = g_strdup(path);
    g_hash_table_insert(f->places, place->path, place);
    return place;
}

/* ---- looking up paths ---------------------------------------------------- */

/* If a path cannot be looked up, but exists by the report, return a file of
 * unknown state. */
static struct side look(struct finder *f, const char *path, unsigned level,
                        bool wanted)
{
    const struct step_inode *record;
    struct past_node node;
    struct side side = { .kind = NOTHING };
    mode_t mode;
    int64_t size;
    int rc = past_resolve(f->past, path, level, &node);

    if (rc < 0) {
        side.kind = wanted && rc != -ENOENT ? FILE_THERE : NOTHING;
        return side;
    }
    past_stat(f->past, &node, level, &mode, &size);
    side.kind = S_ISDIR(mode) ? FOLDER : FILE_THERE;
    side.symlink = S_ISLNK(mode);
    record = level == BEFORE ? past_record(f->past, &node, 0) : NULL;
    side.written = record && record->flags & STEP_DATA;
    side.ino = node.ino;
    side.gone = node.gone;
    past_node_clear(&node);
    return side;
}

static void look_up(struct finder *f, struct place *place)
{
    if (place->looked_up)
        return;
    place->looked_up = true;
    for (unsigned i = 0; i < SIDES; i++)
        place->sides[i] = look(f, place->path, i, place->wanted[i]);
}

static bool is_same(const struct side *a, const struct side *b)
{
    return a->ino && a->ino == b->ino && a->gone == b->gone;
}

/* ---- the report ---------------------------------------------------------- */

static void take_change(struct finder *f, const struct ic_change *change)
{
    struct place *place = get_place(f, change->path);

    place->reported = true;
    place->wanted[BEFORE] |= change->type != IC_CREATED &&
                             change->type != IC_RENAMED;
    place->wanted[AFTER] |= change->type != IC_DELETED;
    place->content |= change->type != IC_METADATA;
    place->meta |= change->type == IC_METADATA;
    if (change->from) {
        place = get_place(f, change->from);
        place->reported = place->wanted[BEFORE] = true;
    }
}

/* ---- folders that were renamed ------------------------------------------- */

static int list_folder(struct finder *f, const char *path, unsigned level,
                       GQueue *folders)
{
    g_autoptr(GHashTable) names = NULL;
    GHashTableIter iter;
    gpointer name;
    int rc = past_list(f->past, path, level, &names);

    if (rc < 0)
        return rc;
    g_hash_table_iter_init(&iter, names);
    while (g_hash_table_iter_next(&iter, &name, NULL)) {
        g_autofree char *full = g_strconcat(path, "/", name, NULL);
        struct place *place;

        if (strlen(full) >= PATH_MAX) /* such a change is not reported either */
            continue;
        place = get_place(f, full);
        look_up(f, place);
        if (place->sides[level].kind == FOLDER)
            g_queue_push_tail(folders, g_steal_pointer(&full));
        if (g_hash_table_size(f->places) > DIFF_MAX_PATHS)
            return -E2BIG;
    }
    return 0;
}

static int list_tree(struct finder *f, const char *top, unsigned level)
{
    GQueue folders = G_QUEUE_INIT;
    int rc = 0;

    g_queue_push_tail(&folders, g_strdup(top));
    while (rc == 0 && !g_queue_is_empty(&folders)) {
        g_autofree char *path = g_queue_pop_head(&folders);

        rc = list_folder(f, path, level, &folders);
        if (rc == -ENOENT || rc == -ESTALE || rc == -EACCES)
            rc = 0; /* the directory's content is unknown */
    }
    g_queue_clear_full(&folders, g_free);
    return rc;
}

/* A renamed directory has a change of its own; its content has none. */
static int take_folder(struct finder *f, const struct ic_change *change)
{
    struct place *place = get_place(f, change->path);
    int rc;

    look_up(f, place);
    if (!change->from || place->sides[AFTER].kind != FOLDER)
        return 0;
    rc = list_tree(f, change->path, AFTER);
    if (rc == 0)
        rc = list_tree(f, change->from, BEFORE);
    place->cut = rc == -E2BIG;
    f->cut |= place->cut;
    return place->cut ? 0 : rc;
}

/* ---- the result ---------------------------------------------------------- */

static struct diff_path *tell(struct finder *f, enum ic_change_type type,
                              const char *path, const char *from)
{
    struct diff_path *told = g_new0(struct diff_path, 1);

    told->type = type;
    told->path = g_strdup(path);
    told->from = g_strdup(from);
    g_ptr_array_add(f->paths, told);
    return told;
}

static guint hash_side(gconstpointer key)
{
    const struct side *side = key;

    return (guint)(side->ino ^ side->ino >> 32) ^ g_direct_hash(side->gone);
}

static gboolean equal_sides(gconstpointer a, gconstpointer b)
{
    return is_same(a, b);
}

/* Return whether there is a file (or directory) on this side and none on the
 * other. */
static bool is_alone(const struct place *place, unsigned side)
{
    return place->sides[side].kind != NOTHING &&
           place->sides[side].kind != place->sides[!side].kind;
}

/* Find renames, also of a file with several names of which one was renamed and
 * the others are gone. */
static void pair(GPtrArray *places)
{
    g_autoptr(GHashTable) left = g_hash_table_new(hash_side, equal_sides);

    for (guint i = places->len; i-- > 0;) {
        struct place *place = g_ptr_array_index(places, i);

        if (is_alone(place, BEFORE) && place->sides[BEFORE].ino)
            g_hash_table_insert(left, &place->sides[BEFORE], place);
    }
    for (guint i = 0; i < places->len; i++) {
        struct place *place = g_ptr_array_index(places, i);

        if (!is_alone(place, AFTER))
            continue;
        place->from = g_hash_table_lookup(left, &place->sides[AFTER]);
        if (place->from) {
            place->from->moved = true;
            g_hash_table_remove(left, &place->sides[AFTER]);
        }
    }
}

static void tell_file(struct finder *f, const struct place *place)
{
    const struct side *was = &place->sides[BEFORE];
    const struct side *is = &place->sides[AFTER];
    bool here = was->kind == FILE_THERE && is->kind == FILE_THERE;

    if (here && (place->content || was->written || !is_same(was, is)))
        tell(f, IC_MODIFIED, place->path, NULL);
    else if (here && place->meta)
        tell(f, IC_METADATA, place->path, NULL)->mode_only = true;
    if (here)
        return;
    if (was->kind == FILE_THERE && !place->moved)
        tell(f, IC_DELETED, place->path, NULL);
    if (is->kind == FILE_THERE && place->from)
        tell(f, IC_RENAMED, place->path, place->from->path)->mode_only =
            !place->content && !is->symlink &&
            !place->from->sides[BEFORE].written;
    else if (is->kind == FILE_THERE)
        tell(f, IC_CREATED, place->path, NULL);
}

/* A directory has no content: it has a change of its own, or none. One that
 * replaced a file, or was replaced by one, was created or removed. */
static void tell_folder(struct finder *f, const struct ic_change *change)
{
    const struct place *place = get_place(f, change->path);
    bool was = place->sides[BEFORE].kind == FOLDER;
    bool is = place->sides[AFTER].kind == FOLDER;
    enum ic_change_type type = change->type;
    const char *from = change->from;
    struct diff_path *told;

    if (type == IC_MODIFIED || type == IC_METADATA) {
        if (is && !was && place->from)
            from = place->from->path; /* a directory above it was renamed */
        type = was && is ? type
               : from    ? IC_RENAMED
               : is      ? IC_CREATED
                         : IC_DELETED;
    }
    if (type == IC_DELETED ? !was : !is)
        return;
    told = tell(f, type, change->path, from);
    told->mode_only = true;
    told->cut = place->cut;
}

static int compare_places(gconstpointer a, gconstpointer b)
{
    const struct place *x = *(struct place *const *)a;
    const struct place *y = *(struct place *const *)b;

    return strcmp(x->path, y->path);
}

static int compare_paths(gconstpointer a, gconstpointer b)
{
    const struct diff_path *x = *(struct diff_path *const *)a;
    const struct diff_path *y = *(struct diff_path *const *)b;
    int order = strcmp(x->path, y->path);

    return order ? order : (int)x->type - (int)y->type;
}

static GPtrArray *sort_places(struct finder *f)
{
    GPtrArray *places = g_ptr_array_new();
    GHashTableIter iter;
    gpointer place;

    g_hash_table_iter_init(&iter, f->places);
    while (g_hash_table_iter_next(&iter, NULL, &place))
        g_ptr_array_add(places, place);
    g_ptr_array_sort(places, compare_places);
    return places;
}

int diff_paths_find(const struct past *past, const GPtrArray *changes,
                    GPtrArray **ret_paths)
{
    g_autoptr(GHashTable) table = g_hash_table_new_full(g_str_hash, g_str_equal,
                                                        NULL, place_free);
    g_autoptr(GPtrArray) paths = g_ptr_array_new_with_free_func(path_free);
    g_autoptr(GPtrArray) places = NULL;
    struct finder f = { past, table, paths, false };
    int rc = 0;

    for (guint i = 0; i < changes->len; i++)
        take_change(&f, g_ptr_array_index(changes, i));
    for (guint i = 0; rc == 0 && i < changes->len; i++)
        rc = take_folder(&f, g_ptr_array_index(changes, i));
    if (rc < 0)
        return rc;
    places = sort_places(&f);
    for (guint i = 0; i < places->len; i++)
        look_up(&f, g_ptr_array_index(places, i));
    pair(places);
    for (guint i = 0; i < changes->len; i++)
        tell_folder(&f, g_ptr_array_index(changes, i));
    for (guint i = 0; i < places->len; i++) {
        const struct place *place = g_ptr_array_index(places, i);

        if (place->reported || !f.cut) /* part of a directory is useless */
            tell_file(&f, place);
    }
    g_ptr_array_sort(paths, compare_paths);
    *ret_paths = g_steal_pointer(&paths);
    return 0;
}
