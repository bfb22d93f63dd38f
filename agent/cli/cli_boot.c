/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_boot - see cli_boot.h.
 *
 * The floor is the same machine and kernel with an init that powers off at
 * once: no start can take less. Both are run in turn and compared round by
 * round, because a machine's speed varies over time.
 */
#include "agent/cli/cli_boot.h"

#include <errno.h>
#include <ftw.h>
#include <glib/gstdio.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "agent/cli/cli.h"
#include "agent/cli/cli_boot_local.h"
#include "agent/cli/cli_machine_config.h"
#include "agent/cli/cli_options.h"
#include "agent/cli/cli_place.h"
#include "agent/cli/cli_pool_show.h"
#include "agent/cli/cli_progress.h"
#include "agent/vm/boot_trial.h"
#include "agent/machine/session_config.h"

/* Of waiting for the pool to be filled. */
enum { POOL_S = 60, POOL_PAUSE_MS = 50 };

/* Durations of a trial, in us. */
enum part {
    DAEMONS,  /* until the daemons are ready */
    FIRMWARE, /* QEMU, firmware, and unpacking the kernel */
    KERNEL,   /* until init begins */
    INIT,     /* until the shim begins */
    SHIM,     /* until the host has received the shim's hello */
    TO_HELLO, /* from QEMU's start */
    MOUNT,
    TOTAL,
    FLOOR, /* from QEMU's start to its end */
    /* Of a start from the template. */
    LOAD, /* from QEMU's start to the hello */
    RENEW,
    PLUG,
    RESTORED,
    /* Of a start with a machine of the pool. */
    WAKE, /* from the request to the pool to the hello */
    POOL_RENEW,
    POOL_PLUG,
    POOLED,
    PARTS
};

static const char *const names[] = {
    [DAEMONS] = "file system daemons",
    [FIRMWARE] = "QEMU, firmware, unpacking the kernel",
    [KERNEL] = "kernel",
    [INIT] = "init: drivers and mounts",
    [SHIM] = "shim",
    [TO_HELLO] = "from QEMU's start until the shim answers",
    [MOUNT] = "mounting the folder",
    [TOTAL] = "total",
    [FLOOR] = "floor: the same kernel, powering off at once",
    [LOAD] = "QEMU, loading the template, until the shim answers",
    [RENEW] = "random numbers, clock, machine id",
    [PLUG] = "mounting the folder",
    [RESTORED] = "total from a template",
    [WAKE] = "taking a machine of the pool, until the shim answers",
    [POOL_RENEW] = "random numbers, clock, machine id",
    [POOL_PLUG] = "mounting the folder",
    [POOLED] = "total from the pool",
};

/* The same in JSON: microseconds, hence the unit in the names. */
static const char *const json_names[] = {
    [DAEMONS] = "daemons_us",
    [FIRMWARE] = "firmware_us",
    [KERNEL] = "kernel_us",
    [INIT] = "init_us",
    [SHIM] = "shim_us",
    [TO_HELLO] = "to_hello_us",
    [MOUNT] = "mount_us",
    [TOTAL] = "total_us",
    [FLOOR] = "floor_us",
    [LOAD] = "template_load_us",
    [RENEW] = "template_renew_us",
    [PLUG] = "template_mount_us",
    [RESTORED] = "template_total_us",
    [WAKE] = "pool_wake_us",
    [POOL_RENEW] = "pool_renew_us",
    [POOL_PLUG] = "pool_mount_us",
    [POOLED] = "pool_total_us",
};

struct trials {
    GArray *times[PARTS]; /* of gint64 */
    GArray *ratios;       /* per round: TO_HELLO divided by FLOOR, in 1/1000 */
    char *no_template;    /* why none is measured; NULL: it is */
};

static void note(struct trials *trials, enum part part, gint64 us)
{
    g_array_append_val(trials->times[part], us);
}

/* The guest is not trusted: use only timestamps that are possible. */
static void note_guest(struct trials *trials, const struct machine_times *t)
{
    gint64 begin = t->hello - t->uptime_ms * 1000;

    if (t->uptime_ms <= 0 || begin < t->launched || t->init_ms > t->shim_ms ||
        t->shim_ms > t->uptime_ms)
        return;
    note(trials, FIRMWARE, begin - t->launched);
    if (t->init_ms > 0) {
        note(trials, KERNEL, t->init_ms * 1000);
        note(trials, INIT, (t->shim_ms - t->init_ms) * 1000);
    } else {
        note(trials, KERNEL, t->shim_ms * 1000);
    }
    note(trials, SHIM, (t->uptime_ms - t->shim_ms) * 1000);
}

/* The template, if there is one. */
static gboolean run_restored(struct trials *trials,
                             struct session_config *config, GError **error)
{
    struct boot_trial trial;
    const struct machine_times *t = &trial.times;
    gboolean ok;

    config->no_template = false;
    ok = boot_trial_run(config, &trial, error);
    config->no_template = true;
    if (!ok || !trial.restored)
        return ok;
    note(trials, LOAD, t->hello - t->launched);
    note(trials, RENEW, t->renewed - t->hello);
    note(trials, PLUG, t->ready - t->renewed);
    note(trials, RESTORED, t->ready - t->started);
    return TRUE;
}

/* Wait until a machine of the pool waits. Return false if none does. */
static bool wait_for_pool(void)
{
    gint64 end = g_get_monotonic_time() + POOL_S * G_USEC_PER_SEC;
    struct cli_pool_summary pool;

    while (cli_pool_summarize(&pool)) {
        if (pool.waiting > 0)
            return true;
        if (g_get_monotonic_time() > end)
            return false;
        g_usleep(POOL_PAUSE_MS * 1000);
    }
    return false;
}

/* If a pool runs, and has machines like this one. */
static gboolean run_pooled(struct trials *trials, struct session_config *config,
                           GError **error)
{
    struct boot_trial trial;
    const struct machine_times *t = &trial.times;
    gboolean ok;

    if (!wait_for_pool())
        return TRUE;
    config->no_template = config->no_pool = false;
    ok = boot_trial_run(config, &trial, error);
    config->no_template = config->no_pool = true;
    if (!ok || !trial.pooled)
        return ok;
    note(trials, WAKE, t->hello - t->launched);
    note(trials, POOL_RENEW, t->renewed - t->hello);
    note(trials, POOL_PLUG, t->ready - t->renewed);
    note(trials, POOLED, t->ready - t->started);
    return TRUE;
}

static gboolean run_round(struct trials *trials, struct session_config *config,
                          enum accel *ret_accel, GError **error)
{
    struct boot_trial trial;
    const struct machine_times *t = &trial.times;
    gint64 hello, ratio;

    if (!boot_trial_run(config, &trial, error))
        return FALSE;
    note(trials, DAEMONS, t->launched - t->started);
    note_guest(trials, t);
    hello = t->hello - t->launched;
    note(trials, TO_HELLO, hello);
    note(trials, MOUNT, t->ready - t->hello);
    note(trials, TOTAL, t->ready - t->started);
    config->accel = trial.accel; /* the others use the same accelerator */
    *ret_accel = trial.accel;
    if (!trials->no_template && (!run_restored(trials, config, error) ||
                                 !run_pooled(trials, config, error)))
        return FALSE;
    if (!boot_trial_run_floor(config, &trial, error))
        return FALSE;
    note(trials, FLOOR, t->ended - t->launched);
    ratio = hello * 1000 / MAX(t->ended - t->launched, 1);
    g_array_append_val(trials->ratios, ratio);
    return TRUE;
}

/* ---- output -------------------------------------------------------------- */

static bool is_within(int part)
{
    return (part >= FIRMWARE && part <= SHIM) ||
           (part >= LOAD && part <= PLUG) ||
           (part >= WAKE && part <= POOL_PLUG);
}

/* Print the durations from first to last that were measured, if any, below a
 * heading. */
static void print_parts(const struct trials *trials, const char *heading,
                        enum part first, enum part last)
{
    if (boot_trial_median(trials->times[last]) < 0)
        return;
    printf("%s", heading);
    for (int part = (int)first; part <= (int)last; part++) {
        gint64 us = boot_trial_median(trials->times[part]);

        if (us >= 0)
            printf("%s%8.0f ms  %s\n", is_within(part) ? "  " : "",
                   (double)us / 1000, names[part]);
    }
}

static void print_times(const struct trials *trials, enum accel accel,
                        unsigned rounds)
{
    gint64 ratio = boot_trial_median(trials->ratios);
    g_autofree char *heading = g_strdup_printf(
        "Boot of a guest with %s, medians of %u round%s:\n", accel_name(accel),
        rounds, rounds == 1 ? "" : "s");

    print_parts(trials, heading, DAEMONS, FLOOR);
    if (ratio > 0)
        printf("%10.2f  times the floor until the shim answers (the floor is "
               "the least that a boot takes)\n",
               (double)ratio / 1000);
    print_parts(trials, "\nStart from a template:\n", LOAD, RESTORED);
    print_parts(trials, "\nStart with a machine of the pool:\n", WAKE, POOLED);
    if (trials->no_template)
        printf("\nNo start from a template: %s\n", trials->no_template);
}

static void print_json(const struct trials *trials, enum accel accel,
                       unsigned rounds)
{
    json_t *answer = json_pack("{s:s, s:i}", "accel", accel_name(accel),
                               "rounds", (int)rounds);

    for (int part = 0; part < PARTS; part++) {
        gint64 us = boot_trial_median(trials->times[part]);

        if (us >= 0)
            json_object_set_new(answer, json_names[part], json_integer(us));
    }
    json_object_set_new(
        answer, "times_floor",
        json_real((double)boot_trial_median(trials->ratios) / 1000));
    cli_place_print_json(answer);
    json_decref(answer);
}

/* ---- the temporary folder ------------------------------------------------ */

static int remove_one(const char *path, const struct stat *st, int type,
                      struct FTW *ftw)
{
    return remove(path);
}

static void remove_place(const char *place, const char *folder)
{
    enum { FDS = 16 };

    g_rmdir(folder);
    /* Includes its undo log. */
    if (g_rmdir(place) < 0 &&
        nftw(place, remove_one, FDS, FTW_DEPTH | FTW_PHYS) != 0)
        cli_options_failed("cannot remove %s", place);
}

static struct session_config *make_config(const struct cli_machine *machine,
                                          const char *folder, GError **error)
{
    struct cli_machine here = *machine;

    here.place.dir = (char *)folder;
    here.place.undo_dir = NULL;
    return cli_machine_config(&here, error);
}

struct round {
    unsigned number, of;
    char text[64];
};

static const char *what_round(void *opaque)
{
    struct round *round = opaque;

    g_snprintf(round->text, sizeof(round->text),
               "booting guests: round %u of %u", round->number, round->of);
    return round->text;
}

static const char *what_template(void *opaque)
{
    return "making the template";
}

/* Return why there is none, as a new string, or NULL. */
static char *make_template(const struct session_config *config)
{
    g_autofree char *slow = NULL;
    g_autoptr(GError) error = NULL;
    struct cli_progress *progress;
    gboolean ok;

    if (config->persistent)
        return g_strdup("the machine keeps its disk");
    progress = cli_progress_new(what_template, NULL);
    ok = boot_trial_make_template(config, accel_choose(config->accel, &slow),
                                  &error);
    cli_progress_free(progress);
    return ok ? NULL : g_strdup(error->message);
}

static gboolean measure(struct session_config *config, unsigned rounds,
                        bool json, GError **error)
{
    struct trials trials;
    enum accel accel = ACCEL_AUTO;
    gboolean ok = TRUE;

    for (int part = 0; part < PARTS; part++)
        trials.times[part] = g_array_new(FALSE, FALSE, sizeof(gint64));
    trials.ratios = g_array_new(FALSE, FALSE, sizeof(gint64));
    trials.no_template = make_template(config);
    config->no_template = config->no_pool = true;
    for (unsigned i = 0; ok && i < rounds; i++) {
        struct round round = { i + 1, rounds };
        struct cli_progress *progress = cli_progress_new(what_round, &round);

        ok = run_round(&trials, config, &accel, error);
        cli_progress_free(progress);
    }
    if (ok && json)
        print_json(&trials, accel, rounds);
    else if (ok)
        print_times(&trials, accel, rounds);
    for (int part = 0; part < PARTS; part++)
        g_array_unref(trials.times[part]);
    g_array_unref(trials.ratios);
    g_free(trials.no_template);
    return ok;
}

int cli_boot(const struct cli_machine *machine, unsigned rounds, bool json)
{
    static gboolean (*const measures[])(struct session_config *, unsigned, bool,
                                        GError **) = {
        [ISOLATION_VM] = measure,
        [ISOLATION_LOCAL] = cli_boot_local,
    };
    g_autofree char *place = g_dir_make_tmp("stepback-boot-XXXXXX", NULL);
    g_autofree char *folder = place ? g_build_filename(place, "folder", NULL)
                                    : NULL;
    g_autoptr(GError) error = NULL;
    struct session_config *config;
    gboolean ok = FALSE;

    if (!place || g_mkdir(folder, 0700) < 0)
        return cli_options_failed("cannot create a folder in %s: %s",
                                  g_get_tmp_dir(), g_strerror(errno));
    config = make_config(machine, folder, &error);
    if (config)
        ok = measures[config->isolation](config, rounds, json, &error);
    if (!ok)
        cli_options_failed("%s", error->message);
    if (config)
        session_config_free(config);
    remove_place(place, folder);
    return ok ? CLI_OK : CLI_FAILED;
}
