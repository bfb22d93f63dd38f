/* SPDX-License-Identifier: Apache-2.0
 *
 * p9_windows_tests - names under --profile=windows.
 *
 * Ids: WN-01 (case collisions), WN-02 (reserved names).
 */
#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "p9/profile/win_names.h"
#include "tests/p9/p9_fixture.h"
#include "tests/p9/p9_tests.h"

#define WINDOWS "--profile=windows"

#define MOST_SECONDS 0.002 /* of CPU time to create a file */

enum { MANY = 10000, BLOCK = 250 };

static int make(struct fixture *f, const char *name)
{
    return p9_create(f, name, O_RDWR | P9_OPEN_EXCL, 0644);
}

static void remove_host(struct fixture *f, const char *name)
{
    g_autofree char *path = p9_rig_path(f->rig, name);

    OK(g_remove(path));
}

static void rename_host(struct fixture *f, const char *from, const char *to)
{
    g_autofree char *old = p9_rig_path(f->rig, from);
    g_autofree char *new = p9_rig_path(f->rig, to);

    OK(g_rename(old, new));
}

/* ---- names --------------------------------------------------------------- */

static const char *const refused[] = {
    "CON",     "con",       "PRN",         "AUX",    "NUL",     "nul.txt",
    "Nul.a.b", "CON .txt",  "COM0",        "COM1",   "com9.c",  "LPT0",
    "lpt9",    "COM\u00b9", "lpt\u00b3.x", "CONIN$", "conout$", "a:b",
    "a<b",     "a>b",       "a\"b",        "a|b",    "a?b",     "a*b",
    "a\\b",    "tab\tin",   "x\x01",       "dot.",   "space ",  "con.",
    "nul ",    "...",       " ",
};

static const char *const allowed[] = {
    "CONS",    "console",   "COM",    "COM10", "lpt",       "LPTX",
    "nul1",    "auxiliary", "x.con",  ".con",  "a b",       " lead",
    ".hidden", "a.b.c",     "\u00e4", "a'b",   "com\u2074", "~$x",
};

static void test_name_rules(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(refused); i++)
        g_assert_cmpint(win_name_check(refused[i]), ==, -EINVAL);
    for (size_t i = 0; i < G_N_ELEMENTS(allowed); i++)
        g_assert_cmpint(win_name_check(allowed[i]), ==, 0);
    g_assert_cmpint(win_name_check("\xff"), ==, -EILSEQ);
    g_assert_cmpint(win_name_check("a\xc3"), ==, -EILSEQ);
}

static void test_folding(void)
{
    static const struct {
        const char *a, *b;
        bool same;
    } cases[] = {
        { "Foo", "fOO", true },
        { "foo", "fop", false },
        { "\u00e4", "\u00c4", true }, /* a with two dots */
        { "\u03c3", "\u03a3", true }, /* sigma */
        { "\u0436", "\u0416", true }, /* zhe */
        { "\u24d0", "\u24b6", true }, /* a in a circle */
        { "\u24e9", "\u24cf", true }, /* z in a circle */
        { "\u2170", "\u2160", true }, /* the Roman number one */
        { "\u217f", "\u216f", true }, /* a thousand */
        { "\u2180", "\u2170", false },
        { "\u24ea", "\u24d0", false },
        { "\u00df", "ss", false },             /* sharp s: one character */
        { "\u0131", "I", false },              /* dotless i */
        { "\u0130", "i", false },              /* I with a dot */
        { "\u017f", "S", false },              /* long s */
        { "\U00010428", "\U00010400", false }, /* beyond the basic plane */
        { "e\u0301", "\u00e9", false },        /* there is no normalization */
        { "a\xff", "A\xff", true },
        { "a\xff", "a\xfe", false },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *a = win_name_fold(cases[i].a);
        g_autofree char *b = win_name_fold(cases[i].b);

        g_assert_cmpint(strcmp(a, b) == 0, ==, cases[i].same);
    }
}

/* Each operation that makes a name, with each name. */
static void test_reserved(struct fixture *f, gconstpointer option)
{
    uint32_t file, dir = p9_fid(f, "");

    OK(make(f, "file"));
    OK(p9_mkdir(f->client, P9_ROOT, "dir", 0755));
    file = p9_fid(f, "file");
    for (size_t i = 0; i < G_N_ELEMENTS(refused); i++) {
        const char *name = refused[i];

        FAILS(EINVAL, make(f, name));
        FAILS(EINVAL, p9_lcreate(f->client, dir, name, O_RDWR, 0644));
        FAILS(EINVAL, p9_mkdir(f->client, P9_ROOT, name, 0755));
        FAILS(EINVAL, p9_symlink(f->client, P9_ROOT, name, "target"));
        FAILS(EINVAL, p9_mknod(f->client, P9_ROOT, name, S_IFREG | 0644, 0));
        FAILS(EINVAL, p9_link(f->client, P9_ROOT, file, name));
        FAILS(EINVAL, p9_rename(f->client, file, P9_ROOT, name));
        FAILS(EINVAL, p9_renameat(f->client, P9_ROOT, "dir", P9_ROOT, name));
    }
    FAILS(EILSEQ, make(f, "not \xff utf-8"));
    FAILS(EILSEQ, p9_renameat(f->client, P9_ROOT, "dir", P9_ROOT, "\xc3"));
    for (size_t i = 0; i < G_N_ELEMENTS(allowed); i++)
        OK(make(f, allowed[i]));
}

/* On a Linux host other processes can make such names. They can be read,
 * renamed and removed. */
static void test_reserved_outside(struct fixture *f, gconstpointer option)
{
    char text[4];

    p9_host_file(f, "nul", "text");
    p9_host_file(f, "odd \xff", "text");
    p9_host_file(f, "aux.c", "text");
    g_assert_cmpint(
        p9_read(f->client, p9_open_fid(f, "nul", O_RDONLY), text, 4, 0), ==, 4);
    OK(p9_renameat(f->client, P9_ROOT, "nul", P9_ROOT, "null"));
    OK(p9_unlinkat(f->client, P9_ROOT, "odd \xff", 0));
    OK(p9_remove(f->client, p9_fid(f, "aux.c")));
}

static void test_no_nodes(struct fixture *f, gconstpointer option)
{
    FAILS(EPERM, p9_mknod(f->client, P9_ROOT, "fifo", S_IFIFO | 0644, 0));
    FAILS(EPERM, p9_mknod(f->client, P9_ROOT, "sock", S_IFSOCK | 0644, 0));
    FAILS(EPERM, p9_mknod(f->client, P9_ROOT, "null", S_IFCHR | 0666, 0x103));
    OK(p9_mknod(f->client, P9_ROOT, "file", S_IFREG | 0644, 0));
    FAILS(EEXIST, p9_mknod(f->client, P9_ROOT, "FILE", S_IFREG | 0644, 0));
}

/* ---- case ---------------------------------------------------------------- */

static void test_collision(struct fixture *f, gconstpointer option)
{
    uint32_t fid = p9_fid(f, ""), other;
    struct stat st;

    OK(make(f, "Foo"));
    FAILS(EEXIST, make(f, "foo"));
    FAILS(EEXIST, p9_lcreate(f->client, fid, "FOO", O_RDWR, 0644));
    FAILS(EEXIST,
          p9_lcreate(f->client, fid, "FOO", O_RDWR | P9_OPEN_TRUNC, 0644));
    FAILS(EEXIST, p9_mkdir(f->client, P9_ROOT, "foO", 0755));
    FAILS(EEXIST, p9_symlink(f->client, P9_ROOT, "fOO", "x"));
    OK(make(f, "bar"));
    other = p9_fid(f, "bar");
    FAILS(EEXIST, p9_link(f->client, P9_ROOT, other, "foo"));
    FAILS(EEXIST, p9_rename(f->client, other, P9_ROOT, "foo"));
    FAILS(EEXIST, p9_renameat(f->client, P9_ROOT, "bar", P9_ROOT, "foo"));
    /* Only the exact name finds it. */
    FAILS(ENOENT, p9_walk(f->client, P9_ROOT, "foo", &other));
    OK(p9_stat(f->client, p9_fid(f, "Foo"), &st));
    /* The very same name is not a collision. */
    OK(p9_lcreate(f->client, fid, "Foo", O_RDWR, 0644));
    OK(p9_renameat(f->client, P9_ROOT, "bar", P9_ROOT, "Foo"));
    OK(p9_unlinkat(f->client, P9_ROOT, "Foo", 0));
    OK(make(f, "foo"));
}

static void test_own_case(struct fixture *f, gconstpointer option)
{
    uint32_t fid;

    OK(make(f, "readme"));
    OK(p9_mkdir(f->client, P9_ROOT, "Dir", 0755));
    OK(p9_renameat(f->client, P9_ROOT, "readme", P9_ROOT, "README"));
    OK(p9_renameat(f->client, P9_ROOT, "Dir", P9_ROOT, "dIR"));
    FAILS(EEXIST, make(f, "ReadMe"));
    /* In another directory it does not collide. */
    fid = p9_fid(f, "dIR");
    OK(p9_renameat(f->client, P9_ROOT, "README", fid, "Readme"));
    OK(make(f, "ReadMe"));
    FAILS(EEXIST, p9_renameat(f->client, P9_ROOT, "ReadMe", fid, "README"));
    OK(p9_renameat(f->client, P9_ROOT, "ReadMe", fid, "Readme"));
}

static void test_unicode_case(struct fixture *f, gconstpointer option)
{
    OK(make(f, "\u00dcber"));
    FAILS(EEXIST, make(f, "\u00fcber"));
    OK(make(f, "stra\u00dfe"));
    OK(make(f, "strasse"));
}

/* The index follows changes by other processes, in directories that it has
 * read. */
static void test_outside(struct fixture *f, gconstpointer option)
{
    g_autofree char *dir = NULL;

    OK(make(f, "first")); /* it is read now */
    p9_host_file(f, "Foo", "text");
    FAILS(EEXIST, make(f, "foo"));
    rename_host(f, "Foo", "Bar");
    OK(make(f, "foo"));
    FAILS(EEXIST, make(f, "bar"));
    remove_host(f, "Bar");
    OK(make(f, "bar"));
    /* Another process has made both: each can be used, and no third can be
     * made. */
    p9_host_file(f, "BAR", "text");
    FAILS(EEXIST, make(f, "Bar"));
    remove_host(f, "BAR");
    FAILS(EEXIST, make(f, "Bar"));
    OK(p9_unlinkat(f->client, P9_ROOT, "bar", 0));
    OK(make(f, "Bar"));
    /* A directory that is removed and made anew. */
    p9_step_open(f, 1);
    OK(p9_mkdir(f->client, P9_ROOT, "dir", 0755));
    OK(p9_mkdir(f->client, p9_fid(f, "dir"), "Sub", 0755));
    p9_step_close(f, 1);
    remove_host(f, "dir/Sub");
    remove_host(f, "dir");
    dir = p9_rig_path(f->rig, "dir");
    OK(g_mkdir(dir, 0755));
    OK(p9_mkdir(f->client, p9_fid(f, "dir"), "sUB", 0755));
    FAILS(EEXIST, p9_mkdir(f->client, p9_fid(f, "dir"), "sub", 0755));
}

/* More events than the queue holds: everything is read again. */
static void test_overflow(struct fixture *f, gconstpointer option)
{
    g_autofree char *limit = NULL;
    guint64 events;

    g_assert_true(g_file_get_contents("/proc/sys/fs/inotify/max_queued_events",
                                      &limit, NULL, NULL));
    events = g_ascii_strtoull(limit, NULL, 10);
    if (events > 100000)
        return; /* too long for a test */
    OK(make(f, "first"));
    p9_host_file(f, "a", "");
    for (guint64 i = 0; i < events / 4 + 16; i++) {
        rename_host(f, "a", "b");
        rename_host(f, "b", "a");
    }
    p9_host_file(f, "Late", "");
    FAILS(EEXIST, make(f, "late"));
    FAILS(EEXIST, make(f, "A"));
    OK(make(f, "B"));
}

static void test_undone(struct fixture *f, gconstpointer option)
{
    OK(make(f, "Foo"));
    p9_step_open(f, 1);
    OK(p9_unlinkat(f->client, P9_ROOT, "Foo", 0));
    OK(make(f, "foo"));
    p9_control(
        f, "step.close",
        json_pack("{s:i, s:i, s:i}", "step_id", 1, "quiet_ms", 0, "max_ms", 0));
    FAILS(EEXIST, make(f, "Foo"));
    p9_undo(f, 1);
    FAILS(EEXIST, make(f, "foo"));
    FAILS(EEXIST, make(f, "Foo"));
    p9_redo(f, 1);
    FAILS(EEXIST, make(f, "fOO"));
    OK(p9_unlinkat(f->client, P9_ROOT, "foo", 0));
    OK(make(f, "Foo"));
}

/* CPU time of the server. */
static double cpu_seconds(const struct fixture *f)
{
    struct timespec now;
    clockid_t clock;

    OK(clock_getcpuclockid(f->rig->pid, &clock));
    OK(clock_gettime(clock, &now));
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Return the cost of creating so many. */
static double create_block(struct fixture *f, uint32_t dir, int first)
{
    double start = cpu_seconds(f);

    for (int i = first; i < first + BLOCK; i++) {
        g_autofree char *name = g_strdup_printf("File-%d.c", i);
        uint32_t fid;

        OK(p9_walk(f->client, dir, "", &fid));
        OK(p9_lcreate(f->client, fid, name, O_RDWR | P9_OPEN_EXCL, 0644));
        OK(p9_clunk(f->client, fid));
    }
    return cpu_seconds(f) - start;
}

/* A directory of 10,000, created one by one: the cost of one more does not grow
 * with it. The cheapest of several blocks is free of other load. */
static void test_many(struct fixture *f, gconstpointer option)
{
    double early = G_MAXDOUBLE, late = G_MAXDOUBLE;
    uint32_t dir;

    OK(p9_mkdir(f->client, P9_ROOT, "dir", 0755));
    dir = p9_fid(f, "dir");
    for (int i = 0; i < MANY; i += BLOCK) {
        double seconds = create_block(f, dir, i);

        if (i < MANY / 4)
            early = MIN(early, seconds);
        else if (i >= MANY - MANY / 4)
            late = MIN(late, seconds);
    }
    g_test_message("of %d files, %.1f us each of the first, %.1f of the last",
                   MANY, early * 1e6 / BLOCK, late * 1e6 / BLOCK);
    g_assert_cmpfloat(late, <, 3 * early);
    g_assert_cmpfloat(late, <, BLOCK * MOST_SECONDS);
    FAILS(EEXIST, p9_mkdir(f->client, dir, "FILE-9999.C", 0755));
    FAILS(EEXIST, p9_mkdir(f->client, dir, "file-0.c", 0755));
}

/* Two clients at a time: of names that collide, one is made. */
static void test_races(struct fixture *f, gconstpointer option)
{
    struct p9_client *other = p9_client_connect(f->rig->socket, 65536, 0);
    const char *const names[] = { "Race", "rACE" };
    struct p9_client *clients[] = { f->client, other };

    for (int round = 0; round < 300; round++) {
        int made = 0;

        for (int i = 0; i < 2; i++) {
            struct p9_message m = { .type = P9_TMKDIR };

            m.tag = 7;
            m.mkdir.fid = P9_ROOT;
            m.mkdir.name = p9_string(names[i]);
            m.mkdir.mode = 0755;
            m.mkdir.gid = P9_NO_UID;
            p9_client_send(clients[i], &m);
        }
        for (int i = 0; i < 2; i++) {
            struct p9_message reply;

            g_assert_true(p9_client_receive(clients[i], &reply));
            made += reply.type == P9_RMKDIR;
            if (reply.type != P9_RMKDIR)
                g_assert_cmpuint(reply.ecode, ==, EEXIST);
        }
        g_assert_cmpint(made, ==, 1);
        if (p9_unlinkat(f->client, P9_ROOT, names[0], P9_AT_REMOVEDIR) != 0)
            OK(p9_unlinkat(f->client, P9_ROOT, names[1], P9_AT_REMOVEDIR));
    }
    p9_client_free(other);
}

/* ---- the command line ---------------------------------------------------- */

static int status_of(const char *const *arguments, char **ret_text)
{
    int status;

    g_assert_true(g_spawn_sync(NULL, (char **)arguments, NULL,
                               G_SPAWN_STDOUT_TO_DEV_NULL, NULL, NULL, NULL,
                               ret_text, &status, NULL));
    g_assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void test_options(void)
{
    struct p9_rig *rig = p9_rig_new();
    g_autofree char *share = g_strconcat("--shared-dir=", rig->share, NULL);
    g_autofree char *socket = g_strconcat("--socket-path=", rig->socket, NULL);
    g_autofree char *inside = g_strconcat("--overlay-dir=", rig->share, "/x/y",
                                          NULL);
    g_autofree char *log = g_strconcat("--undo-dir=", rig->undo_dir, NULL);
    g_autofree char *in_log = g_strconcat("--overlay-dir=", rig->undo_dir, "/x",
                                          NULL);
    g_autofree char *above = g_strconcat("--overlay-dir=", rig->base, NULL);
    g_autofree char *made = p9_rig_path(rig, "x");
    g_autofree char *made_in_log = g_build_filename(rig->undo_dir, "x", NULL);
    const char *const cases[][8] = {
        { p9_daemon_path(), share, socket, "--profile=dos" },
        { p9_daemon_path(), share, socket, WINDOWS }, /* without a place */
        { p9_daemon_path(), share, socket, inside },  /* posix stores nothing */
        { p9_daemon_path(), share, socket, WINDOWS, inside },
        { p9_daemon_path(), share, socket, WINDOWS, inside, "--sandbox=none" },
        { p9_daemon_path(), share, socket, WINDOWS, log, in_log },
        { p9_daemon_path(), share, socket, WINDOWS, above },
    };
    static const struct {
        int status;
        const char *text;
    } answers[] = {
        { 2, "posix or windows" },
        { 2, "--overlay-dir" },
        { 2, "stores no metadata" },
        { 1, "must lie outside the shared folder" },
        { 1, "must lie outside the shared folder" },
        { 1, "must lie outside the undo log" },
        { 1, "must not lie above the shared folder" },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *text = NULL;

        g_assert_cmpint(status_of(cases[i], &text), ==, answers[i].status);
        g_assert_nonnull(strstr(text, answers[i].text));
        g_assert_false(g_file_test(made, G_FILE_TEST_EXISTS));
        g_assert_false(g_file_test(made_in_log, G_FILE_TEST_EXISTS));
    }
    p9_rig_free(rig);
}

#define ADD(name, function) P9_ADD("p9-windows", name, WINDOWS, function)

void add_p9_windows_tests(void)
{
    g_test_add_func("/p9-windows/WN-02/rules", test_name_rules);
    g_test_add_func("/p9-windows/WN-01/folding", test_folding);
    g_test_add_func("/p9-windows/options", test_options);
    ADD("WN-02/reserved", test_reserved);
    ADD("WN-02/outside", test_reserved_outside);
    ADD("WN-02/nodes", test_no_nodes);
    ADD("WN-01/collision", test_collision);
    ADD("WN-01/own-case", test_own_case);
    ADD("WN-01/unicode", test_unicode_case);
    ADD("WN-01/outside", test_outside);
    ADD("WN-01/overflow", test_overflow);
    ADD("WN-01/undone", test_undone);
    ADD("WN-01/many", test_many);
    ADD("WN-01/races", test_races);
}
