/* SPDX-License-Identifier: Apache-2.0
 *
 * crash_ways - see crash_ways.h.
 */
#include "tests/crash/crash_ways.h"

#include <sys/stat.h>
#include <unistd.h>

#include "common/log.h"
#include "tests/crash/crash_random.h"
#include "tests/crash/crash_trees.h"

enum { MAX_FAILURES = 5 };

bool crash_goes_on(const struct crash *c)
{
    return c->failures < MAX_FAILURES;
}

unsigned crash_measure(struct crash *c)
{
    struct fault_plan none = { .action = FAULT_NONE };

    crash_round(c, &none, 1);
    if (!c->failures)
        g_test_message("%u points, %u looks", c->shared->points,
                       c->shared->looks);
    return c->shared->points;
}

unsigned crash_measure_recovery(struct crash *c, unsigned point)
{
    struct fault_plan plans[2] = { { FAULT_KILL_BEFORE, point },
                                   { .action = FAULT_NONE } };

    c->shared->points = c->shared->looks = c->shared->lists = 0;
    crash_round(c, plans, 2);
    return c->shared->points;
}

struct run {
    const struct crash_tree *tree;
    const struct crash_act *act;
    const struct world_backend *backend;
    const struct crash_way *way;
};

static unsigned tried;

static void run_test(gconstpointer data)
{
    const struct run *run = data;
    struct crash *c;

    if (run->backend->log_elsewhere && access("/dev/shm", W_OK) < 0) {
        g_test_skip("there is no /dev/shm");
        return;
    }
    c = crash_new(run->tree, run->act, run->backend);
    run->way->test(c);
    tried += c->tried;
    crash_free(c);
}

static bool is_wanted(const struct run *run)
{
    if (run->tree->sparse && !run->act->forgets)
        return false;
    if (run->way->scope == CRASH_ALL_TREES)
        return true;
    return !run->tree->only_killed &&
           (run->way->scope == CRASH_USUAL || run->act->fills);
}

static void add_acts(const struct crash_tree *tree,
                     const struct world_backend *backend,
                     const struct crash_way *way)
{
    for (size_t i = 0; i < crash_acts_count; i++) {
        struct run run = { tree, &crash_acts[i], backend, way };
        g_autofree char *path = g_strdup_printf("/crash/%s/%s/%s/%s", way->name,
                                                backend->name, tree->name,
                                                run.act->name);

        if (is_wanted(&run))
            g_test_add_data_func_full(path, g_memdup2(&run, sizeof(run)),
                                      run_test, g_free);
    }
}

int crash_main(int argc, char **argv, const struct crash_way *ways, size_t n,
               const struct world_backend *only)
{
    const struct world_backend *backends[] = { &world_folder,
                                               &world_folder_copy };
    int rc;

    umask(022);
    g_test_init(&argc, &argv, NULL);
    log_set_level(g_test_verbose() ? LOG_LEVEL_INFO : LOG_LEVEL_NONE);
    for (size_t i = 0; i < G_N_ELEMENTS(backends); i++) {
        for (size_t k = 0; k < n && (!only || only == backends[i]); k++) {
            for (size_t j = 0; j < crash_trees_count; j++)
                add_acts(&crash_trees[j], backends[i], &ways[k]);
            add_acts(&crash_random, backends[i], &ways[k]);
        }
    }
    rc = g_test_run();
    g_test_message("a fault was met in %u rounds", tried);
    return rc;
}
