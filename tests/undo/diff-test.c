/* SPDX-License-Identifier: Apache-2.0
 *
 * diff-test - ic_diff() returns the file versions that really existed.
 *
 * After each step the folder is copied. Then every step's diff, also of old
 * steps through newer ones, is compared with the two copies around it.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/errors.h"
#include "common/json_bytes.h"
#include "tests/lib/world.h"

enum { BIG = 3 << 20 };

struct copies {
    struct world *w;
    GPtrArray *dirs; /* char *: dirs[k] is the folder after step k */
};

static void take_copy(struct copies *c)
{
    char *dir = g_strdup_printf("%s/copy%u", c->w->base, c->dirs->len);
    g_autofree char *command = g_strdup_printf("cp -a '%s' '%s'", c->w->share,
                                               dir);

    g_assert_cmpint(system(command), ==, 0);
    g_ptr_array_add(c->dirs, dir);
}

static void forget_copies(struct copies *c, guint count)
{
    while (count-- > 0) {
        g_autofree char *dir = g_ptr_array_steal_index(c->dirs,
                                                       c->dirs->len - 1);
        g_autofree char *command = g_strdup_printf("rm -rf '%s'", dir);

        g_assert_cmpint(system(command), ==, 0);
    }
}

/* ---- comparing ----------------------------------------------------------- */

static void compare_content(json_t *version, const char *path,
                            const struct stat *st)
{
    g_autofree char *told = NULL, *real = NULL;
    size_t told_len = 0, real_len = 0;

    if (S_ISLNK(st->st_mode)) {
        real = g_file_read_link(path, NULL);
        real_len = strlen(real);
    } else if (S_ISREG(st->st_mode)) {
        g_assert_true(g_file_get_contents(path, &real, &real_len, NULL));
    } else {
        g_assert_null(json_object_get(version, "content"));
        return;
    }
    if (json_is_true(json_object_get(version, "left_out"))) {
        g_assert_cmpint(st->st_size, >, 2 << 20);
        return;
    }
    told = json_bytes_get(version, "content", &told_len);
    g_assert_nonnull(told);
    g_assert_cmpmem(told, told_len, real, real_len);
}

/* name: the path in dir, a copy of the folder. */
static void compare(json_t *version, const char *dir, const char *name,
                    bool bare)
{
    g_autofree char *path = g_build_filename(dir, name, NULL);
    struct stat st;

    g_test_message("%s", path);
    g_assert_cmpint(lstat(path, &st), ==, 0);
    g_assert_cmpint(json_integer_value(json_object_get(version, "mode")), ==,
                    st.st_mode);
    if (bare)
        g_assert_null(json_object_get(version, "content"));
    else
        compare_content(version, path, &st);
}

/* Compare a file of a renamed directory, which is listed without content. */
static void compare_moved(const char *before, const char *old,
                          const char *after, const char *name)
{
    g_autofree char *a = g_build_filename(before, old, NULL);
    g_autofree char *b = g_build_filename(after, name, NULL);
    g_autofree char *command = g_strdup_printf("cmp -- '%s' '%s'", a, b);

    if (g_file_test(b, G_FILE_TEST_IS_REGULAR) &&
        !g_file_test(b, G_FILE_TEST_IS_SYMLINK))
        g_assert_cmpint(system(command), ==, 0);
}

static void compare_file(struct copies *c, guint step, json_t *file)
{
    const char *change = json_string_value(json_object_get(file, "change"));
    const char *last = g_ptr_array_index(c->dirs, step - 1);
    const char *next = g_ptr_array_index(c->dirs, step);
    g_autofree char *path = json_bytes_get(file, "path", NULL);
    g_autofree char *from = json_bytes_get(file, "from", NULL);
    json_t *before = json_object_get(file, "before");
    json_t *after = json_object_get(file, "after");
    bool bare = strcmp(change, "metadata") == 0 ||
                (from && !json_object_get(after, "content") &&
                 !json_object_get(after, "left_out"));

    if (strcmp(change, "created") == 0)
        g_assert_true(json_is_null(before));
    else
        compare(before, last, from ? from : path, bare);
    if (strcmp(change, "deleted") == 0)
        g_assert_true(json_is_null(after));
    else
        compare(after, next, path, bare);
    if (from && bare)
        compare_moved(last, from, next, path);
}

/* Get all parts of a step's diff: a new array. */
static json_t *get_diff(struct world *w, int64_t id)
{
    json_t *files = json_array(), *next = json_integer(0);

    while (json_is_integer(next)) {
        json_t *answer = world_request(
            w, "diff", json_pack("{s:I, s:O}", "step_id", id, "first", next));

        json_array_extend(files, json_object_get(answer, "files"));
        json_decref(next);
        next = json_incref(json_object_get(answer, "next"));
        json_decref(answer);
    }
    json_decref(next);
    return files;
}

static json_t *get_history(struct world *w)
{
    return world_request(w, "history", json_pack("{s:i}", "limit", 1000));
}

/* Compare every step in the history; the newest is dirs[len - 1]. */
static guint compare_all(struct copies *c)
{
    json_t *history = get_history(c->w), *report;
    guint told = 0;
    size_t i;

    json_array_foreach(json_object_get(history, "steps"), i, report)
    {
        int64_t id = json_integer_value(json_object_get(report, "step_id"));
        json_t *files = get_diff(c->w, id), *file;
        size_t k;

        g_test_message("step %d", (int)id);
        json_array_foreach(files, k, file)
            compare_file(c, c->dirs->len - 1 - (guint)i, file);
        told += (guint)json_array_size(files);
        json_decref(files);
    }
    json_decref(history);
    return told;
}

static void begin(struct copies *c, struct world *w)
{
    c->w = w;
    c->dirs = g_ptr_array_new_with_free_func(g_free);
    take_copy(c);
}

static void end(struct copies *c)
{
    g_ptr_array_unref(c->dirs);
}

/* ---- the cases ----------------------------------------------------------- */

static void put(struct world *w, const char *path, int flags, const char *text,
                off_t offset)
{
    g_assert_cmpint(w->backend->put(w, path, flags, text, strlen(text), offset),
                    ==, 0);
}

static void ok(int rc)
{
    g_assert_cmpint(rc, ==, 0);
}

/* Each of these is a step. */
static void act_write(struct world *w)
{
    put(w, "dir/sub/file", 0, "middle", 100000);
    put(w, "new", O_CREAT, "new\n", 0);
}

static void act_rename_folder(struct world *w)
{
    ok(w->backend->rename(w, "dir", "moved", 0));
    put(w, "moved/sub/file", 0, "after the move", 5);
    ok(w->backend->chmod(w, "moved/sub", 0700));
}

static void act_replace(struct world *w)
{
    put(w, "temp", O_CREAT, "replaced\n", 0);
    ok(w->backend->rename(w, "temp", "file", 0));
    ok(w->backend->truncate(w, "moved/sub/file", 10));
}

static void act_names(struct world *w)
{
    ok(w->backend->link(w, "file", "file2"));
    ok(w->backend->unlink(w, "moved/sub/file"));
    ok(w->backend->unlink(w, "link"));
    ok(w->backend->symlink(w, "file", "link"));
}

static void act_reuse(struct world *w)
{
    put(w, "file2", 0, "by another name", 4);
    ok(w->backend->unlink(w, "file"));
    put(w, "moved/sub/file", O_CREAT, "an other file\n", 0);
}

static void act_grow(struct world *w)
{
    ok(w->backend->truncate(w, "moved/sub/file", 5));
    ok(w->backend->truncate(w, "moved/sub/file", 50));
    put(w, "moved/sub/file", 0, "x", 300000);
    ok(w->backend->truncate(w, "big", 10));
}

static void act_clear(struct world *w)
{
    ok(w->backend->unlink(w, "moved/sub/file"));
    ok(w->backend->rmdir(w, "moved/sub"));
    ok(w->backend->rename(w, "moved", "dir", 0));
    ok(w->backend->unlink(w, "big"));
    ok(w->backend->chmod(w, "new", 0755));
}

static void (*const acts[])(struct world *) = {
    act_write, act_rename_folder, act_replace, act_names,
    act_reuse, act_grow,          act_clear,
};

static void make_tree(struct world *w)
{
    g_autofree char *text = g_malloc(BIG + 1), *big, *target;

    memset(text, 'b', BIG);
    text[BIG] = '\0';
    world_host_dir(w, "dir/sub");
    world_host_file(w, "big", text);
    text[200000] = '\0';
    world_host_file(w, "dir/sub/file", text);
    world_host_file(w, "file", "old\n");
    target = world_host_path(w, "link");
    ok(symlink("\xff/nowhere", target));
    big = world_host_path(w, "big");
    ok(chmod(big, 0640));
}

static void run_acts(struct copies *c)
{
    for (size_t i = 0; i < G_N_ELEMENTS(acts); i++) {
        world_step(c->w);
        acts[i](c->w);
        world_end_step(c->w);
        take_copy(c);
    }
}

static void test_acts(gconstpointer data)
{
    world_auto struct world *w = world_new(data);
    struct copies c;

    make_tree(w);
    if (world_start(w)) {
        begin(&c, w);
        run_acts(&c);
        g_assert_cmpuint(compare_all(&c), >, 18);
        json_decref(world_undo(w, 4));
        forget_copies(&c, 4);
        compare_all(&c);
        json_decref(world_redo(w, 2));
        end(&c);
    }
}

/* After undo and redo a file may have another inode number. */
static void test_redone(gconstpointer data)
{
    world_auto struct world *w = world_new(data);
    struct copies c;

    make_tree(w);
    if (world_start(w)) {
        begin(&c, w);
        run_acts(&c);
        json_decref(world_undo(w, G_N_ELEMENTS(acts)));
        json_decref(world_redo(w, G_N_ELEMENTS(acts)));
        compare_all(&c);
        w->backend->kill(w);
        g_assert_true(world_start(w));
        compare_all(&c);
        end(&c);
    }
}

/* ---- at random ----------------------------------------------------------- */

enum { NAMES = 6, STEPS = 25, OPS = 8 };

static char *random_path(GRand *rand)
{
    static const char *const dirs[] = { "", "d0/", "d1/", "d0/d1/" };

    return g_strdup_printf("%s%c%d", dirs[g_rand_int_range(rand, 0, 4)],
                           g_rand_int_range(rand, 0, 3) ? 'f' : 'd',
                           g_rand_int_range(rand, 0, NAMES));
}

/* Operations may fail. */
static void random_op(struct world *w, GRand *rand)
{
    g_autofree char *a = random_path(rand), *b = random_path(rand);
    int offset = g_rand_int_range(rand, 0, 400000);

    switch (g_rand_int_range(rand, 0, 12)) {
    case 0:
        w->backend->mkdir(w, a, 0755);
        break;
    case 1:
        w->backend->unlink(w, a);
        break;
    case 2:
        w->backend->rmdir(w, a);
        break;
    case 3:
    case 4:
        w->backend->rename(w, a, b, 0);
        break;
    case 5:
        w->backend->rename(w, a, b, RENAME_EXCHANGE);
        break;
    case 6:
        w->backend->link(w, a, b);
        break;
    case 7:
        w->backend->truncate(w, a, offset);
        break;
    case 8:
        w->backend->symlink(w, b, a);
        break;
    default:
        w->backend->put(w, a, O_CREAT, b, strlen(b), offset);
    }
}

static void run_seed(const struct world_backend *backend, guint32 seed)
{
    world_auto struct world *w = world_new(backend);
    g_autoptr(GRand) rand = g_rand_new_with_seed(seed);
    struct copies c;

    world_host_dir(w, "d0/d1");
    world_host_dir(w, "d1");
    if (world_start(w)) {
        begin(&c, w);
        for (int step = 0; step < STEPS; step++) {
            guint count;

            world_step(w);
            count = world_history_count(w);
            for (int op = 0; op < OPS; op++)
                random_op(w, rand);
            world_end_step(w);
            if (world_history_count(w) > count)
                take_copy(&c);
        }
        g_test_message("seed %u", seed);
        compare_all(&c);
        end(&c);
    }
}

static void test_random(gconstpointer data)
{
    const char *given = g_getenv("STEPBACK_DIFF_SEED");
    const char *count = g_getenv("STEPBACK_DIFF_SEEDS");
    guint32 first = given ? (guint32)atoi(given) : 1;
    guint32 seeds = count ? (guint32)atoi(count) : 2;

    for (guint32 i = 0; i < seeds && !g_test_failed(); i++)
        run_seed(data, first + i);
}

/* ---- refusals ------------------------------------------------------------ */

static void test_refused(gconstpointer data)
{
    world_auto struct world *w = world_new(data);
    int64_t id;

    world_host_file(w, "file", "text");
    if (world_start(w)) {
        world_refused(w, "diff", json_pack("{s:i}", "step_id", 7),
                      ERROR_INVALID_FIELD);
        world_refused(w, "diff", json_object(), ERROR_MISSING_FIELD);
        id = world_step(w);
        put(w, "file", 0, "new", 0);
        world_refused(w, "diff", json_pack("{s:I}", "step_id", id),
                      ERROR_STEP_ACTIVE);
        world_end_step(w);
        world_refused(w, "diff",
                      json_pack("{s:I, s:i}", "step_id", id, "first", -1),
                      ERROR_INVALID_FIELD);
    }
}

static void add_world(const struct world_backend *backend)
{
    const struct {
        const char *name;
        void (*run)(gconstpointer);
    } tests[] = {
        { "versions-are-real", test_acts },
        { "versions-are-real-after-redo", test_redone },
        { "versions-are-real-at-random", test_random },
        { "refused", test_refused },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(tests); i++) {
        g_autofree char *path = g_strdup_printf("/diff/%s/%s", backend->name,
                                                tests[i].name);

        g_test_add_data_func(path, backend, tests[i].run);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    add_world(&world_folder);
    add_world(&world_folder_copy);
    add_world(&world_mount);
    return g_test_run();
}
