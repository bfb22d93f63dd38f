/* SPDX-License-Identifier: Apache-2.0
 *
 * boot_trial - see boot_trial.h.
 */
#include "agent/vm/boot_trial.h"

#include "agent/vm/template_maker.h"
#include "agent/vm/vm_machine.h"
#include "common/errors.h"

/* The kernel passes words after "--" to the init program
 * (kernel-parameters.txt). */
#define FLOOR_APPEND "rdinit=/bin/busybox -- poweroff -f"

struct trial {
    GMainLoop *loop;
    struct machine *machine;
    GError *error; /* the error of "failed" */
};

static void on_ready(void *opaque)
{
    struct trial *trial = opaque;

    machine_stop(trial->machine);
}

static void on_failed(const GError *error, void *opaque)
{
    struct trial *trial = opaque;

    trial->error = g_error_copy(error);
    machine_stop(trial->machine);
}

static void on_stopped(void *opaque)
{
    struct trial *trial = opaque;

    g_main_loop_quit(trial->loop);
}

static void on_event(const char *type, json_t *payload, void *opaque)
{
    relayed_unref(payload);
}

static void on_folder_event(unsigned index, const char *type, json_t *payload,
                            void *opaque)
{
}

/* Unused: no command runs. */
static void on_output(const struct command_output *output, void *opaque)
{
}

static void on_completed(gint64 id, const struct command_end *end, void *opaque)
{
}

static void on_input_taken(gint64 id, size_t bytes, void *opaque)
{
}

static void on_step_request(const struct guest_step_request *request,
                            void *opaque)
{
}

static void on_processes(const struct guest_processes *processes, void *opaque)
{
}

static void on_refused(gint64 id, const char *message, void *opaque)
{
}

static const struct machine_callbacks callbacks = {
    .ready = on_ready,
    .failed = on_failed,
    .stopped = on_stopped,
    .event = on_event,
    .folder_event = on_folder_event,
    .output = on_output,
    .completed = on_completed,
    .input_taken = on_input_taken,
    .refused = on_refused,
    .step_request = on_step_request,
    .processes = on_processes,
};

gboolean boot_trial_run_kind(const struct machine_kind *kind,
                             const struct session_config *config,
                             struct boot_trial *ret_trial, GError **error)
{
    struct trial trial = { .loop = g_main_loop_new(NULL, FALSE) };

    trial.machine = machine_new(kind, config, "error", &callbacks, &trial,
                                error);
    if (!trial.machine) {
        g_main_loop_unref(trial.loop);
        return FALSE;
    }
    g_main_loop_run(trial.loop);
    ret_trial->times = *machine_times(trial.machine);
    ret_trial->accel = machine_accel(trial.machine);
    ret_trial->restored = machine_is_restored(trial.machine);
    ret_trial->pooled = machine_is_pooled(trial.machine);
    machine_free(trial.machine);
    g_main_loop_unref(trial.loop);
    if (!trial.error)
        return TRUE;
    g_propagate_error(error, trial.error);
    return FALSE;
}

gboolean boot_trial_run(const struct session_config *config,
                        struct boot_trial *ret_trial, GError **error)
{
    return boot_trial_run_kind(&vm_machine_kind, config, ret_trial, error);
}

gboolean boot_trial_make_template(const struct session_config *config,
                                  enum accel accel, GError **error)
{
    g_autofree char *qemu = vm_command_find_qemu(error);
    struct guest_image *image = NULL;
    gboolean ok;

    if (qemu)
        image = guest_image_find(config->image, config->kernel, config->initrd,
                                 config->disk, error);
    ok = image != NULL;
    if (ok) {
        const struct vm_config machine = {
            .qemu = qemu,
            .image = image,
            .accel = accel,
            .memory_mb = session_config_memory(config),
            .cpus = config->cpus,
            .network_fd = config->network.kind == NETWORK_DISABLED ? -1 : 0,
            .backend = config->backend,
            .state_fd = -1,
        };

        ok = template_maker_run(&machine, error);
    }
    guest_image_free(image);
    return ok;
}

/* QEMU ends before the shim could say hello, so the machine reports a
 * failure. */
gboolean boot_trial_run_floor(struct session_config *config,
                              struct boot_trial *ret_trial, GError **error)
{
    struct boot_trial trial = { 0 };
    g_autoptr(GError) cause = NULL;
    gboolean ran;

    config->kernel_append = g_strdup(FLOOR_APPEND);
    ran = boot_trial_run(config, &trial, &cause);
    g_clear_pointer(&config->kernel_append, g_free);
    if (!ran && trial.times.ended > 0 && trial.times.hello == 0) {
        *ret_trial = trial;
        return TRUE;
    }
    if (cause)
        g_propagate_error(error, g_steal_pointer(&cause));
    else
        g_set_error_literal(error, STEPBACK_ERROR, ERROR_INTERNAL,
                            "the guest did not power off at once");
    return FALSE;
}

static gint compare(gconstpointer a, gconstpointer b)
{
    gint64 x = *(const gint64 *)a, y = *(const gint64 *)b;

    return x < y ? -1 : x > y;
}

gint64 boot_trial_median(GArray *times)
{
    if (times->len == 0)
        return -1;
    g_array_sort(times, compare);
    return g_array_index(times, gint64, times->len / 2);
}
