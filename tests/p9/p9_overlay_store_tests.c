/* SPDX-License-Identifier: Apache-2.0
 *
 * p9_overlay_store_tests - the database of --profile=windows.
 *
 * It is lost, damaged, full, in use, or in any place. Ids: WN-03.
 */
#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "p9/overlay/overlay.h"
#include "tests/p9/p9_fixture.h"
#include "tests/p9/p9_tests.h"

#define WINDOWS "--profile=windows"

enum { ROWS = 200 };

/* ---- the store ----------------------------------------------------------- */

static char *store_path(struct fixture *f)
{
    return g_strconcat(f->rig->undo_dir, ".overlay/overlay.db", NULL);
}

static void start(struct fixture *f, const char *more)
{
    p9_rig_start(f->rig, WINDOWS, more, NULL);
    f->client = p9_client_connect(f->rig->socket, 65536, getuid());
}

/* A server that must not start, and say why. */
static void refused(const char *const *arguments, const char *why)
{
    g_autofree char *text = NULL;
    int status;

    g_assert_true(g_spawn_sync(NULL, (char **)arguments, NULL, 0, NULL, NULL,
                               NULL, &text, &status, NULL));
    g_assert_true(WIFEXITED(status));
    g_assert_cmpint(WEXITSTATUS(status), ==, 1);
    g_assert_nonnull(strstr(text, why));
}

static void run_sql(const char *path, const char *sql)
{
    sqlite3 *db;

    OK(sqlite3_open(path, &db));
    OK(sqlite3_exec(db, sql, NULL, NULL, NULL));
    OK(sqlite3_close(db));
}

/* Without the database files have their default metadata; also with a different
 * one: files do not refer to its rows. */
static void test_lost_store(struct fixture *f, gconstpointer option)
{
    g_autofree char *store = store_path(f), *text = NULL;

    OK(p9_create(f, "file", O_RDWR, 0600));
    OK(p9_symlink(f->client, P9_ROOT, "link", "target"));
    p9_pause(f);
    OK(g_remove(store));
    start(f, NULL);
    p9_mode_is(f, "file", S_IFREG | 0644);
    p9_mode_is(f, "link", S_IFREG | 0644);
    OK(p9_create(f, "other", O_RDWR, 0700));
    p9_mode_is(f, "file", S_IFREG | 0644);
    OK(p9_chmod(f, "file", 0640));
    p9_mode_is(f, "file", S_IFREG | 0640);
    text = p9_host_read(f, "link");
    g_assert_cmpstr(text, ==, "target");
}

/* Equal metadata share one row, for any number of files. */
static void test_few_rows(struct fixture *f, gconstpointer option)
{
    g_autofree char *store = store_path(f);
    sqlite3_stmt *count;
    sqlite3 *db;

    for (int i = 0; i < 100; i++) {
        g_autofree char *name = g_strdup_printf("file%d", i);

        OK(p9_create(f, name, O_RDWR, i % 2 ? 0600 : 0755));
    }
    p9_pause(f);
    OK(sqlite3_open(store, &db));
    OK(sqlite3_prepare_v2(db, "SELECT count(*) FROM rows", -1, &count, NULL));
    g_assert_cmpint(sqlite3_step(count), ==, SQLITE_ROW);
    g_assert_cmpint(sqlite3_column_int(count, 0), ==, 2);
    sqlite3_finalize(count);
    sqlite3_close(db);
}

/* Two clients that need the same new rows at the same time get correct ones. */
static void test_two_clients(struct fixture *f, gconstpointer option)
{
    struct p9_client *clients[] = { f->client, p9_client_connect(f->rig->socket,
                                                                 65536, 0) };
    static const char *const names[] = { "a", "b" };
    uint32_t fids[2];

    for (int i = 0; i < 2; i++) {
        OK(p9_create(f, names[i], O_RDWR, 0644));
        OK(p9_walk(clients[i], P9_ROOT, names[i], &fids[i]));
    }
    for (unsigned n = 0; n < 2 * ROWS; n++) {
        struct p9_message m = { .type = P9_TSETATTR };

        m.tag = (uint16_t)(n / 2);
        m.setattr.fid = fids[n % 2];
        m.setattr.valid = P9_SETATTR_MODE;
        m.setattr.mode = n / 2 + 1;
        p9_client_send(clients[n % 2], &m);
    }
    for (unsigned n = 0; n < 2 * ROWS; n++) {
        struct p9_message reply;

        g_assert_true(p9_client_receive(clients[n % 2], &reply));
        g_assert_cmpuint(reply.type, ==, P9_RSETATTR);
    }
    p9_client_free(clients[1]);
    p9_mode_is(f, "a", S_IFREG | ROWS);
    p9_mode_is(f, "b", S_IFREG | ROWS);
    p9_restart(f, WINDOWS);
    p9_mode_is(f, "a", S_IFREG | ROWS);
    p9_mode_is(f, "b", S_IFREG | ROWS);
}

/* Its content has been changed. */
static void test_spoilt_store(struct fixture *f, gconstpointer option)
{
    g_autofree char *store = store_path(f), *path = NULL;
    g_autofree char *undo = g_strconcat("--undo-dir=", f->rig->undo_dir, NULL);
    g_autofree char *share = g_strconcat("--shared-dir=", f->rig->share, NULL);
    g_autofree char *socket = g_strconcat("--socket-path=", f->rig->socket,
                                          NULL);
    const char *const arguments[] = { p9_daemon_path(), undo,    share,
                                      socket,           WINDOWS, NULL };

    OK(p9_create(f, "file", O_RDWR, 0600));
    p9_pause(f);
    run_sql(store, "UPDATE rows SET mode = -1");
    start(f, NULL);
    p9_mode_is(f, "file", S_IFREG | 0644);
    p9_pause(f);
    run_sql(store, "UPDATE rows SET mode = 384, uid = 1 << 40");
    start(f, NULL);
    p9_mode_is(f, "file", S_IFREG | 0644);
    p9_pause(f);
    /* A damaged row conflicts with the same new one: the only effect is an
     * error. */
    run_sql(store, "UPDATE rows SET mode = 'text', uid = 1000");
    start(f, NULL);
    path = p9_rig_path(f->rig, "file");
    OK(setxattr(path, OVERLAY_XATTR, "short", 5, 0));
    p9_mode_is(f, "file", S_IFREG | 0644);
    p9_pause(f);
    run_sql(store, "UPDATE meta SET value = 2 WHERE name = 'format'");
    refused(arguments, "unsupported format 2");
    g_assert_true(g_file_set_contents(store,
                                      "this is no database, is it? ....."
                                      "................................",
                                      -1, NULL));
    refused(arguments, "overlay.db: file is not a database");
}

/* In any place, under any sandbox; and for one server at a time. */
static void test_places(struct fixture *f, gconstpointer option)
{
    g_autofree char *shm = g_strdup("/dev/shm/stepback-overlay-XXXXXX");
    const char *const folders[] = { f->rig->base, shm };
    static const char *const sandboxes[] = { NULL, "--sandbox=chroot",
                                             "--sandbox=none" };

    g_assert_nonnull(g_mkdtemp(shm));
    p9_host_file(f, "file", "text");
    p9_pause(f);
    for (size_t i = 0; i < G_N_ELEMENTS(folders); i++) {
        g_autofree char *dir = g_build_filename(folders[i], "a", "b", NULL);
        g_autofree char *up = g_build_filename(folders[i], "a", NULL);
        g_autofree char *place = g_strconcat("--overlay-dir=", dir, NULL);
        g_autofree char *store = g_build_filename(dir, "overlay.db", NULL);
        struct stat st;

        for (size_t j = 0; j < G_N_ELEMENTS(sandboxes); j++) {
            if (j == 1 && getuid() != 0)
                continue;
            p9_rig_start(f->rig, WINDOWS, place, sandboxes[j], NULL);
            f->client = p9_client_connect(f->rig->socket, 65536, getuid());
            if (j > 0)
                p9_mode_is(f, "file", S_IFREG | 0711);
            OK(p9_chmod(f, "file", 0600 + (uint32_t)j));
            OK(p9_chmod(f, "file", 0711));
            p9_pause(f);
        }
        OK(stat(dir, &st));
        g_assert_cmphex(st.st_mode & 0777, ==, 0700);
        OK(g_remove(store));
        OK(g_remove(dir));
        OK(g_remove(up));
    }
    OK(g_remove(shm));
}

static void limit_files(struct fixture *f, rlim_t size)
{
    struct rlimit limit = { size, RLIM_INFINITY };

    OK(prlimit(f->rig->pid, RLIMIT_FSIZE, &limit, NULL));
}

/* The database accepts no more rows, as on a full disk: what needs a new one is
 * neither made nor changed. */
static void test_full(struct fixture *f, gconstpointer option)
{
    g_autofree char *path = p9_rig_path(f->rig, "new");
    g_autofree char *target = NULL;
    uint32_t fid;

    p9_act_as_root(f);
    OK(p9_create(f, "old", O_RDWR, 0600));
    limit_files(f, 8192); /* less than the size of the database */
    FAILS(EIO, p9_create(f, "new", O_RDWR, 0601));
    FAILS(EIO, p9_mkdir(f->client, P9_ROOT, "new", 0701));
    FAILS(EIO, p9_symlink(f->client, P9_ROOT, "new", "target"));
    FAILS(EIO, p9_chmod(f, "old", 0602));
    g_assert_false(g_file_test(path, G_FILE_TEST_EXISTS));
    p9_mode_is(f, "old", S_IFREG | 0600);
    OK(p9_create(f, "plain", O_RDWR, 0644));
    OK(p9_create(f, "same", O_RDWR, 0600));
    limit_files(f, RLIM_INFINITY);
    OK(p9_chmod(f, "old", 0602));
    OK(p9_symlink(f->client, P9_ROOT, "new", "target"));
    p9_restart(f, WINDOWS);
    p9_mode_is(f, "old", S_IFREG | 0602);
    p9_mode_is(f, "same", S_IFREG | 0600);
    fid = p9_fid(f, "new");
    OK(p9_readlink(f->client, fid, &target));
    g_assert_cmpstr(target, ==, "target");
}

/* Return how often the log file has the message. */
static unsigned count_said(const char *log)
{
    g_autofree char *text = NULL;
    unsigned n = 0;

    g_assert_true(g_file_get_contents(log, &text, NULL, NULL));
    for (const char *at = text; (at = strstr(at, "cannot add a row")); at++)
        n++;
    return n;
}

/* A client cannot fill the log file with failures. */
static void test_full_said(struct fixture *f, gconstpointer option)
{
    g_autofree char *log = g_build_filename(f->rig->base, "log", NULL);
    int own = dup(STDERR_FILENO), fd = open(log, O_WRONLY | O_CREAT, 0600);

    p9_pause(f);
    g_assert_cmpint(dup2(fd, STDERR_FILENO), ==, STDERR_FILENO);
    start(f, "--log-level=warn");
    g_assert_cmpint(dup2(own, STDERR_FILENO), ==, STDERR_FILENO);
    OK(close(own));
    OK(close(fd));
    p9_act_as_root(f);
    limit_files(f, 8192);
    for (int i = 0; i < 50; i++)
        FAILS(EIO, p9_create(f, "new", O_RDWR, 0601));
    g_assert_cmpuint(count_said(log), ==, 1);
    limit_files(f, RLIM_INFINITY);
}

static void test_read_only(struct fixture *f, gconstpointer option)
{
    g_autofree char *target = NULL;

    OK(p9_create(f, "file", O_RDWR, 0600));
    OK(p9_symlink(f->client, P9_ROOT, "link", "target"));
    p9_pause(f);
    start(f, "--readonly");
    p9_mode_is(f, "file", S_IFREG | 0600);
    OK(p9_readlink(f->client, p9_fid(f, "link"), &target));
    g_assert_cmpstr(target, ==, "target");
    FAILS(EROFS, p9_chmod(f, "file", 0612));
    FAILS(EROFS, p9_create(f, "new", O_RDWR, 0644));
    FAILS(EROFS, p9_mkdir(f->client, P9_ROOT, "new", 0700));
}

static void test_busy(struct fixture *f, gconstpointer option)
{
    struct p9_rig *other = p9_rig_new();
    g_autofree char *place = g_strconcat("--overlay-dir=", f->rig->undo_dir,
                                         ".overlay", NULL);
    g_autofree char *share = g_strconcat("--shared-dir=", other->share, NULL);
    g_autofree char *socket = g_strconcat("--socket-path=", other->socket,
                                          NULL);
    const char *const arguments[] = { p9_daemon_path(), share, socket,
                                      WINDOWS,          place, NULL };

    refused(arguments, "in use by another server");
    p9_rig_free(other);
}

#define ADD(name, function) P9_ADD("p9-overlay-store", name, WINDOWS, function)

void add_p9_overlay_store_tests(void)
{
    ADD("WN-03/lost-store", test_lost_store);
    ADD("WN-03/few-rows", test_few_rows);
    ADD("WN-03/two-clients", test_two_clients);
    ADD("WN-03/spoilt-store", test_spoilt_store);
    ADD("WN-03/places", test_places);
    ADD("WN-03/full", test_full);
    ADD("WN-03/full-said", test_full_said);
    ADD("WN-03/read-only", test_read_only);
    ADD("WN-03/busy", test_busy);
}
