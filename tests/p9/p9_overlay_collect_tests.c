/* SPDX-License-Identifier: Apache-2.0
 *
 * p9_overlay_collect_tests - which rows of the overlay are removed.
 *
 * Rows are kept that the share, steps, redo or a recovery need. Ids: WN-03,
 * WN-05.
 */
#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "p9/overlay/overlay.h"
#include "tests/p9/p9_fixture.h"
#include "tests/p9/p9_tests.h"

#define WINDOWS "--profile=windows"

enum { IDLE = 3 * OVERLAY_FEW_ROWS, LEVELS = 600 };

/* ---- the store ----------------------------------------------------------- */

static int64_t ask_sql(struct fixture *f, const char *sql)
{
    g_autofree char *path = g_strconcat(f->rig->undo_dir, ".overlay/overlay.db",
                                        NULL);
    sqlite3_stmt *statement;
    int64_t value = 0;
    sqlite3 *db;

    OK(sqlite3_open(path, &db));
    OK(sqlite3_prepare_v2(db, sql, -1, &statement, NULL));
    if (sqlite3_step(statement) == SQLITE_ROW)
        value = sqlite3_column_int64(statement, 0);
    OK(sqlite3_finalize(statement));
    OK(sqlite3_close(db));
    return value;
}

/* While no daemon runs. */
static int64_t count_rows(struct fixture *f)
{
    return ask_sql(f, "SELECT count(*) FROM rows");
}

static void add_idle_rows(struct fixture *f)
{
    g_autofree char *sql = g_strdup_printf(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n"
        " WHERE i < %d) INSERT OR IGNORE INTO rows"
        " SELECT NULL, 0, 1000000 + i, 0, 0 FROM n",
        IDLE);

    ask_sql(f, sql);
}

/* Start twice with many rows. Returns how many are left, except the newest,
 * which no file has. */
static int64_t collect(struct fixture *f)
{
    int64_t before;

    p9_pause(f);
    add_idle_rows(f);
    before = count_rows(f);
    p9_resume(f, WINDOWS);
    p9_pause(f);
    g_assert_cmpint(count_rows(f), ==, before);
    p9_resume(f, WINDOWS);
    p9_pause(f);
    before = count_rows(f) - 1;
    p9_resume(f, WINDOWS);
    return before;
}

/* ---- rows that are needed ------------------------------------------------ */

/* Four rows: 0600, 0700, a link's and 0640. */
static void make_tree(struct fixture *f)
{
    OK(p9_create(f, "file", O_RDWR, 0600));
    OK(p9_create(f, "plain", O_RDWR, 0644));
    OK(p9_mkdir(f->client, P9_ROOT, "dir", 0755));
    OK(p9_mkdir(f->client, p9_fid(f, "dir"), "in", 0700));
    OK(p9_symlink(f->client, p9_fid(f, "dir/in"), "link", "target"));
    OK(p9_link(f->client, P9_ROOT, p9_fid(f, "file"), "twice"));
    OK(p9_mkdir(f->client, p9_fid(f, "dir/in"), "deep", 0755));
    OK(p9_chmod(f, "dir/in/deep", 0640));
}

static void test_share(struct fixture *f, gconstpointer option)
{
    g_autofree char *before = NULL;
    int64_t newest;

    make_tree(f);
    OK(p9_chmod(f, "", 0711));
    before = p9_tree(f);
    g_assert_cmpint(collect(f), ==, 5);
    p9_tree_is(f, before);
    g_assert_cmphex(p9_mode(f, ""), ==, S_IFDIR | 0711);
    /* No number is reused. */
    p9_pause(f);
    newest = ask_sql(f, "SELECT max(id) FROM rows");
    p9_resume(f, WINDOWS);
    OK(p9_chmod(f, "plain", 0123));
    p9_pause(f);
    g_assert_cmpint(newest, >=, IDLE);
    g_assert_cmpint(ask_sql(f, "SELECT id FROM rows WHERE mode = 83"), >,
                    newest);
    p9_resume(f, WINDOWS);
    g_assert_cmphex(p9_mode(f, "plain"), ==, S_IFREG | 0123);
}

/* Only the log refers to each row, in one way. */
static void make_history(struct fixture *f, char *trees[4])
{
    p9_step_open(f, 1);
    make_tree(f);
    p9_step_close(f, 1);
    trees[0] = p9_tree(f);
    p9_step_open(f, 2); /* in records */
    OK(p9_chmod(f, "file", 0755));
    OK(p9_chmod(f, "dir/in", 0711));
    OK(p9_chmod(f, "plain", 0604));
    p9_step_close(f, 2);
    trees[1] = p9_tree(f);
    p9_step_open(f, 3); /* in removed files */
    OK(p9_unlinkat(f->client, p9_fid(f, "dir/in"), "link", 0));
    OK(p9_unlinkat(f->client, p9_fid(f, "dir/in"), "deep", P9_AT_REMOVEDIR));
    OK(p9_unlinkat(f->client, P9_ROOT, "plain", 0));
    p9_step_close(f, 3);
    trees[2] = p9_tree(f);
    p9_step_open(f, 4); /* in what is undone */
    OK(p9_create(f, "new", O_RDWR, 0612));
    OK(p9_chmod(f, "dir", 0712));
    OK(p9_symlink(f->client, P9_ROOT, "now", "a/link"));
    p9_step_close(f, 4);
    trees[3] = p9_tree(f);
    p9_undo(f, 1);
}

static void check_log(struct fixture *f)
{
    char *trees[4];

    make_history(f, trees);
    p9_tree_is(f, trees[2]);
    g_assert_cmpint(collect(f), ==, 9);
    p9_redo(f, 1);
    p9_tree_is(f, trees[3]);
    p9_undo(f, 2);
    p9_tree_is(f, trees[1]);
    g_assert_cmpint(collect(f), ==, 9);
    p9_undo(f, 1);
    p9_tree_is(f, trees[0]);
    g_assert_cmpint(collect(f), ==, 9);
    p9_redo(f, 3);
    p9_tree_is(f, trees[3]);
    for (int i = 0; i < 4; i++)
        g_free(trees[i]);
}

static void test_log(struct fixture *f, gconstpointer option)
{
    check_log(f);
}

static void test_log_copied(struct fixture *f, gconstpointer option)
{
    p9_log_elsewhere(f, option, check_log);
}

/* Evicted steps need no rows. */
static void test_discarded(struct fixture *f, gconstpointer option)
{
    char *trees[4];

    make_history(f, trees);
    p9_control(f, "discard", NULL);
    /* 0755 of a file; 0711, 0604 is gone, and 0600 with it. */
    g_assert_cmpint(collect(f), ==, 2);
    p9_tree_is(f, trees[2]);
    for (int i = 0; i < 4; i++)
        g_free(trees[i]);
}

/* Killed in a step, with many rows at the start that rolls it back. */
static void test_recovery(struct fixture *f, gconstpointer option)
{
    g_autofree char *before = NULL;
    siginfo_t end;

    make_tree(f);
    p9_restart(f, WINDOWS);
    before = p9_tree(f);
    p9_step_open(f, 1);
    OK(p9_chmod(f, "file", 0755));
    OK(p9_unlinkat(f->client, p9_fid(f, "dir/in"), "link", 0));
    OK(p9_chmod(f, "dir/in", 0711));
    OK(kill(f->rig->pid, SIGKILL));
    OK(waitid(P_PID, (id_t)f->rig->pid, &end, WEXITED | WNOWAIT));
    add_idle_rows(f);
    p9_kill_restart(f, WINDOWS);
    p9_tree_is(f, before);
    p9_restart(f, WINDOWS);
    p9_pause(f);
    g_assert_cmpint(count_rows(f), ==, 5);
    p9_resume(f, WINDOWS);
    p9_tree_is(f, before);
}

/* ---- when none goes ------------------------------------------------------ */

/* A log that was elsewhere at one start, and is back at the next. */
static void test_moved(struct fixture *f, gconstpointer option)
{
    g_autofree char *there = p9_rig_path(f->rig, "dir");
    g_autofree char *away = g_build_filename(f->rig->base, "away", NULL);
    g_autofree char *before = NULL;

    make_tree(f);
    before = p9_tree(f);
    p9_pause(f);
    add_idle_rows(f);
    OK(g_rename(there, away));
    p9_resume(f, WINDOWS);
    p9_pause(f);
    OK(g_rename(away, there));
    p9_resume(f, WINDOWS);
    p9_tree_is(f, before);
    p9_pause(f);
    g_assert_cmpint(count_rows(f), ==, 5);
    p9_resume(f, WINDOWS);
    p9_tree_is(f, before);
}

/* How many rows are there after the starts that would remove some? */
static int64_t count_kept(struct fixture *f)
{
    int64_t rows;

    for (int i = 0; i < 3; i++) {
        p9_resume(f, WINDOWS);
        p9_pause(f);
    }
    rows = count_rows(f);
    p9_resume(f, WINDOWS);
    return rows;
}

static void make_deep(struct fixture *f)
{
    int fd = open(f->rig->share, O_PATH | O_DIRECTORY);

    for (int i = 0; i < LEVELS; i++) {
        int in;

        OK(mkdirat(fd, "d", 0755));
        in = openat(fd, "d", O_PATH | O_DIRECTORY);
        close(fd);
        fd = in;
    }
    close(fd);
}

static void test_deep(struct fixture *f, gconstpointer option)
{
    OK(p9_create(f, "file", O_RDWR, 0600));
    p9_pause(f);
    add_idle_rows(f);
    make_deep(f);
    g_assert_cmpint(count_kept(f), ==, IDLE + 1);
}

static void test_other_log(struct fixture *f, gconstpointer option)
{
    g_autofree char *version = g_build_filename(f->rig->undo_dir, "version",
                                                NULL);

    OK(p9_create(f, "file", O_RDWR, 0600));
    p9_pause(f);
    add_idle_rows(f);
    g_assert_true(g_file_set_contents(version, "2\n", -1, NULL));
    g_assert_cmpint(count_kept(f), ==, IDLE + 1);
}

/* Its files may have rows that are in no other. */
static void test_other_share(struct fixture *f, gconstpointer option)
{
    g_autofree char *other = g_strconcat(f->rig->share, ".old", NULL);

    OK(p9_create(f, "file", O_RDWR, 0600));
    p9_pause(f);
    add_idle_rows(f);
    OK(g_rename(f->rig->share, other));
    OK(g_mkdir(f->rig->share, 0755));
    g_assert_cmpint(count_kept(f), ==, IDLE + 1);
    p9_pause(f);
    OK(g_rmdir(f->rig->share));
    OK(g_rename(other, f->rig->share));
    g_assert_cmpint(count_kept(f), ==, IDLE + 1);
    g_assert_cmphex(p9_mode(f, "file"), ==, S_IFREG | 0600);
}

#define ADD(name, function)                                                    \
    P9_ADD("p9-overlay-collect", name, WINDOWS, function)

void add_p9_overlay_collect_tests(void)
{
    ADD("WN-03/share", test_share);
    ADD("WN-05/log", test_log);
    ADD("WN-05/log-copied", test_log_copied);
    ADD("WN-05/discarded", test_discarded);
    ADD("WN-05/recovery", test_recovery);
    ADD("WN-03/moved", test_moved);
    ADD("WN-03/deep", test_deep);
    ADD("WN-03/other-log", test_other_log);
    ADD("WN-03/other-share", test_other_share);
}
