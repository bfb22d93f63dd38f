/* SPDX-License-Identifier: Apache-2.0
 *
 * model_edit - see model_run.h: edits by another process.
 *
 * They are system calls of this process, past the engine: live, or while it
 * does not run. If the engine is in this process, its watcher takes the edits
 * for the engine's changes; then, and while it does not run, only comparison
 * finds them. The three kinds of edits differ in what the rules promise:
 *
 * new   A name that was never used. No step overlaps it, so comparison
 *       must not find it, and it stays whatever is undone.
 * step  What the newest step left: its rollback must be refused. With
 *       force all is as before it, except what it had only modified.
 * any   There is no promise about the results of older steps.
 *
 * A directory's mtime is restored: it would reveal the edit.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "tests/model/model_history.h"
#include "tests/model/model_tree.h"
#include "tests/lib/oracle.h"

enum { LARGE = 300000, ANY_TRUNCATE = 7, ANY_KINDS = 10 };

/* ---- edits --------------------------------------------------------------- */

static bool put(const char *full, int flags, size_t len)
{
    g_autofree char *data = g_strnfill(len, 'E');
    int fd = open(
        full, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | flags,
        0640);
    bool ok = fd >= 0 && write(fd, data, len) == (ssize_t)len;

    if (fd >= 0)
        close(fd);
    return ok;
}

/* Save as editors do. Over a directory this fails; a file that was made and
 * removed is an edit, too. */
static bool replace(const char *full)
{
    g_autofree char *dir = g_path_get_dirname(full);
    g_autofree char *other = g_build_filename(dir, ".outside-tmp", NULL);

    if (!put(other, O_EXCL, 5))
        return false;
    return rename(other, full) == 0 || unlink(other) == 0;
}

static bool make_folder(const char *full)
{
    g_autofree char *inner = g_build_filename(full, "inner", NULL);

    return mkdir(full, 0751) == 0 && put(inner, O_EXCL, 100);
}

static bool change_mode(const char *full)
{
    struct stat st;

    return lstat(full, &st) == 0 && !S_ISLNK(st.st_mode) &&
           chmod(full, (st.st_mode & 07777) ^ 0011) == 0;
}

static bool make_new(const char *full, int64_t kind)
{
    switch ((uint64_t)kind % 4) {
    case 0:
        return put(full, O_EXCL, 5);
    case 1:
        return make_folder(full);
    case 2:
        return symlink("nowhere", full) == 0;
    default:
        return put(full, O_EXCL, LARGE);
    }
}

static bool change_file(const char *full, int64_t kind)
{
    switch ((uint64_t)kind % 5) {
    case 0:
        return put(full, O_TRUNC, 6);
    case 1:
        return put(full, O_APPEND, 6);
    case 2:
        return change_mode(full);
    case 3:
        return unlink(full) == 0;
    default:
        return replace(full);
    }
}

/* Then a rename does nothing (rename(2)), and causes no event. */
static bool is_same(const char *full, const char *other)
{
    struct stat a, b;

    return lstat(full, &a) == 0 && lstat(other, &b) == 0 &&
           a.st_ino == b.st_ino;
}

static bool change_any(const char *full, const char *other, int64_t kind)
{
    struct stat st;

    switch ((uint64_t)kind % ANY_KINDS) {
    case 0:
        return !is_same(full, other) && rename(full, other) == 0;
    case 1:
        return !is_same(full, other) &&
               renameat2(AT_FDCWD, full, AT_FDCWD, other, RENAME_EXCHANGE) == 0;
    case 2:
        return remove(full) == 0;
    case 3:
        return mkdir(full, 0700) == 0;
    case 4:
        return link(full, other) == 0;
    case 5:
        return change_mode(full);
    case 6:
        return lstat(full, &st) == 0 && S_ISREG(st.st_mode) &&
               setxattr(full, "user.outside", "x", 1, 0) == 0;
    case ANY_TRUNCATE:
        return lstat(full, &st) == 0 && S_ISREG(st.st_mode) &&
               truncate(full, 200000) == 0;
    case 8:
        return replace(full);
    default:
        return lstat(full, &st) == 0 && S_ISREG(st.st_mode) &&
               put(full, 0, 1000);
    }
}

/* ---- common -------------------------------------------------------------- */

struct edit {
    struct model *m;
    const struct model_op *op;
    const char *path, *other; /* in the share */
    int64_t kind;
};

static bool carry_out(const struct edit *e)
{
    g_autofree char *full = world_host_path(e->m->w, e->path);
    g_autofree char *other = world_host_path(e->m->w, e->other ? e->other : "");
    g_autofree char *dir = g_path_get_dirname(full);
    struct stat st;
    bool had = stat(dir, &st) == 0, done;

    if (e->op->kind == MODEL_EDIT_NEW)
        done = make_new(full, e->kind);
    else if (e->op->kind == MODEL_EDIT_STEP)
        done = change_file(full, e->kind);
    else
        return change_any(full, other, e->kind);
    if (had && done) {
        struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, st.st_mtim };

        done = utimensat(AT_FDCWD, dir, times, 0) == 0;
    }
    return done;
}

/* All that a watcher sees becomes a barrier; an undo over it reports the
 * barrier. */
static void note_seen(struct model *m)
{
    guint64 order = ++m->last_order;

    g_array_append_val(m->barriers, order);
}

/* truncate(2) causes the same event as a write, for which the watcher waits for
 * the close. Only comparison finds it. */
static bool is_quiet(const struct edit *e)
{
    return e->op->kind == MODEL_EDIT_ANY &&
           (uint64_t)e->kind % ANY_KINDS == ANY_TRUNCATE;
}

static bool is_watched(const struct edit *e, enum model_when when)
{
    const struct world_backend *backend = e->m->w->backend;

    return when == MODEL_LIVE &&
           (backend == &world_mount || backend == &world_local ||
            backend == &world_9p) &&
           !is_quiet(e);
}

/* True if something changed; the tree is then read again. */
static bool run(const struct edit *e, enum model_when when)
{
    struct model *m = e->m;
    g_autoptr(GPtrArray) edited = NULL;
    bool done;

    if (when != MODEL_LIVE)
        model_stop(m, when == MODEL_KILLED);
    done = carry_out(e);
    model_forget_now(m);
    if (when != MODEL_LIVE) {
        edited = model_look(m);
        model_start(m);
        model_expect(m, "a start after an edit", edited, NULL);
        model_reset_limits(m);
    }
    if (done && is_watched(e, when))
        note_seen(m);
    model_history_sync(m,
                       MODEL_EVICTS_NONE); /* takes in the watcher's events */
    return done;
}

/* ---- a new name ---------------------------------------------------------- */

/* Each snapshot once, though steps share them. */
static void collect(GHashTable *trees, GPtrArray *steps)
{
    for (guint i = 0; i < steps->len; i++) {
        const struct model_step *step = g_ptr_array_index(steps, i);

        if (step->before)
            g_hash_table_add(trees, step->before);
        if (step->after)
            g_hash_table_add(trees, step->after);
    }
}

static GHashTable *known_trees(struct model *m)
{
    GHashTable *trees = g_hash_table_new(NULL, NULL);

    collect(trees, m->steps);
    collect(trees, m->redos);
    return trees;
}

static bool is_known(struct model *m, const char *path)
{
    g_autoptr(GHashTable) trees = known_trees(m);
    GHashTableIter iter;
    gpointer tree;

    g_hash_table_iter_init(&iter, trees);
    while (g_hash_table_iter_next(&iter, &tree, NULL)) {
        if (model_tree_find(tree, path))
            return true;
    }
    return false;
}

static void edit_new(struct edit *e, enum model_when when)
{
    g_autoptr(GHashTable) trees = NULL;
    g_autoptr(GPtrArray) now = NULL;
    GHashTableIter iter;
    gpointer tree;

    e->path = e->op->names[0];
    e->kind = e->op->numbers[0];
    if (strchr(e->path, '/') || is_known(e->m, e->path) || !run(e, when))
        return;
    now = model_look(e->m);
    trees = known_trees(e->m);
    g_hash_table_iter_init(&iter, trees);
    while (g_hash_table_iter_next(&iter, &tree, NULL))
        model_tree_add(tree, now, e->path);
}

/* ---- edits of what the newest step left ---------------------------------- */

/* Only files, with one name. */
static bool get_ino(struct model *m, const char *path, uint64_t *ret_ino)
{
    g_autofree char *full = world_host_path(m->w, path);
    struct stat st;

    if (lstat(full, &st) < 0 || !S_ISREG(st.st_mode) || st.st_nlink != 1)
        return false;
    *ret_ino = st.st_ino;
    return true;
}

static bool had_place(struct model *m, uint64_t ino)
{
    GHashTableIter iter;
    gpointer value;

    g_hash_table_iter_init(&iter, m->places);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        if (*(uint64_t *)value == ino)
            return true;
    }
    return false;
}

/* Return whether the path's directory is the one that it was. */
static bool is_folder_same(struct model *m, const char *path)
{
    g_autofree char *dir = g_path_get_dirname(path);
    g_autofree char *full = world_host_path(m->w, dir);
    const uint64_t *was = g_hash_table_lookup(m->places, dir);
    struct stat st;

    return was && lstat(full, &st) == 0 && st.st_ino == *was;
}

/* Return whether the file had another name in this tree. */
static bool is_linked(GPtrArray *tree, const char *path)
{
    g_autofree char *shown = g_strescape(path, NULL);
    g_autofree char *first = g_strdup_printf(" same-as:%s", shown);

    for (guint i = 0; i < tree->len; i++) {
        const char *line = g_ptr_array_index(tree, i);
        g_autofree char *at = model_tree_path(line);

        if (g_str_has_suffix(line, first) ||
            (strcmp(at, path) == 0 && strstr(line, " same-as:")))
            return true;
    }
    return false;
}

/* Certainly the step's: a file that it changed in place, or one that it made in
 * an existing directory. Not one with several names: the step may have changed
 * it under another (verify.h). */
static bool is_candidate(struct model *m, const struct model_step *step,
                         const char *line, const char *path)
{
    const char *before = model_tree_find(step->before, path);
    const uint64_t *was = g_hash_table_lookup(m->places, path);
    uint64_t ino;

    if (!get_ino(m, path, &ino))
        return false;
    if (before)
        return was && *was == ino && !is_linked(step->before, path) &&
               !model_tree_line_equal(before, line);
    return !had_place(m, ino) && is_folder_same(m, path);
}

static char *choose(struct model *m, const struct model_step *step,
                    int64_t number)
{
    g_autoptr(GPtrArray) paths = g_ptr_array_new_with_free_func(g_free);

    for (guint i = 1; i < step->after->len; i++) {
        const char *line = g_ptr_array_index(step->after, i);
        char *path = model_tree_path(line);

        if (is_candidate(m, step, line, path))
            g_ptr_array_add(paths, path);
        else
            g_free(path);
    }
    return paths->len == 0 ? NULL
                           : g_strdup(g_ptr_array_index(
                                 paths, (uint64_t)number % paths->len));
}

static void edit_step(struct edit *e, enum model_when when)
{
    struct model *m = e->m;
    struct model_step *step;
    g_autoptr(GPtrArray) now = NULL;
    g_autofree char *path = NULL, *diff = NULL;

    if (m->steps->len == 0 || m->redos->len > 0)
        return;
    step = g_ptr_array_index(m->steps, m->steps->len - 1);
    if (step->id != m->places_id || !step->before || !step->after ||
        step->unprotected || step->edited || step->unsure)
        return;
    now = model_look(m);
    diff = oracle_diff(step->after, now);
    path = diff ? NULL : choose(m, step, e->op->numbers[0]);
    if (!path)
        return;
    e->path = path;
    e->kind = e->op->numbers[1];
    if (m->trace)
        g_test_message("  edits %s", path);
    if (!run(e, when)) {
        model_fail(m, "edit-step: nothing was done\n");
        return;
    }
    step->edited = true;
    if (model_tree_find(step->before, path))
        step->loose = g_steal_pointer(&path);
    g_clear_pointer(&step->after, g_ptr_array_unref);
}

/* ---- arbitrary edits ----------------------------------------------------- */

static void edit_any(struct edit *e, enum model_when when)
{
    e->path = e->op->names[0];
    e->other = e->op->names[1];
    e->kind = e->op->numbers[0];
    if (e->path[0] == '\0' || e->other[0] == '\0')
        return;
    run(e, when);
    model_history_doubt(e->m->steps);
    model_history_doubt(e->m->redos);
}

void model_edit(struct model *m, const struct model_op *op)
{
    struct edit e = { .m = m, .op = op };
    enum model_when when = (enum model_when)(
        (uint64_t)op->numbers[op->kind == MODEL_EDIT_STEP ? 2 : 1] %
        MODEL_WHENS);

    if (m->step)
        return;
    model_end_ambient(m);
    if (op->kind == MODEL_EDIT_NEW)
        edit_new(&e, when);
    else if (op->kind == MODEL_EDIT_STEP)
        edit_step(&e, when);
    else
        edit_any(&e, when);
}
