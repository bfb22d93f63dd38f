/* SPDX-License-Identifier: Apache-2.0
 *
 * patch-test - git(1) applies the output of "stepback diff".
 *
 * It does so forwards and backwards, for random changes of every kind.
 *
 * The model's operations (model_make.h) run in steps, and the folder is copied
 * before and after each. When the engine has ended, the patch of each step must
 * turn one copy into the other, as far as git can express it: git knows files,
 * their x bit, and symlinks. Files that the patch leaves out, and those with
 * several names, are not compared.
 *
 * STEPBACK_PATCH_SEED=N runs that seed alone; STEPBACK_PATCH_SEEDS=N that many.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/json_bytes.h"
#include "interceptor/interceptor.h"
#include "tests/model/model_make.h"

enum { SEEDS = 2, STEPS = 30, OPS = 12, TEXT = 100 };

struct trial {
    struct world *w;
    GArray *ids; /* int64_t, of the steps; copies k and k + 1 are around it */
};

/* ---- making a history ---------------------------------------------------- */

static char *copy_path(const struct trial *t, guint number)
{
    return g_strdup_printf("%s/copy%u", t->w->base, number);
}

static void copy_tree(const char *a, const char *b)
{
    g_autofree char *from = g_shell_quote(a), *to = g_shell_quote(b);
    g_autofree char *command = g_strdup_printf("rm -rf %s && cp -a %s %s", to,
                                               from, to);

    g_assert_cmpint(system(command), ==, 0);
}

static void take_copy(const struct trial *t)
{
    g_autofree char *path = copy_path(t, t->ids->len);

    copy_tree(t->w->share, path);
}

/* Most content of the model has NULs, and git needs text. */
static void make_text(struct model_op *op)
{
    if (op->kind != MODEL_PUT || op->numbers[2] % 4 == 0)
        return;
    op->numbers[1] %= TEXT;
    op->numbers[2] = 0;
    op->numbers[3] = 1 + op->numbers[3] % 7;
}

/* No report has a file that is written through a handle whose name is gone, and
 * that has another name. */
static bool is_untold(const struct model_op *op)
{
    return op->kind == MODEL_HWRITE || op->kind == MODEL_HTRUNC;
}

static void change(struct model *m, struct maker *maker)
{
    for (int i = 0; i < OPS;) {
        struct model_op *op = maker_next(maker);

        if (!model_op_is_frame(op) && !is_untold(op)) {
            make_text(op);
            g_assert_true(model_run(m, op));
            i++;
        }
        model_op_free(op);
    }
}

/* Between steps the maker decides how long the next one is. */
static void begin_step(struct model *m, struct maker *maker)
{
    static const struct model_op open = { .kind = MODEL_STEP };
    bool decided = false;

    while (!decided) {
        struct model_op *op = maker_next(maker);

        decided = model_op_is_frame(op);
        model_op_free(op);
    }
    g_assert_true(model_run(m, &open));
}

static void make_history(struct trial *t, guint32 seed)
{
    static const struct model_op close = { .kind = MODEL_CLOSE };
    struct model *m = model_new(t->w);
    struct maker *maker = maker_new(m, seed);

    take_copy(t);
    for (int i = 0; i < STEPS; i++) {
        int64_t id;

        begin_step(m, maker);
        id = m->step;
        change(m, maker);
        g_assert_true(model_run(m, &close));
        if (m->steps->len > t->ids->len) {
            g_array_append_val(t->ids, id);
            take_copy(t);
        }
    }
    maker_free(maker);
    model_stop(m, false);
    model_free(m);
}

/* ---- trees as git sees them ---------------------------------------------- */

struct git_file {
    mode_t mode; /* 0: not represented in git */
    bool linked; /* it has other names */
    char *data;
    gsize len;
};

static void free_file(gpointer data)
{
    struct git_file *file = data;

    g_free(file->data);
    g_free(file);
}

static struct git_file *read_file(const char *path, const struct stat *st)
{
    struct git_file *file = g_new0(struct git_file, 1);

    file->linked = st->st_nlink > 1;
    if (!S_ISLNK(st->st_mode) && !S_ISREG(st->st_mode)) {
        return file;
    } else if (S_ISLNK(st->st_mode)) {
        file->mode = S_IFLNK;
        file->data = g_file_read_link(path, NULL);
        file->len = strlen(file->data);
    } else {
        file->mode = st->st_mode & 0100 ? 0100755 : 0100644;
        g_assert_true(g_file_get_contents(path, &file->data, &file->len, NULL));
    }
    return file;
}

static void read_tree(GHashTable *tree, const char *top, const char *below)
{
    g_autofree char *dir_path = g_build_filename(top, below, NULL);
    DIR *dir = opendir(dir_path);
    struct dirent *entry;

    g_assert_nonnull(dir);
    while ((entry = readdir(dir))) {
        g_autofree char *path = below ? g_strconcat(below, "/", entry->d_name,
                                                    NULL)
                                      : g_strdup(entry->d_name);
        g_autofree char *full = g_build_filename(top, path, NULL);
        struct stat st;

        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        g_assert_cmpint(lstat(full, &st), ==, 0);
        if (S_ISDIR(st.st_mode))
            read_tree(tree, top, path);
        else
            g_hash_table_insert(tree, g_steal_pointer(&path),
                                read_file(full, &st));
    }
    closedir(dir);
}

static GHashTable *tree_of(const char *top)
{
    GHashTable *tree = g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
                                             free_file);

    read_tree(tree, top, NULL);
    return tree;
}

static bool is_same(const struct git_file *a, const struct git_file *b)
{
    return a && b && a->mode == b->mode && a->len == b->len &&
           memcmp(a->data, b->data, a->len) == 0;
}

static void add_linked(GHashTable *loose, GHashTable *tree)
{
    GHashTableIter iter;
    gpointer path, file;

    g_hash_table_iter_init(&iter, tree);
    while (g_hash_table_iter_next(&iter, &path, &file)) {
        if (((const struct git_file *)file)->linked)
            g_hash_table_add(loose, g_strdup(path));
    }
}

/* Assert that b has everything in a, except what is loose. */
static void compare_trees(GHashTable *a, GHashTable *b, GHashTable *loose)
{
    GHashTableIter iter;
    gpointer path, file;

    g_hash_table_iter_init(&iter, a);
    while (g_hash_table_iter_next(&iter, &path, &file)) {
        if (((const struct git_file *)file)->mode == 0 ||
            g_hash_table_contains(loose, path) ||
            is_same(file, g_hash_table_lookup(b, path)))
            continue;
        g_test_message("'%s' is another one, or not there", (char *)path);
        g_test_fail();
    }
}

/* ---- patches ------------------------------------------------------------- */

/* Return the program's output: a new string, or NULL. It has no NUL. */
static char *run(const char *cwd, const char *const *argv)
{
    g_autofree char *out = NULL, *err = NULL;
    int status;

    g_assert_true(g_spawn_sync(cwd, (char **)argv, NULL, G_SPAWN_SEARCH_PATH,
                               NULL, NULL, &out, &err, &status, NULL));
    if (status == 0 && err[0] == '\0')
        return g_steal_pointer(&out);
    g_test_message("%s %s: %s%s", argv[0], argv[1], out, err);
    g_test_fail();
    return NULL;
}

static char *diff(const struct trial *t, int64_t id, bool json)
{
    g_autofree char *step = g_strdup_printf("%" G_GINT64_FORMAT, id);
    const char *const argv[] = {
        "./stepback", "diff",         "-C", t->w->share,
        "--undo-dir", t->w->undo_dir, step, json ? "--json" : NULL,
        NULL,
    };

    return run(NULL, argv);
}

static void add_loose(GHashTable *loose, json_t *file)
{
    static const char *const sides[] = { "before", "after" };
    bool left_out = false;

    for (size_t i = 0; i < G_N_ELEMENTS(sides); i++) {
        json_t *version = json_object_get(file, sides[i]);
        gsize len = 0;
        g_autofree char *data = json_bytes_get(version, "content", &len);

        mode_t mode = (mode_t)json_integer_value(
            json_object_get(version, "mode"));

        left_out |= (mode && !S_ISREG(mode) && !S_ISLNK(mode)) ||
                    json_is_true(json_object_get(version, "left_out")) ||
                    (data && memchr(data, '\0', len));
    }
    if (!left_out)
        return;
    g_hash_table_add(loose, json_bytes_get(file, "path", NULL));
    if (json_object_get(file, "from"))
        g_hash_table_add(loose, json_bytes_get(file, "from", NULL));
}

static GHashTable *find_loose(const struct trial *t, int64_t id)
{
    GHashTable *loose = g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
                                              NULL);
    g_autofree char *text = diff(t, id, true);
    json_t *answer = json_loads(text, 0, NULL), *file;
    size_t i;

    json_array_foreach(json_object_get(answer, "files"), i, file)
        add_loose(loose, file);
    json_decref(answer);
    return loose;
}

/* Return whether there is a file where the other tree has a directory, which
 * git can only remove if the patch has all its content. */
static bool is_blocked(GHashTable *files, const char *other)
{
    GHashTableIter iter;
    gpointer path;

    g_hash_table_iter_init(&iter, files);
    while (g_hash_table_iter_next(&iter, &path, NULL)) {
        g_autofree char *there = g_build_filename(other, path, NULL);
        struct stat st;

        if (lstat(there, &st) == 0 && S_ISDIR(st.st_mode))
            return true;
    }
    return false;
}

/* A symlink that cannot be followed, other than for a missing target, hides
 * from git that there is nothing at the paths behind it. */
static bool is_hidden(GHashTable *files, const char *top, const char *other)
{
    GHashTableIter iter;
    gpointer path;

    g_hash_table_iter_init(&iter, files);
    while (g_hash_table_iter_next(&iter, &path, NULL)) {
        g_autofree char *here = g_build_filename(top, path, NULL);
        g_autofree char *there = g_build_filename(other, path, NULL);
        struct stat st;

        if (stat(here, &st) < 0 && errno != ENOENT && lstat(there, &st) == 0 &&
            S_ISDIR(st.st_mode))
            return true;
    }
    return false;
}

static void apply(const struct trial *t, const char *patch, const char *from,
                  const char *to, bool back, GHashTable *loose)
{
    g_autofree char *work = g_build_filename(t->w->base, "work", NULL);
    g_autoptr(GHashTable) wanted = tree_of(to), had = tree_of(from);
    const char *argv[] = { "git",     "apply", "--whitespace=nowarn",
                           "--check", patch,   back ? "-R" : NULL,
                           NULL };
    g_autofree char *out = NULL;

    if (is_hidden(had, from, to))
        return;
    copy_tree(from, work);
    out = run(work, argv);
    if (is_blocked(wanted, from) || is_blocked(had, to))
        return;
    argv[3] = "--whitespace=nowarn";
    g_free(out);
    out = run(work, argv);
    add_linked(loose, had);
    add_linked(loose, wanted);
    if (out) {
        g_autoptr(GHashTable) now = tree_of(work);

        compare_trees(wanted, now, loose);
        compare_trees(now, wanted, loose);
    }
}

static void check_step(const struct trial *t, guint number)
{
    int64_t id = g_array_index(t->ids, int64_t, number);
    g_autofree char *path = g_build_filename(t->w->base, "patch", NULL);
    g_autofree char *before = copy_path(t, number);
    g_autofree char *after = copy_path(t, number + 1);
    g_autoptr(GHashTable) loose = find_loose(t, id);
    g_autofree char *patch = diff(t, id, false);

    if (!strstr(patch, "diff --git")) /* git finds no patch */
        return;
    g_assert_true(g_file_set_contents(path, patch, -1, NULL));
    apply(t, path, before, after, false, loose);
    apply(t, path, after, before, true, loose);
    if (g_test_failed())
        g_test_message("step %" G_GINT64_FORMAT ":\n%s", id, patch);
}

/* ---- the tests ----------------------------------------------------------- */

static void run_seed(const struct world_backend *backend, guint32 seed)
{
    struct trial t = { world_new(backend),
                       g_array_new(FALSE, FALSE, sizeof(int64_t)) };

    g_test_message("seed %u", seed);
    make_history(&t, seed);
    for (guint i = 0; i < t.ids->len && !g_test_failed(); i++)
        check_step(&t, i);
    g_assert_cmpuint(t.ids->len, >, STEPS / 2);
    g_array_unref(t.ids);
    world_free(t.w);
}

static void run_seeds(gconstpointer backend)
{
    const char *given = g_getenv("STEPBACK_PATCH_SEED");
    const char *count = g_getenv("STEPBACK_PATCH_SEEDS");
    guint32 first = given ? (guint32)atoi(given) : 1;
    guint32 seeds = given ? 1 : count ? (guint32)atoi(count) : SEEDS;

    for (guint32 i = 0; i < seeds && !g_test_failed(); i++)
        run_seed(backend, first + i);
}

int main(int argc, char **argv)
{
    umask(022);
    g_setenv("GIT_CONFIG_NOSYSTEM", "1", TRUE);
    g_setenv("GIT_CONFIG_GLOBAL", "/dev/null", TRUE);
    g_test_init(&argc, &argv, NULL);
    ic_set_log(g_test_verbose() ? 3 : 0, NULL);
    g_test_add_data_func("/patch/folder", &world_folder, run_seeds);
    g_test_add_data_func("/patch/folder-copy", &world_folder_copy, run_seeds);
    return g_test_run();
}
