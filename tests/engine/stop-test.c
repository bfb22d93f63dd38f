/* SPDX-License-Identifier: Apache-2.0
 *
 * stop-test - a stop and restart during work is not an outside edit.
 *
 * No edit is reported if there was none.
 *
 * Run by root, it continues as an ordinary user, whose daemon needs another
 * program to unmount.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "tests/lib/edits.h"
#include "tests/lib/oracle.h"

enum { ROUNDS = 12, WORKERS = 2, NOBODY = 65534 };

/* ---- a client that does not stop ----------------------------------------- */

struct worker {
    int dir; /* of the mount */
    guint32 seed;
    GThread *thread;
    gint ended; /* atomic */
};

static char *name_of(GRand *rand)
{
    static const char *const dirs[] = { "", "dir/", "dir/sub/", "n0/", "n1/" };
    static const char *const names[] = { "file", "linked", "n0", "n1", "dir" };

    return g_strconcat(dirs[g_rand_int_range(rand, 0, G_N_ELEMENTS(dirs))],
                       names[g_rand_int_range(rand, 0, G_N_ELEMENTS(names))],
                       NULL);
}

static int put(int dir, const char *path)
{
    fd_auto int fd = openat(dir, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

    if (fd < 0 || write(fd, "one", 3) < 0 || write(fd, "two", 3) < 0)
        return -1;
    return 0;
}

/* Any result is accepted. */
static void act(int dir, GRand *rand)
{
    g_autofree char *path = name_of(rand), *other = name_of(rand);

    switch (g_rand_int_range(rand, 0, 8)) {
    case 0:
        (void)!mkdirat(dir, path, 0755);
        break;
    case 1:
        (void)!renameat(dir, path, dir, other);
        break;
    case 2:
        (void)!unlinkat(dir, path, 0);
        break;
    case 3:
        (void)!unlinkat(dir, path, AT_REMOVEDIR);
        break;
    case 4:
        (void)!linkat(dir, path, dir, other, 0);
        break;
    default:
        (void)!put(dir, path);
        break;
    }
}

static gpointer work(gpointer data)
{
    struct worker *worker = data;
    g_autoptr(GRand) rand = g_rand_new_with_seed(worker->seed);

    while (!g_atomic_int_get(&worker->ended))
        act(worker->dir, rand);
    return NULL;
}

static void stop_amid_work(struct edits *f, guint32 seed)
{
    struct worker workers[WORKERS];

    for (unsigned i = 0; i < WORKERS; i++) {
        struct worker *worker = &workers[i];

        worker->dir = open(f->w->mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        g_assert_cmpint(worker->dir, >=, 0);
        worker->seed = seed + i;
        worker->ended = 0;
        worker->thread = g_thread_new("worker", work, worker);
    }
    g_usleep(seed % 23 * 1000);
    f->w->backend->stop(f->w);
    for (unsigned i = 0; i < WORKERS; i++) {
        g_atomic_int_set(&workers[i].ended, 1);
        g_thread_join(workers[i].thread);
        close(workers[i].dir);
    }
}

/* ---- the tests ----------------------------------------------------------- */

static void no_barrier(struct edits *f)
{
    json_t *answer = world_request(f->w, "history", NULL);
    json_t *list = json_object_get(answer, "barriers");
    char *shown = json_dumps(list, JSON_COMPACT);

    g_test_message("barriers: %s", shown);
    g_assert_cmpuint(json_array_size(list), ==, 0);
    free(shown);
    json_decref(answer);
}

static void amid_work(struct edits *f)
{
    const char *text = g_getenv("STEPBACK_STOP_ROUNDS");
    int rounds = text ? atoi(text) : ROUNDS;

    if (f->w->backend != &world_mount) {
        g_test_skip("nothing is mounted");
        return;
    }
    for (int i = 0; i < rounds; i++) {
        world_step(f->w);
        edits_client_put(f, "file", 0, "new");
        world_end_step(f->w);
        if (i % 3 == 0)
            world_step(f->w); /* the next start rolls it back */
        stop_amid_work(f, (guint32)i * 7 + 1);
        g_assert_true(world_start(f->w));
        no_barrier(f);
        while (world_history_count(f->w) > 0)
            edits_undone(f);
        world_assert_equal(f->w, f->before);
    }
}

static const struct edits_case cases[] = {
    { "stop/work-is-no-outside-edit", amid_work },
};

int main(int argc, char **argv)
{
    g_autofree char *helper = g_find_program_in_path("fusermount3");

    umask(022);
    if (geteuid() == 0 && helper)
        g_assert_true(setresgid(NOBODY, NOBODY, NOBODY) == 0 &&
                      setresuid(NOBODY, NOBODY, NOBODY) == 0);
    g_test_init(&argc, &argv, NULL);
    edits_add_cases(cases, G_N_ELEMENTS(cases));
    return g_test_run();
}
