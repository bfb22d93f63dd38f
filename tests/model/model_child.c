/* SPDX-License-Identifier: Apache-2.0
 *
 * model_child - see model_child.h.
 *
 * The child writes each operation, before it runs, and the final result into
 * files of its parent.
 */
#include "tests/model/model_child.h"

#include <glib/gstdio.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/model/model_make.h"

enum { HANGS_SECONDS = 900, POLL_US = 2000 };

void model_result_clear(struct model_result *result)
{
    g_clear_pointer(&result->ops, g_ptr_array_unref);
    g_clear_pointer(&result->failure, g_free);
}

/* ---- in the child -------------------------------------------------------- */

static void write_down(FILE *file, const struct model_op *op)
{
    g_autofree char *line = model_op_to_text(op);

    fprintf(file, "%s\n", line);
    fflush(file);
}

static bool run_given(struct model *m, FILE *script, GPtrArray *ops)
{
    for (guint i = 0; i < ops->len; i++) {
        write_down(script, g_ptr_array_index(ops, i));
        if (!model_run(m, g_ptr_array_index(ops, i)))
            return false;
    }
    return true;
}

static bool run_invented(struct model *m, FILE *script, guint32 seed,
                         guint count)
{
    struct maker *maker = maker_new(m, seed);
    bool ok = true;

    for (guint i = 0; ok && i < count; i++) {
        struct model_op *op = maker_next(maker);

        write_down(script, op);
        ok = model_run(m, op);
        model_op_free(op);
    }
    maker_free(maker);
    return ok;
}

static bool run_end(struct model *m, FILE *script)
{
    static const struct model_op end[] = {
        { .kind = MODEL_CLOSE },
        { .kind = MODEL_UNDO, .numbers = { G_MAXINT } },
        { .kind = MODEL_REDO, .numbers = { G_MAXINT } },
        { .kind = MODEL_UNDO, .numbers = { G_MAXINT } },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(end); i++) {
        write_down(script, &end[i]);
        if (!model_run(m, &end[i]))
            return false;
    }
    return true;
}

G_GNUC_NORETURN
static void child(struct world *world, GPtrArray *ops, guint32 seed,
                  guint invent)
{
    g_autofree char *script_path = g_build_filename(world->base, "script",
                                                    NULL);
    g_autofree char *result_path = g_build_filename(world->base, "result",
                                                    NULL);
    FILE *script = fopen(script_path, "we");
    struct model *m;

    g_assert_nonnull(script);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    m = model_new(world);
    if (run_given(m, script, ops) && run_invented(m, script, seed, invent))
        run_end(m, script);
    model_close_handles(m);
    world->backend->stop(world);
    g_assert_true(g_file_set_contents(result_path, m->failure->str, -1, NULL));
    fflush(stdout);
    _exit(0);
}

/* ---- in the parent ------------------------------------------------------- */

bool model_child_can_run(const struct world_backend *backend)
{
    if (backend == &world_local && geteuid() != 0)
        return false;
    return (backend != &world_mount && backend != &world_local) ||
           geteuid() == 0 || access("/dev/fuse", R_OK | W_OK) == 0;
}

static char *wait_for(pid_t pid)
{
    gint64 end = g_get_monotonic_time() +
                 (gint64)HANGS_SECONDS * G_USEC_PER_SEC;
    int status;

    while (waitpid(pid, &status, WNOHANG) == 0) {
        if (g_get_monotonic_time() > end) {
            kill(pid, SIGKILL);
            waitpid(pid, &status, 0);
            return g_strdup("it hangs");
        }
        g_usleep(POLL_US);
    }
    return status == 0 ? NULL
                       : g_strdup_printf("the process ended with status %#x",
                                         (unsigned)status);
}

static void read_back(struct world *world, GPtrArray *ops, char **failure)
{
    g_autofree char *script_path = g_build_filename(world->base, "script",
                                                    NULL);
    g_autofree char *result_path = g_build_filename(world->base, "result",
                                                    NULL);
    g_autofree char *script = NULL;

    if (g_file_get_contents(script_path, &script, NULL, NULL)) {
        g_autoptr(GPtrArray) done = model_script_parse(script);

        g_ptr_array_set_size(ops, 0);
        g_ptr_array_extend_and_steal(ops, g_steal_pointer(&done));
    }
    if (!*failure && !g_file_get_contents(result_path, failure, NULL, NULL))
        *failure = g_strdup("it ended without a result");
}

bool model_child_run(const struct world_backend *backend, GPtrArray *ops,
                     guint32 seed, guint invent, char **ret_failure)
{
    struct world *world = world_new(backend);
    g_autofree char *failure = NULL;
    bool ok;
    pid_t pid;

    fflush(stdout);
    pid = fork();
    g_assert_cmpint(pid, >=, 0);
    if (pid == 0)
        child(world, ops, seed, invent);
    failure = wait_for(pid);
    read_back(world, ops, &failure);
    umount2(world->mount, MNT_DETACH); /* a child that died leaves the mount */
    world_free(world);
    ok = failure[0] == '\0';
    if (!ok)
        *ret_failure = g_steal_pointer(&failure);
    return ok;
}
