/* SPDX-License-Identifier: Apache-2.0
 *
 * threads-test - threads change the share during steps and rollbacks.
 *
 * Steps are opened, closed, aborted and rolled back, and history and status are
 * queried.
 *
 * Each thread works in a directory of its own and in a shared one, by random
 * operations of a seed. Any operation may fail: its object may have been
 * renamed or rolled back. At the end all threads have stopped, everything is
 * undone, and the tree must be what it was at first. ThreadSanitizer finds the
 * races (configure --enable-tsan).
 *
 * STEPBACK_THREADS_SEED=S begins with another seed; STEPBACK_THREADS_ROUNDS=N
 * runs more of them.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/errors.h"
#include "common/log.h"
#include "interceptor/interceptor.h"
#include "tests/lib/oracle.h"
#include "tests/lib/world.h"

enum { WORKERS = 4, OPERATIONS = 150, NAMES = 6, ROUNDS = 3 };

struct worker {
    struct ic *ic;
    GRand *rand;
    struct ic_cred cred;
    struct ic_inode *own, *common; /* references */
    atomic_uint *running;
    pthread_t thread;
};

/* ---- client threads ------------------------------------------------------ */

struct target {
    struct ic_inode *dir; /* borrowed */
    char name[16];
};

static struct target pick_target(struct worker *w)
{
    struct target target = { g_rand_int_range(w->rand, 0, 3) ? w->own
                                                             : w->common,
                             "" };

    snprintf(target.name, sizeof(target.name), "n%d",
             g_rand_int_range(w->rand, 0, NAMES));
    return target;
}

static struct ic_inode *look_up(struct worker *w)
{
    struct target t = pick_target(w);
    struct ic_inode *inode;

    return ic_lookup(w->ic, t.dir, t.name, &inode, NULL) == 0 ? inode : NULL;
}

static void do_create(struct worker *w)
{
    struct target t = pick_target(w);
    struct iovec iov = { (void *)"some bytes", 10 };
    struct ic_inode *inode;
    int fd;

    if (ic_create(w->ic, &w->cred, t.dir, t.name,
                  O_RDWR | (g_rand_boolean(w->rand) ? O_TRUNC : 0), 0644,
                  &inode, NULL, &fd) < 0)
        return;
    for (int i = 0; i < 3; i++)
        ic_pwritev(w->ic, inode, fd, &iov, 1,
                   g_rand_int_range(w->rand, 0, 100000), 0, true);
    close(fd);
    ic_inode_unref(inode);
}

static void do_mkdir(struct worker *w)
{
    struct target t = pick_target(w);
    struct ic_inode *inode;

    if (ic_mkdirat(w->ic, &w->cred, t.dir, t.name, 0755, &inode, NULL) == 0)
        ic_inode_unref(inode);
}

static void do_symlink(struct worker *w)
{
    struct target t = pick_target(w);
    struct ic_inode *inode;

    if (ic_symlinkat(w->ic, &w->cred, "n1", t.dir, t.name, &inode, NULL) == 0)
        ic_inode_unref(inode);
}

static void do_remove(struct worker *w)
{
    struct target t = pick_target(w);

    if (ic_unlinkat(w->ic, t.dir, t.name, 0) == -EISDIR)
        ic_unlinkat(w->ic, t.dir, t.name, AT_REMOVEDIR);
}

static void do_rename(struct worker *w)
{
    struct target from = pick_target(w), to = pick_target(w);

    ic_renameat2(w->ic, from.dir, from.name, to.dir, to.name,
                 g_rand_int_range(w->rand, 0, 4) ? 0 : RENAME_EXCHANGE);
}

static void do_link(struct worker *w)
{
    struct target to = pick_target(w);
    struct ic_inode *inode = look_up(w);

    if (!inode)
        return;
    ic_linkat(w->ic, inode, to.dir, to.name, NULL);
    ic_inode_unref(inode);
}

static void do_attributes(struct worker *w)
{
    struct ic_inode *inode = look_up(w);
    struct ic_setattr attr = {
        .valid = g_rand_boolean(w->rand) ? IC_SET_MODE : IC_SET_SIZE,
        .mode = 0600 + (mode_t)g_rand_int_range(w->rand, 0, 64),
        .size = g_rand_int_range(w->rand, 0, 50000),
    };
    struct stat st;

    if (!inode)
        return;
    ic_setattr(w->ic, inode, -1, &attr, &st);
    ic_setxattr(w->ic, inode, "user.thread", &attr.size, sizeof(attr.size), 0);
    ic_stat(w->ic, inode, &st);
    ic_inode_unref(inode);
}

static void do_write(struct worker *w)
{
    struct ic_inode *inode = look_up(w);
    struct iovec iov = { (void *)"appended", 8 };
    int fd;

    if (!inode)
        return;
    if (ic_open(w->ic, inode, O_RDWR, &fd) == 0) {
        ic_pwritev(w->ic, inode, fd, &iov, 1, 0, RWF_APPEND, false);
        ic_fallocate(w->ic, inode, fd,
                     FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096);
        close(fd);
    }
    ic_inode_unref(inode);
}

static void (*const operations[])(struct worker *w) = {
    do_create, do_create, do_create, do_mkdir,      do_symlink,
    do_remove, do_rename, do_link,   do_attributes, do_write,
};

static void *work(void *data)
{
    struct worker *w = data;

    for (int i = 0; i < OPERATIONS; i++) {
        gint32 which = g_rand_int_range(w->rand, 0, G_N_ELEMENTS(operations));

        operations[which](w);
    }
    atomic_fetch_sub(w->running, 1);
    return NULL;
}

static struct ic_inode *folder(struct ic *ic, const char *name)
{
    struct ic_inode *inode;

    g_assert_cmpint(ic_lookup(ic, ic_root(ic), name, &inode, NULL), ==, 0);
    return inode;
}

static void start_worker(struct worker *w, struct ic *ic, int number,
                         guint32 seed, atomic_uint *running)
{
    char name[16];

    snprintf(name, sizeof(name), "t%d", number);
    *w = (struct worker){
        .ic = ic,
        .rand = g_rand_new_with_seed(seed + (guint32)number),
        .cred = { .uid = getuid(), .gid = getgid() },
        .own = folder(ic, name),
        .common = folder(ic, "common"),
        .running = running,
    };
    g_assert_cmpint(pthread_create(&w->thread, NULL, work, w), ==, 0);
}

static void end_worker(struct worker *w)
{
    pthread_join(w->thread, NULL);
    ic_inode_unref(w->own);
    ic_inode_unref(w->common);
    g_rand_free(w->rand);
}

/* ---- agent threads ------------------------------------------------------- */

static json_t *ask(struct world *w, const char *type, json_t *payload)
{
    g_autoptr(GError) error = NULL;
    json_t *answer = w->backend->request(w, type, payload, &error);

    /* Ambient changes may still arrive, so only this error is expected. */
    if (error && !g_error_matches(error, STEPBACK_ERROR, ERROR_NOTHING_TO_UNDO))
        g_error("%s: %s", type, error->message);
    return answer;
}

static void run_agent_step(struct world *w, GRand *rand)
{
    int64_t id = world_step(w);

    json_decref(ask(w, "status", NULL));
    if (g_rand_int_range(rand, 0, 3) == 0)
        json_decref(ask(w, "step.abort",
                        json_pack("{s:I}", "step_id", (json_int_t)id)));
    else
        world_end_step(w);
}

static void run_agent(struct world *w, GRand *rand, guint floor,
                      atomic_uint *running)
{
    while (atomic_load(running) > 0) {
        run_agent_step(w, rand);
        if (world_history_count(w) > floor + 1 &&
            g_rand_int_range(rand, 0, 2) == 0)
            json_decref(ask(w, "rollback", json_pack("{s:i}", "steps", 1)));
        json_decref(ask(w, "history", json_pack("{s:i}", "limit", 3)));
    }
}

/* ---- rounds -------------------------------------------------------------- */

static void fill(struct world *w)
{
    world_host_dir(w, "common");
    world_host_file(w, "common/n0", "shared by all");
    for (int i = 0; i < WORKERS; i++) {
        g_autofree char *dir = g_strdup_printf("t%d", i);
        g_autofree char *file = g_strdup_printf("t%d/n0", i);

        world_host_dir(w, dir);
        world_host_file(w, file, "one thread's");
    }
}

static void take_all_back(struct world *w, guint floor)
{
    /* An open ambient step counts as a step, too. */
    world_step(w);
    world_end_step(w);
    while (world_history_count(w) > floor)
        json_decref(world_undo(w, 1));
}

static void run_round(struct world *w, guint32 seed)
{
    g_autoptr(GPtrArray) before = world_snapshot(w);
    g_autoptr(GRand) rand = g_rand_new_with_seed(seed);
    struct worker workers[WORKERS];
    atomic_uint running = WORKERS;
    guint floor = world_history_count(w);

    for (int i = 0; i < WORKERS; i++)
        start_worker(&workers[i], world_folder_ic(w), i, seed * 100, &running);
    run_agent(w, rand, floor, &running);
    for (int i = 0; i < WORKERS; i++)
        end_worker(&workers[i]);
    take_all_back(w, floor);
    world_assert_equal(w, before);
}

static unsigned number_from(const char *variable, unsigned otherwise)
{
    const char *text = g_getenv(variable);
    unsigned number = text ? (unsigned)strtoul(text, NULL, 10) : 0;

    return number ? number : otherwise;
}

static void run_rounds(gconstpointer data)
{
    world_auto struct world *w = world_new(data);
    guint32 seed = number_from("STEPBACK_THREADS_SEED", 1);
    unsigned rounds = number_from("STEPBACK_THREADS_ROUNDS", ROUNDS);

    fill(w);
    w->ambient_ms = 20;
    if (world_start(w)) {
        for (unsigned i = 0; i < rounds && !g_test_failed(); i++) {
            g_test_message("seed %u", seed + i);
            run_round(w, seed + i);
        }
    }
}

/* ---- signals ------------------------------------------------------------- */

static bool has_signal(uint64_t set, int signal)
{
    return set >> (signal - 1) & 1;
}

static uint64_t read_blocked(const char *thread)
{
    g_autofree char *path = g_strdup_printf("/proc/self/task/%s/status",
                                            thread);
    g_autofree char *text = NULL;
    const char *line;

    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    line = strstr(text, "\nSigBlk:");
    g_assert_nonnull(line);
    return g_ascii_strtoull(line + strlen("\nSigBlk:\t"), NULL, 16);
}

/* The C library starts a thread with all signals blocked. */
static uint64_t blocked_by(const char *thread)
{
    uint64_t blocked = read_blocked(thread);

    for (int i = 0; i < 500 && has_signal(blocked, SIGBUS); i++) {
        g_usleep(10000);
        blocked = read_blocked(thread);
    }
    return blocked;
}

static void *return_at_once(void *data)
{
    return data;
}

/* Return the thread ids, as text; a set. It includes a sanitizer's own thread,
 * which starts with the first one. */
static GHashTable *list_threads(void)
{
    GHashTable *threads = g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
                                                NULL);
    g_autoptr(GDir) tasks = g_dir_open("/proc/self/task", 0, NULL);
    const char *task;

    while ((task = g_dir_read_name(tasks)))
        g_hash_table_add(threads, g_strdup(task));
    return threads;
}

/* The engine's threads block the signals that the server waits for, and the
 * server's signal mask is unchanged. */
static void leave_signals(void)
{
    world_auto struct world *w = world_new(&world_folder);
    struct ic_options options = { .share = w->share, .undo_dir = w->undo_dir };
    g_autofree char *self = g_strdup_printf("%d", getpid());
    g_autoptr(GHashTable) before = NULL;
    g_autoptr(GHashTable) after = NULL;
    unsigned threads = 0;
    GHashTableIter iter;
    struct ic *ic;
    void *task;

    g_thread_join(g_thread_new("first", return_at_once, NULL));
    before = list_threads();
    ic = ic_open_share(&options, NULL);
    g_assert_nonnull(ic);
    after = list_threads();
    g_hash_table_iter_init(&iter, after);
    while (g_hash_table_iter_next(&iter, &task, NULL)) {
        uint64_t blocked;

        if (g_hash_table_contains(before, task))
            continue;
        threads++;
        blocked = blocked_by(task);
        g_assert_true(has_signal(blocked, SIGTERM));
        g_assert_true(has_signal(blocked, SIGCHLD));
        g_assert_false(has_signal(blocked, SIGBUS));
    }
    g_assert_cmpuint(threads, >=, 1);
    g_assert_false(has_signal(read_blocked(self), SIGTERM));
    g_assert_false(has_signal(read_blocked(self), SIGCHLD));
    ic_close(ic);
}

int main(int argc, char **argv)
{
    umask(022);
    g_test_init(&argc, &argv, NULL);
    log_set_level(g_test_verbose() ? LOG_LEVEL_INFO : LOG_LEVEL_ERROR);
    g_test_add_func("/threads/signals-are-left-to-the-server", leave_signals);
    g_test_add_data_func("/threads/folder", &world_folder, run_rounds);
    g_test_add_data_func("/threads/folder-copy", &world_folder_copy,
                         run_rounds);
    return g_test_run();
}
