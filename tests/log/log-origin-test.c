/* SPDX-License-Identifier: Apache-2.0
 *
 * log-origin-test - a log that was not made here is not opened, and a client
 * cannot make one.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "interceptor/interceptor.h"
#include "tests/lib/oracle.h"
#include "tests/lib/world.h"

#define OK(call)          g_assert_cmpint((call), ==, 0)
#define EXPECT(call, err) g_assert_cmpint((call), ==, -(err))

/* ---- the mark of a log's folder ------------------------------------------ */

static void run(const char *program, const char *option, const char *a,
                const char *b)
{
    const char *argv[] = { program, option, a, b, NULL };
    int status;

    g_assert_true(g_spawn_sync(NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH,
                               NULL, NULL, NULL, NULL, &status, NULL));
    OK(status);
}

static struct ic *open_share(const char *share, const char *log, GError **error)
{
    struct ic_options options = {
        .share = share, .undo_dir = log, .no_timer = true, .no_watch = true
    };

    return ic_open_share(&options, error);
}

static void expect_refused(const char *share, const char *log)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) before = oracle_snapshot(log, NULL), after = NULL;
    g_autofree char *diff = NULL;

    g_assert_null(open_share(share, log, &error));
    g_assert_error(error, IC_ERROR, IC_ERROR_INVALID_DIRECTORY);
    g_assert_nonnull(strstr(error->message, "setfattr -n user.stepback.log"));
    after = oracle_snapshot(log, NULL);
    diff = oracle_diff(before, after);
    g_assert_null(diff);
}

/* Run the command that the message names. */
static void mark_as_told(const char *share, const char *log)
{
    g_autoptr(GError) error = NULL;
    const char *command;
    g_auto(GStrv) words = NULL;

    g_assert_null(open_share(share, log, &error));
    command = strstr(error->message, "setfattr -n ");
    g_assert_true(g_shell_parse_argv(command, NULL, &words, NULL));
    g_assert_cmpuint(g_strv_length(words), ==, 6);
    OK(setxattr(words[5], words[2], words[4], strlen(words[4]), 0));
}

struct folders {
    char *base, *share, *log, *copy;
};

static void folders_init(struct folders *f)
{
    struct ic *ic;

    f->base = g_dir_make_tmp("log-origin-XXXXXX", NULL);
    f->share = g_build_filename(f->base, "share", NULL);
    f->log = g_build_filename(f->base, "log", NULL);
    f->copy = g_build_filename(f->base, "a copy", NULL);
    OK(mkdir(f->share, 0755));
    ic = open_share(f->share, f->log, NULL);
    g_assert_nonnull(ic);
    ic_close(ic);
}

static void folders_clear(struct folders *f)
{
    run("rm", "-rf", f->base, NULL);
    g_free(f->base);
    g_free(f->share);
    g_free(f->log);
    g_free(f->copy);
}

static void expect_opened(const char *share, const char *log)
{
    g_autoptr(GError) error = NULL;
    struct ic *ic = open_share(share, log, &error);

    g_assert_no_error(error);
    ic_close(ic);
}

/* cp -a copies the attribute, which then names another folder. */
static void copied(void)
{
    struct folders f;

    folders_init(&f);
    expect_opened(f.share, f.log);
    run("cp", "-a", f.log, f.copy);
    expect_refused(f.share, f.copy);
    mark_as_told(f.share, f.copy);
    expect_opened(f.share, f.copy);
    folders_clear(&f);
}

static void without_a_mark(void)
{
    struct folders f;
    g_autofree char *version = NULL;

    folders_init(&f);
    OK(removexattr(f.log, "user.stepback.log"));
    expect_refused(f.share, f.log);
    /* Nor without the file that a log gets first. */
    version = g_build_filename(f.log, "version", NULL);
    OK(unlink(version));
    expect_refused(f.share, f.log);
    OK(setxattr(f.log, "user.stepback.log", "1-1.000000000", 13, 0));
    expect_refused(f.share, f.log);
    folders_clear(&f);
}

static void moved(void)
{
    struct folders f;

    folders_init(&f);
    OK(rename(f.log, f.copy));
    expect_opened(f.share, f.copy);
    OK(mkdir(f.log, 0700)); /* an empty folder becomes a log */
    expect_opened(f.share, f.log);
    folders_clear(&f);
}

/* "stepback undo" does that while the first command's server makes the log. */
static void looked_at_first(void)
{
    struct ic_options options = { .no_timer = true,
                                  .no_watch = true,
                                  .no_recovery = true };
    struct folders f;
    struct ic *ic;

    folders_init(&f);
    OK(mkdir(f.copy, 0700));
    options.share = f.share;
    options.undo_dir = f.copy;
    ic = ic_open_share(&options, NULL);
    g_assert_nonnull(ic);
    ic_close(ic);
    expect_opened(f.share, f.copy);
    folders_clear(&f);
}

static gpointer close_soon(gpointer ic)
{
    g_usleep(100 * 1000);
    ic_close(ic);
    return NULL;
}

/* "stepback history" does that while a command's server starts. */
static void in_use_for_a_moment(void)
{
    struct ic_options options = { .no_timer = true,
                                  .no_watch = true,
                                  .no_recovery = true };
    struct folders f;
    GThread *thread;
    struct ic *ic;

    folders_init(&f);
    options.share = f.share;
    options.undo_dir = f.copy;
    ic = ic_open_share(&options, NULL);
    g_assert_nonnull(ic);
    thread = g_thread_new("closer", close_soon, ic);
    expect_opened(f.share, f.copy);
    g_thread_join(thread);
    folders_clear(&f);
}

/* ---- logs in the folder -------------------------------------------------- */

static const char *const odd_names[] = {
    ".stepback",
    ".Stepback",
    ".STEPBACK",
    ".stepback.",
    ".stepback ",
    "STEPBA~1",
    ".\xc5\xbftepback",       /* a long s */
    ".\xef\xac\x86\x65pback", /* a ligature */
    ".stepbac\xe2\x84\xaa",   /* a Kelvin sign */
    ".\xe2\x80\x8bstepback",  /* a character of no width */
};

static void cannot_make(gconstpointer backend)
{
    world_auto struct world *w = world_new(backend);
    const struct world_backend *b = w->backend;

    world_host_dir(w, "dir");
    world_host_file(w, "file", "text");
    if (!world_start(w))
        return;
    world_step(w);
    for (size_t i = 0; i < G_N_ELEMENTS(odd_names); i++) {
        const char *name = odd_names[i];

        EXPECT(b->mkdir(w, name, 0755), EPERM);
        EXPECT(b->put(w, name, O_CREAT, "x", 1, 0), EPERM);
        EXPECT(b->mknod(w, name, S_IFIFO | 0644, 0), EPERM);
        EXPECT(b->symlink(w, "dir", name), EPERM);
        EXPECT(b->link(w, "file", name), EPERM);
        EXPECT(b->rename(w, "dir", name, 0), EPERM);
        OK(b->chdir(w, "dir"));
        EXPECT(b->mkdir(w, name, 0755), EPERM);
        OK(b->chdir(w, NULL));
    }
    EXPECT(b->setxattr(w, "dir", "user.stepback.log", "1-1.000000000", 13),
           EPERM);
    OK(b->mkdir(w, ".stepback2", 0755));
    OK(b->mkdir(w, ".stepbac", 0755));
    OK(b->mkdir(w, "\xc3\xa4.stepbac", 0755));
}

/* A search of the folder reports no error for it. */
static void assert_not_listed(const char *folder)
{
    g_autoptr(GDir) list = g_dir_open(folder, 0, NULL);
    const char *name;
    guint others = 0;

    g_assert_nonnull(list);
    for (; (name = g_dir_read_name(list)); others++)
        g_assert_cmpstr(name, !=, ".stepback");
    g_assert_cmpuint(others, >, 0);
}

static void cannot_enter(gconstpointer backend)
{
    world_auto struct world *w = world_new(backend);
    const struct world_backend *b = w->backend;
    g_autofree char *version = world_host_path(w, ".stepback/sub/version");
    g_autofree char *text = NULL;
    struct stat st;

    world_host_dir(w, ".stepback");
    world_host_dir(w, ".stepback/sub");
    world_host_file(w, ".stepback/sub/version", "1\n");
    world_host_dir(w, "dir");
    if (!world_start(w))
        return;
    world_step(w);
    EXPECT(b->stat(w, ".stepback", &st), EACCES);
    EXPECT(b->stat(w, ".stepback/sub/version", &st), EACCES);
    EXPECT(b->put(w, ".stepback/sub/version", 0, "2", 1, 0), EACCES);
    EXPECT(b->mkdir(w, ".stepback/new", 0755), EACCES);
    if (b == &world_mount)
        assert_not_listed(w->mount);
    g_assert_cmpint(b->rename(w, ".stepback", "other", 0), <, 0);
    g_assert_cmpint(b->rename(w, "dir", ".stepback", RENAME_EXCHANGE), <, 0);
    g_assert_cmpint(b->rmdir(w, ".stepback"), <, 0);
    g_assert_true(g_file_get_contents(version, &text, NULL, NULL));
    g_assert_cmpstr(text, ==, "1\n");
}

static const struct world_case cases[] = {
    { "cannot-make", cannot_make },
    { "cannot-enter", cannot_enter },
};

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/log-origin/copied", copied);
    g_test_add_func("/log-origin/without-a-mark", without_a_mark);
    g_test_add_func("/log-origin/moved", moved);
    g_test_add_func("/log-origin/looked-at-first", looked_at_first);
    g_test_add_func("/log-origin/in-use-for-a-moment", in_use_for_a_moment);
    world_add_cases("/log-origin", WORLD_BACKENDS, cases, G_N_ELEMENTS(cases));
    return g_test_run();
}
