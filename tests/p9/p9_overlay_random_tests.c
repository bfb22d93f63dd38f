/* SPDX-License-Identifier: Apache-2.0
 *
 * p9_overlay_random_tests - random changes under --profile=windows.
 *
 * They are made in steps that are kept, aborted or cut short by SIGKILL, undone
 * and redone; the client must see what it saw before.
 *
 * STEPBACK_OVERLAY_SEED: only this seed. STEPBACK_OVERLAY_SEEDS: how many.
 *
 * Ids: WN-05.
 */
#include <fcntl.h>
#include <stdlib.h>

#include "tests/p9/p9_fixture.h"
#include "tests/p9/p9_tests.h"

#define WINDOWS "--profile=windows"

enum { SEEDS = 2, ACTS = 40 };

/* The client's view at the end of each step, and of the steps that were undone.
 */
struct story {
    struct fixture *f;
    GRand *random;
    GPtrArray *past, *future; /* char *; the newest is last */
    int next_id;
};

static const char *pick_name(struct story *s)
{
    static const char *const names[] = { "a", "b.sh", "c", "d.sh", "e", "f" };

    return names[g_rand_int_range(s->random, 0, G_N_ELEMENTS(names))];
}

static uint32_t pick_dir(struct story *s)
{
    static const char *const dirs[] = { "", "x", "y.sh" };
    uint32_t fid;

    return p9_walk(s->f->client, P9_ROOT,
                   dirs[g_rand_int_range(s->random, 0, G_N_ELEMENTS(dirs))],
                   &fid) == 0
               ? fid
               : p9_fid(s->f, "");
}

/* May fail: if names do not exist or are in the way. */
static void change_at_random(struct story *s)
{
    struct p9_client *client = s->f->client;
    uint32_t dir = pick_dir(s), to = pick_dir(s), fid = 0;
    uint32_t mode = (uint32_t)g_rand_int_range(s->random, 0, 010000);
    const char *name = pick_name(s);
    struct p9_message m = { .type = P9_TSETATTR };
    bool found = p9_walk(client, dir, name, &fid) == 0;

    switch (g_rand_int_range(s->random, 0, 10)) {
    case 0:
        p9_lcreate(client, dir, name, O_RDWR | P9_OPEN_EXCL, mode);
        break;
    case 1:
        p9_mkdir(client, P9_ROOT, "x", mode | 0700);
        p9_mkdir(client, P9_ROOT, "y.sh", mode | 0700);
        break;
    case 2:
        p9_symlink(client, dir, name, pick_name(s));
        break;
    case 3:
        p9_unlinkat(client, dir, name, 0);
        break;
    case 4:
        p9_unlinkat(client, P9_ROOT, "x", P9_AT_REMOVEDIR);
        break;
    case 5:
        p9_renameat(client, dir, name, to, pick_name(s));
        break;
    case 6:
        if (found)
            p9_link(client, to, fid, pick_name(s));
        break;
    case 7:
        p9_renameat(client, P9_ROOT, "x", P9_ROOT, "y.sh");
        break;
    default:
        m.setattr.fid = found ? fid : dir;
        m.setattr.valid = mode & 1 ? P9_SETATTR_MODE
                                   : P9_SETATTR_UID | P9_SETATTR_GID;
        m.setattr.mode = mode;
        m.setattr.uid = mode % 7;
        m.setattr.gid = mode % 5;
        p9_client_call(client, &m, NULL);
    }
    p9_clunk(client, dir);
    p9_clunk(client, to);
    if (found)
        p9_clunk(client, fid);
}

/* Return the number of steps. */
static size_t history_length(struct fixture *f)
{
    json_t *answer = p9_ask(f, "history", json_pack("{s:i}", "limit", 1000));
    size_t length = json_array_size(json_object_get(answer, "steps"));

    json_decref(answer);
    return length;
}

static const char *newest(const GPtrArray *trees)
{
    return trees->pdata[trees->len - 1];
}

/* Make some changes in a step that is kept, aborted, or cut short by SIGKILL.
 */
static void step_at_random(struct story *s)
{
    int end = g_rand_int_range(s->random, 0, 6);
    int id = s->next_id++;
    g_autofree char *tree = NULL;

    p9_step_open(s->f, id);
    for (int n = g_rand_int_range(s->random, 1, 12); n > 0; n--)
        change_at_random(s);
    if (end == 0)
        p9_kill_restart(s->f, WINDOWS);
    else if (end == 1)
        p9_control(s->f, "step.abort", json_pack("{s:i}", "step_id", id));
    else
        p9_step_close(s->f, id);
    g_ptr_array_set_size(s->future, 0);
    tree = p9_tree(s->f);
    /* A step without a change is not kept. */
    if (history_length(s->f) > s->past->len - 1)
        g_ptr_array_add(s->past, g_steal_pointer(&tree));
    else
        g_assert_cmpstr(tree, ==, newest(s->past));
}

static void move(GPtrArray *from, GPtrArray *to, int count)
{
    for (; count > 0; count--)
        g_ptr_array_add(to, g_ptr_array_steal_index(from, from->len - 1));
}

static void act_at_random(struct story *s)
{
    int what = g_rand_int_range(s->random, 0, 10);
    int past = (int)s->past->len - 1, future = (int)s->future->len;
    int count = g_rand_int_range(s->random, 1, 4);

    if (what < 2 && past > 0) {
        p9_undo(s->f, MIN(count, past));
        move(s->past, s->future, MIN(count, past));
    } else if (what < 4 && future > 0) {
        p9_redo(s->f, MIN(count, future));
        move(s->future, s->past, MIN(count, future));
    } else if (what == 4) {
        p9_restart(s->f, WINDOWS);
        p9_control(s->f, "status", NULL);
    } else {
        step_at_random(s);
    }
    p9_tree_is(s->f, newest(s->past));
}

static void run_story(struct fixture *f, guint32 seed)
{
    struct story s = { .f = f, .random = g_rand_new_with_seed(seed) };

    s.past = g_ptr_array_new_with_free_func(g_free);
    s.future = g_ptr_array_new_with_free_func(g_free);
    s.next_id = 1;
    g_ptr_array_add(s.past, p9_tree(f));
    for (int i = 0; i < ACTS; i++)
        act_at_random(&s);
    g_ptr_array_unref(s.past);
    g_ptr_array_unref(s.future);
    g_rand_free(s.random);
}

static void test_random(struct fixture *f, gconstpointer option)
{
    const char *one = g_getenv("STEPBACK_OVERLAY_SEED");
    const char *many = g_getenv("STEPBACK_OVERLAY_SEEDS");
    int count = one ? 1 : many ? atoi(many) : SEEDS;

    for (int i = 0; i < count; i++) {
        guint32 seed = one ? (guint32)strtoul(one, NULL, 10) : g_random_int();

        g_test_message("STEPBACK_OVERLAY_SEED=%u", seed);
        if (i > 0) {
            p9_fixture_tear_down(f, WINDOWS);
            p9_fixture_set_up(f, WINDOWS);
        }
        run_story(f, seed);
    }
}

void add_p9_overlay_random_tests(void)
{
    P9_ADD("p9-overlay-random", "WN-05", WINDOWS, test_random);
}
