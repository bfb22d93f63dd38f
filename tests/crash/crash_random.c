/* SPDX-License-Identifier: Apache-2.0
 *
 * crash_random - see crash_random.h.
 */
#include "tests/crash/crash_random.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FOLDERS = 3, FILES = 6, PROCESSES = 4, CHANGES = 25, MOST = 20000 };

struct path {
    char text[32];
};

static struct path file_path(unsigned folder, unsigned file)
{
    struct path path;

    snprintf(path.text, sizeof(path.text), "d%u/f%u", folder % FOLDERS,
             file % FILES);
    return path;
}

static void fill(struct world *w)
{
    g_autofree char *text = g_strnfill(MOST, 'x');

    for (unsigned i = 0; i < FOLDERS; i++) {
        g_autofree char *folder = g_strdup_printf("d%u", i);

        world_host_dir(w, folder);
        for (unsigned j = 0; j < FILES; j++)
            world_host_file(w, file_path(i, j).text, text + j * 1000);
    }
}

/* ---- one process --------------------------------------------------------- */

/* Earlier changes may be in the way: then nothing happens. */
static void change_one(struct world *w, GRand *rand)
{
    const struct world_backend *b = w->backend;
    struct path one = file_path(g_rand_int(rand), g_rand_int(rand));
    struct path other = file_path(g_rand_int(rand), g_rand_int(rand));
    unsigned n = (unsigned)g_rand_int_range(rand, 0, MOST);
    g_autofree char *data = g_strnfill(n, (char)g_rand_int_range(rand, 33, 99));

    switch (g_rand_int_range(rand, 0, 12)) {
    case 0:
    case 1:
    case 2:
        b->put(w, one.text, O_CREAT, data, n, n / 2);
        break;
    case 3:
        b->put(w, one.text, O_TRUNC, data, n, 0);
        break;
    case 4:
        b->unlink(w, one.text);
        break;
    case 5:
        b->rename(w, one.text, other.text, 0);
        break;
    case 6:
        b->rename(w, one.text, other.text, RENAME_EXCHANGE);
        break;
    case 7:
        b->link(w, one.text, other.text);
        break;
    case 8:
        b->mkdir(w, one.text, 0750);
        break;
    case 9:
        b->rmdir(w, one.text);
        break;
    case 10:
        b->setxattr(w, one.text, "user.random", data, n % 100);
        break;
    default:
        b->truncate(w, one.text, n);
        break;
    }
}

static void change_some(struct world *w, guint32 seed, unsigned count)
{
    GRand *rand = g_rand_new_with_seed(seed);

    while (count-- > 0)
        change_one(w, rand);
    g_rand_free(rand);
}

/* A different seed in each step of each round. */
static guint32 choose_seed(const struct crash *c)
{
    return (c->rounds * CRASH_STEPS + c->states->len) * PROCESSES;
}

static void change_alone(struct crash *c)
{
    change_some(c->w, choose_seed(c), CHANGES);
}

/* ---- several processes --------------------------------------------------- */

static void change_together(struct crash *c)
{
    pid_t pids[PROCESSES];

    for (guint32 i = 0; i < PROCESSES; i++) {
        pids[i] = fork();
        g_assert_cmpint(pids[i], >=, 0);
        if (pids[i] == 0) {
            change_some(c->w, choose_seed(c) + i, CHANGES);
            _exit(0);
        }
    }
    for (unsigned i = 0; i < PROCESSES; i++)
        g_assert_cmpint(waitpid(pids[i], NULL, 0), ==, pids[i]);
}

const struct crash_tree crash_random = {
    .name = "random",
    .only_killed = true,
    .fill = fill,
    .changes = { change_alone, change_alone, change_alone },
};

const struct crash_tree crash_crowd = {
    .name = "crowd",
    .only_killed = true,
    .fill = fill,
    .changes = { change_together, change_together, change_together },
};
