/* SPDX-License-Identifier: Apache-2.0
 *
 * model-test - random operations in random steps, undone and compared.
 *
 * Each seed is a run of operations of all kinds, in many steps, with crashes,
 * restarts, aborts and undo in between (model_make.h); each rollback must leave
 * the tree that was there before (model_run.h). A run that fails is made as
 * short as possible (model_shrink.h) and printed as a script.
 *
 * STEPBACK_MODEL_SEEDS=N  that many seeds; STEPBACK_MODEL_SEED=N that one
 * STEPBACK_MODEL_OPS=N    operations per run
 * STEPBACK_MODEL_SCRIPT=F run the script in that file instead
 * STEPBACK_MODEL_SHRINK=N seconds to shorten a failure; 0: do not
 * STEPBACK_MODEL_TRACE=1  print each operation and its result
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "interceptor/interceptor.h"
#include "tests/model/model_child.h"
#include "tests/model/model_shrink.h"

enum { SEEDS = 4, LOCAL_SEEDS = 2, OPS = 2000, SHRINK_SECONDS = 300 };

static guint number_from(const char *name, guint otherwise)
{
    const char *text = g_getenv(name);

    return text ? (guint)strtoul(text, NULL, 10) : otherwise;
}

static bool fails(GPtrArray *ops, char **ret_failure, void *opaque)
{
    return !model_child_run(opaque, ops, 0, 0, ret_failure);
}

static void make_short(const struct world_backend *backend,
                       const struct model_result *result)
{
    guint seconds = number_from("STEPBACK_MODEL_SHRINK", SHRINK_SECONDS);
    guint before = result->ops->len, tries;

    if (seconds == 0)
        return;
    tries = model_shrink(result->ops, result->failure, seconds, fails,
                         (void *)backend);
    g_test_message("made %u operations of %u, in %u tries", result->ops->len,
                   before, tries);
}

static void report(const struct world_backend *backend,
                   const struct model_result *result)
{
    g_autofree char *text = NULL;

    g_test_message("%s", result->failure);
    make_short(backend, result);
    text = model_script_to_text(result->ops);
    g_test_message("a script that fails (STEPBACK_MODEL_SCRIPT=FILE):\n%s",
                   text);
    g_test_fail();
}

static void run_script(const struct world_backend *backend, const char *path)
{
    g_autofree char *text = NULL;
    g_autoptr(GError) error = NULL;
    struct model_result result = { 0 };

    g_file_get_contents(path, &text, NULL, &error);
    g_assert_no_error(error);
    result.ops = model_script_parse(text);
    if (!model_child_run(backend, result.ops, 0, 0, &result.failure))
        report(backend, &result);
    model_result_clear(&result);
}

static void run_seed(const struct world_backend *backend, guint32 seed)
{
    struct model_result result = { .ops = model_script_parse("") };
    guint ops = number_from("STEPBACK_MODEL_OPS", OPS);

    if (!model_child_run(backend, result.ops, seed, ops, &result.failure)) {
        g_test_message("seed %u: STEPBACK_MODEL_SEED=%u fails over %s", seed,
                       seed, backend->name);
        report(backend, &result);
    }
    model_result_clear(&result);
}

static void run_seeds(gconstpointer data)
{
    const struct world_backend *backend = data;
    const char *script = g_getenv("STEPBACK_MODEL_SCRIPT");
    guint count = number_from("STEPBACK_MODEL_SEEDS",
                              backend == &world_local ? LOCAL_SEEDS : SEEDS);
    guint only = number_from("STEPBACK_MODEL_SEED", 0);

    if (!model_child_can_run(backend)) {
        g_test_skip("this backend cannot run here");
        return;
    }
    if (script) {
        run_script(backend, script);
        return;
    }
    if (only) {
        run_seed(backend, only);
        return;
    }
    for (guint32 seed = 1; seed <= count && !g_test_failed(); seed++)
        run_seed(backend, seed);
    g_test_message("%u seeds over %s", count, backend->name);
}

/* ---- scripts ------------------------------------------------------------- */

struct script {
    const struct world_backend *backend;
    char *path;
};

/* The parser skips a misspelt line without an error. */
static void check_lines(const char *path)
{
    g_autofree char *text = NULL;
    g_auto(GStrv) lines = NULL;
    g_autoptr(GPtrArray) ops = NULL;
    guint count = 0;

    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    lines = g_strsplit(text, "\n", -1);
    for (char **line = lines; *line; line++)
        count += **line != '\0' && **line != '#';
    ops = model_script_parse(text);
    g_assert_cmpuint(ops->len, ==, count);
}

static void run_committed(gconstpointer data)
{
    const struct script *script = data;

    check_lines(script->path);
    if (model_child_can_run(script->backend))
        run_script(script->backend, script->path);
    else
        g_test_skip("this backend cannot run here");
}

static void script_free(gpointer data)
{
    struct script *script = data;

    g_free(script->path);
    g_free(script);
}

static void add_script(const struct world_backend *backend, const char *dir,
                       const char *name)
{
    struct script *script = g_new0(struct script, 1);
    g_autofree char *test = g_strdup_printf("/model/%s/%s", backend->name,
                                            name);

    script->backend = backend;
    script->path = g_build_filename(dir, name, NULL);
    g_test_add_data_func_full(test, script, run_committed, script_free);
}

static int compare_names(gconstpointer a, gconstpointer b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void no_scripts(gconstpointer dir)
{
    g_test_message("there are no scripts in %s", (const char *)dir);
    g_test_fail();
}

/* Run earlier failures and likely ones, over each backend. */
static void add_scripts(const struct world_backend *const *backends,
                        size_t count)
{
    const char *srcdir = g_getenv("srcdir"); /* set by make check */
    g_autofree char *path = g_build_filename(srcdir ? srcdir : ".", "tests",
                                             "model", "model-scripts", NULL);
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    GDir *dir = g_dir_open(path, 0, NULL);
    const char *name;

    while (dir && (name = g_dir_read_name(dir))) {
        if (g_str_has_suffix(name, ".txt"))
            g_ptr_array_add(names, g_strdup(name));
    }
    if (dir)
        g_dir_close(dir);
    g_ptr_array_sort(names, compare_names);
    for (size_t b = 0; b < count; b++) {
        for (guint i = 0; i < names->len; i++)
            add_script(backends[b], path, g_ptr_array_index(names, i));
    }
    if (names->len == 0)
        g_test_add_data_func_full("/model/scripts", g_steal_pointer(&path),
                                  no_scripts, g_free);
}

/* ---- the shrinker -------------------------------------------------------- */

/* Fails with both of them; without the second it fails in another way, which
 * must not be followed. */
static bool planted(GPtrArray *ops, char **ret_failure, void *opaque)
{
    bool first = false, both = false;
    guint *runs = opaque;

    (*runs)++;
    for (guint i = 0; i < ops->len; i++) {
        const struct model_op *op = g_ptr_array_index(ops, i);

        if (op->kind == MODEL_RENAME && strcmp(op->names[0], "A") == 0)
            first = true;
        if (first && op->kind == MODEL_CHMOD && strcmp(op->names[0], "B") == 0)
            both = true;
    }
    if (first || both)
        *ret_failure = g_strdup(both ? "planted: here" : "another: there");
    return first || both;
}

/* Steps with unrelated changes, and those two. */
static GPtrArray *planted_script(void)
{
    g_autoptr(GString) text = g_string_new(NULL);

    for (int i = 0; i < 300; i++) {
        if (i % 20 == 0)
            g_string_append(text, i % 40 ? "close\n" : "step\n");
        if (i == 123)
            g_string_append(text, "rename \"A\" \"x\" 0\n");
        if (i == 251)
            g_string_append(text, "chmod \"B\" 420\n");
        g_string_append_printf(text, "mkdir \"%d\" 493\n", i);
    }
    return model_script_parse(text->str);
}

static void shrinks(void)
{
    guint runs[2] = { 0 }, tries[2];

    for (int i = 0; i < 2; i++) {
        g_autoptr(GPtrArray) ops = planted_script();
        g_autofree char *text = NULL;

        tries[i] = model_shrink(ops, "planted: here", 60, planted, &runs[i]);
        text = model_script_to_text(ops);
        g_assert_cmpstr(text, ==, "rename \"A\" \"x\" 0\nchmod \"B\" 420\n");
        g_assert_cmpuint(runs[i], ==, tries[i]);
    }
    g_assert_cmpuint(tries[0], ==, tries[1]);
    g_assert_cmpuint(tries[0], <, 300); /* by halves, not one by one */
}

/* A script that needs all of its operations is not shortened. */
static bool needs_all(GPtrArray *ops, char **ret_failure, void *opaque)
{
    const guint *all = opaque;

    if (ops->len == *all)
        *ret_failure = g_strdup("all: of them");
    return ops->len == *all;
}

static void shrinks_nothing(void)
{
    g_autoptr(GPtrArray) ops = planted_script();
    guint all = ops->len;

    model_shrink(ops, "all: of them", 60, needs_all, &all);
    g_assert_cmpuint(ops->len, ==, all);
}

int main(int argc, char **argv)
{
    const struct world_backend *const backends[] = {
        &world_folder, &world_folder_copy,
#ifndef __SANITIZE_THREAD__ /* it does not run in the daemons' sandbox */
        &world_mount,  &world_local,       &world_9p,
#endif
    };
    const bool one = g_getenv("STEPBACK_MODEL_SCRIPT") ||
                     g_getenv("STEPBACK_MODEL_SEED");

    umask(022);
    g_test_init(&argc, &argv, NULL);
    ic_set_log(g_test_verbose() ? 3 : 0, NULL);
    for (size_t b = 0; b < G_N_ELEMENTS(backends); b++) {
        g_autofree char *path = g_strdup_printf("/model/%s/seeds",
                                                backends[b]->name);

        g_test_add_data_func(path, backends[b], run_seeds);
    }
    if (!one)
        add_scripts(backends, G_N_ELEMENTS(backends));
    g_test_add_func("/model/shrink/planted", shrinks);
    g_test_add_func("/model/shrink/nothing", shrinks_nothing);
    return g_test_run();
}
