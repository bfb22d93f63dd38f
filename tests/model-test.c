/* SPDX-License-Identifier: Apache-2.0
 *
 * model-test - random operations in random steps, undone and compared.
 *
 * Each seed is a run of operations of all kinds, in many steps, with crashes,
 * restarts, aborts and undo in between (model_make.h); whatever is taken back
 * must leave the tree that was there before (model_run.h). A run that fails is
 * made as short as it can be (model_shrink.h) and printed as a script.
 *
 * STEPBACK_MODEL_SEEDS=N  that many seeds; STEPBACK_MODEL_SEED=N that one
 * STEPBACK_MODEL_OPS=N    operations a run
 * STEPBACK_MODEL_SCRIPT=F run what is in that file instead
 * STEPBACK_MODEL_SHRINK=N seconds for making a failure short; 0: do not
 * STEPBACK_MODEL_TRACE=1  print each operation and what it returned
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "interceptor/interceptor.h"
#include "tests/model_child.h"
#include "tests/model_shrink.h"

enum { SEEDS = 4, OPS = 2000, SHRINK_SECONDS = 300 };

static guint number_from(const char *name, guint otherwise)
{
    const char *text = g_getenv(name);

    return text ? (guint)strtoul(text, NULL, 10) : otherwise;
}

static void report(const struct world_backend *backend,
                   const struct model_result *result)
{
    guint seconds = number_from("STEPBACK_MODEL_SHRINK", SHRINK_SECONDS);
    g_autofree char *text = NULL;

    g_test_message("%s", result->failure);
    if (seconds > 0)
        model_shrink(backend, result->ops, result->failure, seconds);
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
    guint count = number_from("STEPBACK_MODEL_SEEDS", SEEDS);
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

int main(int argc, char **argv)
{
    umask(022);
    g_test_init(&argc, &argv, NULL);
    ic_set_log(g_test_verbose() ? 3 : 0, NULL);
    g_test_add_data_func("/model/folder", &world_folder, run_seeds);
    g_test_add_data_func("/model/folder-copy", &world_folder_copy, run_seeds);
    g_test_add_data_func("/model/mount", &world_mount, run_seeds);
    return g_test_run();
}
