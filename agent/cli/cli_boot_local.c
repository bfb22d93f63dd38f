/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_boot_local - see cli_boot_local.h.
 *
 * The floor is bubblewrap with the same namespaces and a program that ends at
 * once, without folders, file servers and shim.
 */
#include "agent/cli/cli_boot_local.h"

#include <stdio.h>

#include "agent/cli/cli_place.h"
#include "agent/isolation/isolation.h"
#include "agent/local/local_check.h"
#include "agent/vm/boot_trial.h"
#include "common/errors.h"
#include "common/host_environ.h"
#include "common/host_program.h"

/* Durations of a trial, in us. */
enum part { MOUNTS, SERVERS, SHIM, TOTAL, FLOOR, PARTS };

static const struct {
    const char *text, *json;
} names[] = {
    [MOUNTS] = { "cgroup, namespaces and mounts", "mounts_us" },
    [SERVERS] = { "file servers", "daemons_us" },
    [SHIM] = { "bubblewrap and shim", "shim_us" },
    [TOTAL] = { "total", "total_us" },
    [FLOOR] = { "floor: bubblewrap alone, from start to end", "floor_us" },
};

struct trials {
    GArray *times[PARTS]; /* of gint64 */
};

static void note(struct trials *trials, enum part part, gint64 us)
{
    g_array_append_val(trials->times[part], us);
}

static gboolean run_floor(struct trials *trials, const char *bwrap,
                          const char *program, GError **error)
{
    const char *const argv[] = {
        bwrap,   "--unshare-all", "--ro-bind", "/",    "/",  "--proc", "/proc",
        "--dev", "/dev",          "--tmpfs",   "/tmp", "--", program,  NULL,
    };
    g_auto(GStrv) env = host_environ_new(NULL);
    gint64 start = g_get_monotonic_time();
    int status;

    if (!g_spawn_sync("/", (char **)argv, env, G_SPAWN_STDOUT_TO_DEV_NULL, NULL,
                      NULL, NULL, NULL, &status, error) ||
        !g_spawn_check_wait_status(status, error))
        return FALSE;
    note(trials, FLOOR, g_get_monotonic_time() - start);
    return TRUE;
}

static gboolean run_round(struct trials *trials,
                          const struct session_config *config,
                          const char *bwrap, const char *program,
                          GError **error)
{
    struct boot_trial trial;
    const struct machine_times *t = &trial.times;

    if (!boot_trial_run_kind(isolation_machine_kind(config), config, &trial,
                             error))
        return FALSE;
    note(trials, MOUNTS, t->mounted - t->started);
    note(trials, SERVERS, t->launched - t->mounted);
    note(trials, SHIM, t->hello - t->launched);
    note(trials, TOTAL, t->ready - t->started);
    return run_floor(trials, bwrap, program, error);
}

/* ---- output -------------------------------------------------------------- */

static void print_times(const struct trials *trials, unsigned rounds)
{
    printf("Start of a local sandbox, medians of %u round%s:\n", rounds,
           rounds == 1 ? "" : "s");
    for (int part = 0; part < PARTS; part++)
        printf("%8.1f ms  %s\n",
               (double)boot_trial_median(trials->times[part]) / 1000,
               names[part].text);
}

static void print_json(const struct trials *trials, unsigned rounds)
{
    json_t *answer = json_pack("{s:s, s:i}", "isolation",
                               isolation_name(ISOLATION_LOCAL), "rounds",
                               (int)rounds);

    for (int part = 0; part < PARTS; part++)
        json_object_set_new(
            answer, names[part].json,
            json_integer(boot_trial_median(trials->times[part])));
    cli_place_print_json(answer);
    json_decref(answer);
}

gboolean cli_boot_local(struct session_config *config, unsigned rounds,
                        bool json, GError **error)
{
    g_autofree char *bwrap = local_check_find_bwrap(error);
    g_autofree char *program = host_program_find("true");
    struct trials trials;
    gboolean ok = bwrap != NULL;

    if (ok && !program) {
        g_set_error_literal(error, STEPBACK_ERROR, ERROR_INTERNAL,
                            "true(1) is not installed");
        ok = FALSE;
    }
    for (int part = 0; part < PARTS; part++)
        trials.times[part] = g_array_new(FALSE, FALSE, sizeof(gint64));
    for (unsigned i = 0; ok && i < rounds; i++)
        ok = run_round(&trials, config, bwrap, program, error);
    if (ok && json)
        print_json(&trials, rounds);
    else if (ok)
        print_times(&trials, rounds);
    for (int part = 0; part < PARTS; part++)
        g_array_unref(trials.times[part]);
    return ok;
}
