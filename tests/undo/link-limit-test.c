/* SPDX-License-Identifier: Apache-2.0
 *
 * link-limit-test - undo of a file that has the maximum number of links.
 *
 * Neither the undo log nor a redo may need a link that the names before the
 * step leave no room for.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "tests/lib/engine_trees.h"
#include "tests/lib/loop_fs.h"

enum { MOST_LINKS = 65000 }; /* of ext4 */

static const struct loop_fs ext4 = { "ext4", "mkfs.ext4 -q -F -m 0", 64 << 20 };

static void fill_links(struct world *w)
{
    g_autofree char *path = world_host_path(w, "a");
    g_autofree char *many = world_host_path(w, "many");
    fd_auto int dir = -1;

    world_host_file(w, "a", "x");
    world_host_dir(w, "many");
    dir = open(many, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 1; i < MOST_LINKS; i++) {
        g_autofree char *name = g_strdup_printf("%d", i);

        OK(linkat(AT_FDCWD, path, dir, name, 0));
    }
}

/* Run the test in a file system of its own, in which the file a has as many
 * links as it can. */
static void at_most_links(gconstpointer backend, void (*run)(struct world *w))
{
    world_auto struct world *w = world_new(backend);

    if (!loop_fs_mount(w, &ext4)) {
        g_test_skip("no root, loop devices or mkfs for it");
        return;
    }
    fill_links(w);
    world_host_file(w, "other", "old");
    if (world_start(w)) {
        run(w);
        w->backend->stop(w);
    }
    loop_fs_unmount(w);
}

/* A redo would need one more link, so there is none. */
static void remove_and_undo(struct world *w)
{
    g_autofree char *path = world_host_path(w, "a");
    struct stat st;

    world_step(w);
    OK(w->backend->unlink(w, "a"));
    OK(w->backend->unlink(w, "many/1"));
    world_end_step(w);
    json_decref(world_undo(w, 1));
    OK(stat(path, &st));
    g_assert_cmpuint(st.st_nlink, ==, MOST_LINKS);
}

static void remove_name(struct world *w, int number)
{
    g_autofree char *name = g_strdup_printf("many/%d", number);

    OK(w->backend->unlink(w, name));
}

/* Remove three names of the file, of which the log takes one, and add one. */
static void exchange_and_undo(struct world *w)
{
    g_autoptr(GPtrArray) before = world_snapshot(w);

    world_step(w);
    remove_name(w, 1);
    remove_name(w, 2);
    OK(w->backend->link(w, "many/9", "new"));
    remove_name(w, 3);
    world_end_step(w);
    world_undo_to(w, 1, before);
}

/* The redo of the newer step has a link. */
static void remove_twice_and_undo(struct world *w)
{
    g_autoptr(GPtrArray) before = world_snapshot(w);

    world_step(w);
    remove_name(w, 1);
    remove_name(w, 2);
    world_end_step(w);
    world_step(w);
    remove_name(w, 3);
    remove_name(w, 4);
    world_end_step(w);
    world_undo_to(w, 2, before);
}

/* Only the redo could keep what another process wrote. */
static void remove_and_force(struct world *w)
{
    g_autoptr(GPtrArray) before = world_snapshot(w);

    world_step(w);
    remove_name(w, 1);
    remove_name(w, 2);
    remove_name(w, 3);
    WRITE("other", "new");
    world_end_step(w);
    world_host_file(w, "other", "precious");
    json_decref(world_request(w, "rollback",
                              json_pack("{s:i, s:b}", "steps", 1, "force", 1)));
    world_assert_equal(w, before);
}

static void removed_at_limit(gconstpointer backend)
{
    at_most_links(backend, remove_and_undo);
}

static void names_at_limit(gconstpointer backend)
{
    at_most_links(backend, exchange_and_undo);
}

static void steps_at_limit(gconstpointer backend)
{
    at_most_links(backend, remove_twice_and_undo);
}

static void force_at_limit(gconstpointer backend)
{
    at_most_links(backend, remove_and_force);
}

static const struct world_case cases[] = {
    { "removed-names-return", removed_at_limit },
    { "names-return-where-one-was-added", names_at_limit },
    { "names-of-two-steps-return", steps_at_limit },
    { "names-return-by-force", force_at_limit },
};

int main(int argc, char **argv)
{
    umask(022);
    g_test_init(&argc, &argv, NULL);
    world_add_cases("/link-limit", WORLD_WITHOUT_9P, cases,
                    G_N_ELEMENTS(cases));
    return g_test_run();
}
