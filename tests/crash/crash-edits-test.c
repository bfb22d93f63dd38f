/* SPDX-License-Identifier: Apache-2.0
 *
 * crash-edits-test - faults at every point of a forced undo over outside edits.
 *
 * The engine is killed, or its calls fail. The result must be that of a run
 * without a fault: what the step found or, where another process has removed
 * its place, something else. So each case runs once without a fault, and every
 * other run is compared with that. A kill may leave the rollback undone; then
 * the edits are as they were.
 *
 * STEPBACK_CRASH_STRIDE=N takes every Nth point only (of the errors, every
 * 3Nth), from STEPBACK_CRASH_SEED=S on.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/log.h"
#include "interceptor/engine/engine.h"
#include "interceptor/sys/fault.h"
#include "tests/crash/crash_points.h"
#include "tests/lib/oracle.h"

/* Times of directories, in seconds: at the start, and after the edits. */
enum { OLD = 1000000000, EDITED = 1100000000 };

struct edits_case {
    const char *name;
    void (*change)(struct world *w); /* the step */
    void (*edit)(struct world *w);   /* another process, after it */
};

/* The results of a run without a fault. */
struct wanted {
    GPtrArray *edited, *undone;
};

/* ---- the tree ------------------------------------------------------------ */

static void set_time(const char *path, time_t seconds)
{
    const struct timespec times[2] = { { .tv_sec = seconds },
                                       { .tv_sec = seconds } };

    g_assert_cmpint(utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW), ==,
                    0);
}

/* Set the time of each directory that does not have the old one; with all, of
 * everything. */
static void set_times(const char *path, time_t seconds, bool all)
{
    g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
    const char *name;
    struct stat st;

    while ((name = g_dir_read_name(dir))) {
        g_autofree char *child = g_build_filename(path, name, NULL);

        g_assert_cmpint(lstat(child, &st), ==, 0);
        if (S_ISDIR(st.st_mode))
            set_times(child, seconds, all);
        else if (all)
            set_time(child, seconds);
    }
    g_assert_cmpint(lstat(path, &st), ==, 0);
    if (all || st.st_mtim.tv_sec != OLD)
        set_time(path, seconds);
}

static void fill(struct world *w)
{
    static const char *const files[] = {
        "file",         "other",          "dir/file",      "dir/moved",
        "dir/sub/file", "dir/sub/gone",   "dir/sub/large", "plain/file",
        "plain/gone",   "plain/sub/file", "tree/one",      "tree/deep/two",
    };
    g_autofree char *large = g_strnfill(300000, 'l');

    world_host_dir(w, "dir/sub");
    world_host_dir(w, "plain/sub");
    world_host_dir(w, "tree/deep");
    for (size_t i = 0; i < G_N_ELEMENTS(files); i++)
        world_host_file(w, files[i], strstr(files[i], "large") ? large : "old");
    set_times(w->share, OLD, true);
}

/* Files written in this run have a different time in each. */
static GPtrArray *look(struct world *w)
{
    g_autoptr(GRegex) time = g_regex_new(
        " (?!1000000000|1100000000)\\d{10}\\.\\d{9}", 0, 0, NULL);
    g_autoptr(GPtrArray) lines = world_snapshot(w);
    GPtrArray *result = g_ptr_array_new_with_free_func(g_free);

    for (guint i = 0; i < lines->len; i++)
        g_ptr_array_add(result,
                        g_regex_replace(time, g_ptr_array_index(lines, i), -1,
                                        0, " now", 0, NULL));
    return result;
}

/* ---- changes and edits --------------------------------------------------- */

static void put(struct world *w, const char *path, int flags)
{
    g_assert_cmpint(w->backend->put(w, path, flags, "by the step", 11, 0), ==,
                    0);
}

static void done(int rc)
{
    g_assert_cmpint(rc, ==, 0);
}

static void change_much(struct world *w)
{
    const struct world_backend *b = w->backend;

    put(w, "file", 0);
    put(w, "dir/sub/file", 0);
    put(w, "dir/sub/large", 0);
    done(b->unlink(w, "dir/sub/gone"));
    done(b->unlink(w, "plain/gone"));
    done(b->rename(w, "dir/moved", "plain/sub/moved", 0));
    done(b->chmod(w, "dir/file", 0600));
    done(b->chmod(w, "plain/file", 0600));
    done(b->mkdir(w, "new", 0755));
    put(w, "new/file", O_CREAT);
    done(b->rename(w, "other", "new/other", 0));
    done(b->link(w, "plain/sub/file", "new/linked"));
    put(w, "tree/deep/two", 0);
    done(b->unlink(w, "tree/one"));
}

/* Removed files stay on the file system: if another file got the number, it
 * might be mistaken for the removed one, and the result would depend on chance.
 */
static void remove_host(struct world *w, const char *path)
{
    g_autofree char *full = world_host_path(w, path);
    g_autofree char *away = g_build_filename(w->base, "away", NULL);
    g_autofree char *name = g_strdelimit(g_strdup(path), "/", '-');
    g_autofree char *to = g_build_filename(away, name, NULL);

    g_assert_cmpint(g_mkdir_with_parents(away, 0700), ==, 0);
    g_assert_cmpint(rename(full, to), ==, 0);
}

static void rename_host(struct world *w, const char *from, const char *to)
{
    g_autofree char *old = world_host_path(w, from);
    g_autofree char *new = world_host_path(w, to);

    g_assert_cmpint(rename(old, new), ==, 0);
}

static void replace_host(struct world *w, const char *path)
{
    remove_host(w, path);
    world_host_file(w, path, "theirs");
}

static void edit_removes_files(struct world *w)
{
    remove_host(w, "file");
    remove_host(w, "dir/sub/file");
    remove_host(w, "dir/sub/large");
    remove_host(w, "dir/file");
    remove_host(w, "plain/file");
    remove_host(w, "plain/sub/moved");
    remove_host(w, "new/other");
    remove_host(w, "plain/sub/file");
}

static void edit_removes_folders(struct world *w)
{
    remove_host(w, "dir/sub/file");
    remove_host(w, "dir/sub/large");
    remove_host(w, "dir/sub");
    remove_host(w, "tree/deep/two");
    remove_host(w, "tree/deep");
    remove_host(w, "tree");
    remove_host(w, "new/file");
    remove_host(w, "new/linked");
    rename_host(w, "new/other", "kept");
    remove_host(w, "new");
}

static void edit_moves(struct world *w)
{
    rename_host(w, "dir/sub", "elsewhere");
    rename_host(w, "tree", "new/tree");
    rename_host(w, "plain/sub/moved", "dir/again");
    rename_host(w, "file", "new/file");
    rename_host(w, "new/linked", "dir/linked");
}

static void edit_replaces(struct world *w)
{
    static const char *const files[] = { "file", "dir/sub/file", "dir/file",
                                         "plain/sub/moved", "new/other" };

    for (size_t i = 0; i < G_N_ELEMENTS(files); i++)
        replace_host(w, files[i]);
    world_host_file(w, "dir/sub/gone", "theirs");
    world_host_file(w, "other", "theirs");
    world_host_file(w, "new/theirs", "theirs");
    rename_host(w, "tree/deep", "dir/deep");
    world_host_file(w, "tree/deep", "theirs");
}

/* Another process has put files into a directory that undo removes. */
static void change_removes(struct world *w)
{
    const struct world_backend *b = w->backend;

    done(b->unlink(w, "tree/deep/two"));
    done(b->rmdir(w, "tree/deep"));
    done(b->unlink(w, "tree/one"));
    done(b->rmdir(w, "tree"));
    done(b->rename(w, "plain", "tree", 0));
    done(b->rename(w, "dir", "tree/dir", 0));
    done(b->mkdir(w, "dir", 0700));
    put(w, "dir/file", O_CREAT);
    put(w, "tree/dir/file", 0);
}

static void edit_puts(struct world *w)
{
    world_host_dir(w, "plain/theirs");
    world_host_file(w, "plain/theirs/file", "theirs");
    world_host_file(w, "dir/theirs", "theirs");
    remove_host(w, "tree/dir/sub/file");
    rename_host(w, "tree/dir/sub", "dir/sub");
    remove_host(w, "tree/dir/file");
    rename_host(w, "tree/sub", "sub");
}

static const struct edits_case cases[] = {
    { "files-removed", change_much, edit_removes_files },
    { "folders-removed", change_much, edit_removes_folders },
    { "moved", change_much, edit_moves },
    { "replaced", change_much, edit_replaces },
    { "put-into", change_removes, edit_puts },
};

/* ---- one run ------------------------------------------------------------- */

static struct world *prepare(const struct edits_case *edits,
                             const struct world_backend *backend)
{
    struct world *w = world_new(backend);
    g_autoptr(GError) error = NULL;

    fill(w);
    world_folder_open(w, &error);
    g_assert_no_error(error);
    ic_step_open(world_folder_ic(w), 1, IC_STEP_COMMAND, "changes", &error);
    edits->change(w);
    ic_step_close(world_folder_ic(w), 1, 0, 0, 0, NULL, &error);
    g_assert_no_error(error);
    backend->stop(w);
    edits->edit(w);
    set_times(w->share, EDITED, false);
    return w;
}

static bool undo(struct world *w)
{
    return ic_rollback(world_folder_ic(w), 1, true, NULL, NULL);
}

/* In a child process, under this plan. */
static void run_undo(struct world *w, struct fault_board *board,
                     const struct fault_plan *plan)
{
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        fault_use(board);
        fault_set(board, plan);
        if (world_folder_open(w, NULL))
            undo(w);
        fault_set(board, NULL);
        _exit(0);
    }
    g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
    g_assert_true(WIFSIGNALED(status) ? WTERMSIG(status) == SIGKILL
                                      : WEXITSTATUS(status) == 0);
}

static bool is_as(struct world *w, GPtrArray *wanted, const char *when)
{
    g_autoptr(GPtrArray) now = look(w);
    g_autofree char *diff = oracle_diff(wanted, now);

    if (diff)
        g_test_message("%s, the tree differs (- wanted, + found):\n%s", when,
                       diff);
    return !diff;
}

static guint count_steps(struct world *w)
{
    g_autoptr(GPtrArray) infos = ic_history(world_folder_ic(w), 10, NULL);

    return infos ? infos->len : G_MAXUINT;
}

/* After a restart the engine has completed the rollback, or has it still to do.
 */
static bool look_after(struct world *w, const struct wanted *wanted)
{
    g_autoptr(GError) error = NULL;

    if (!world_folder_open(w, &error)) {
        g_test_message("starting: %s", error->message);
        return false;
    }
    if (count_steps(w) == 0)
        return is_as(w, wanted->undone, "after the start");
    if (!is_as(w, wanted->edited, "with nothing undone"))
        return false;
    if (!ic_rollback(world_folder_ic(w), 1, true, NULL, &error)) {
        g_test_message("undoing: %s", error->message);
        return false;
    }
    return is_as(w, wanted->undone, "after undoing once more");
}

/* ---- all points ---------------------------------------------------------- */

struct test {
    const struct edits_case *edits;
    const struct world_backend *backend;
    enum fault_action action;
    int error;
    bool by_daemon; /* the undo is a request to the daemon, under its mount */
};

/* What a test has in memory that it shares with the process that undoes. */
struct shared {
    int fd;
    struct fault_board *board;
};

static void share(struct shared *shared)
{
    shared->fd = memfd_create("crash-edits", MFD_CLOEXEC);
    g_assert_cmpint(ftruncate(shared->fd, sizeof(*shared->board)), ==, 0);
    shared->board = mmap(NULL, sizeof(*shared->board), PROT_READ | PROT_WRITE,
                         MAP_SHARED, shared->fd, 0);
    g_assert_true(shared->board != MAP_FAILED);
}

static void unshare_memory(struct shared *shared)
{
    munmap(shared->board, sizeof(*shared->board));
    close(shared->fd);
}

/* The log and the folder are those of the folder's world. */
static void run_daemon_undo(struct world *w, const struct shared *shared,
                            const struct fault_plan *plan)
{
    const struct world_backend *backend = w->backend;
    g_autoptr(GError) error = NULL;

    w->backend = &world_mount;
    w->fault_fd = shared->fd;
    w->backend->start(w);
    fault_set(shared->board, plan);
    json_decref(w->backend->request(
        w, "rollback", json_pack("{s:i, s:b}", "steps", 1, "force", 1),
        &error));
    fault_set(shared->board, NULL);
    w->backend->stop(w);
    w->backend = backend;
}

static void measure(const struct test *test, struct wanted *ret_wanted)
{
    world_auto struct world *w = prepare(test->edits, test->backend);
    g_autoptr(GError) error = NULL;

    ret_wanted->edited = look(w);
    g_assert_true(world_folder_open(w, NULL));
    g_assert_false(ic_rollback(world_folder_ic(w), 1, false, NULL, NULL));
    ic_rollback(world_folder_ic(w), 1, true, NULL, &error);
    g_assert_no_error(error);
    ret_wanted->undone = look(w);
    test->backend->stop(w);
}

/* The rounds of one test. */
struct series {
    const struct test *test;
    const struct wanted *wanted;
    const struct shared *shared;
};

static bool run_round(void *opaque, unsigned point)
{
    const struct series *series = opaque;
    const struct test *test = series->test;
    const struct shared *shared = series->shared;
    const struct fault_plan plan = { test->action, point, test->error };
    const struct fault_board *board = shared->board;
    world_auto struct world *w = prepare(test->edits, test->backend);

    if (test->by_daemon)
        run_daemon_undo(w, shared, &plan);
    else
        run_undo(w, shared->board, &plan);
    if (!look_after(w, series->wanted)) {
        g_test_message("at point %u: %s %s", point, board->call, board->name);
        g_test_fail();
    }
    test->backend->stop(w);
    return board->fired != 0;
}

static void run_test(gconstpointer data)
{
    const struct test *test = data;
    struct crash_points points = crash_choose_points(NULL, test->error ? 3 : 1);
    struct shared shared;
    struct wanted wanted;
    struct series series = { test, &wanted, &shared };

    if (test->backend->log_elsewhere && access("/dev/shm", W_OK) < 0) {
        g_test_skip("there is no /dev/shm");
        return;
    }
    share(&shared);
    measure(test, &wanted);
    g_test_message("%u points", crash_each_point(points, run_round, &series));
    g_ptr_array_unref(wanted.edited);
    g_ptr_array_unref(wanted.undone);
    unshare_memory(&shared);
}

static void add(const char *name, const struct test *common)
{
    struct test *test = g_memdup2(common, sizeof(*common));
    const char *where = common->by_daemon ? "mount" : common->backend->name;
    g_autofree char *path = g_strdup_printf("/crash-edits/%s/%s/%s", name,
                                            where, common->edits->name);

    g_test_add_data_func_full(path, test, run_test, g_free);
}

int main(int argc, char **argv)
{
    const struct world_backend *backends[] = { &world_folder,
                                               &world_folder_copy };

    umask(022);
    g_test_init(&argc, &argv, NULL);
    log_set_level(g_test_verbose() ? LOG_LEVEL_INFO : LOG_LEVEL_NONE);
    for (size_t i = 0; i < 2 * G_N_ELEMENTS(cases); i++) {
        struct test test = { &cases[i / 2], backends[i % 2] };

        test.action = FAULT_KILL_BEFORE;
        add("kill", &test);
        test.action = FAULT_ERRNO;
        test.error = EIO;
        add("error", &test);
        test.action = FAULT_ERRNO_FROM;
        test.error = ENOSPC;
        add("full", &test);
        test.action = FAULT_LOOK_ERRNO;
        test.error = EMFILE;
        add("look", &test);
        test.action = FAULT_LIST_ERRNO;
        test.error = EIO;
        add("list", &test);
        test.action = FAULT_LIST_ERRNO_FROM;
        add("lists", &test);
        if (test.backend != &world_folder)
            continue;
        test.by_daemon = true;
        add("lists", &test);
        test.action = FAULT_LIST_ERRNO;
        add("list", &test);
    }
    return g_test_run();
}
