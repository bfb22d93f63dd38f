/* SPDX-License-Identifier: Apache-2.0
 *
 * inode-lazy-test - what is listed is known without having been open.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "interceptor/interceptor.h"
#include "tests/oracle.h"
#include "tests/world.h"

#define OK(call) g_assert_cmpint((call), ==, 0)

/* Of a file that need not be opened to be known. */
enum { OLD_ENOUGH_US = 150000 };

enum { REUSE_TRIES = 200, RENAMES = 3000, HOARD = 200, RESERVE_FROM = 100 };

struct fixture {
    struct world *world; /* for its folders; never started */
    struct ic *ic;
    int stop;
};

static bool is_reserved(int fd)
{
    return fd >= RESERVE_FROM;
}

static void set_up(struct fixture *f, gconstpointer data)
{
    struct ic_options options = { .no_timer = true,
                                  .max_inode_fds = RESERVE_FROM,
                                  .is_reserved_fd = is_reserved };
    g_autoptr(GError) error = NULL;

    f->world = world_new(&world_folder);
    world_host_file(f->world, "file", "file");
    world_host_file(f->world, "other", "the other");
    world_host_dir(f->world, "dir");
    world_host_file(f->world, "dir/inner", "inner");
    g_usleep(OLD_ENOUGH_US);
    options.share = f->world->share;
    options.undo_dir = data ? f->world->undo_dir : NULL;
    ic_set_log(0, NULL);
    f->ic = ic_open_share(&options, &error);
    g_assert_no_error(error);
}

static void tear_down(struct fixture *f, gconstpointer data)
{
    ic_close(f->ic);
    world_free(f->world);
}

static struct ic_inode *root(struct fixture *f)
{
    return ic_root(f->ic);
}

/* A hold. */
static struct ic_inode *meet(struct fixture *f, struct ic_inode *dir,
                             const char *name)
{
    struct ic_inode *inode;
    struct stat st;

    OK(ic_lookup_lazy(f->ic, dir, name, &inode, &st));
    g_assert_cmpuint(st.st_ino, ==, ic_inode_ino(inode));
    return inode;
}

static bool is_open(struct ic_inode *inode)
{
    bool open = ic_inode_ref_open(inode);

    if (open)
        ic_inode_unref(inode);
    return open;
}

/* Of an inode that is held: its link count, or -errno. */
static int links_of(struct fixture *f, struct ic_inode *inode)
{
    int rc = ic_inode_use(f->ic, inode);
    struct stat st;

    if (rc < 0)
        return rc;
    OK(ic_stat(f->ic, inode, &st));
    g_assert_cmpuint(st.st_ino, ==, ic_inode_ino(inode));
    ic_inode_unref(inode);
    return (int)st.st_nlink;
}

static char *read_held(struct fixture *f, struct ic_inode *inode)
{
    char text[64] = "";
    int fd;

    OK(ic_inode_use(f->ic, inode));
    OK(ic_open(f->ic, inode, O_RDONLY, &fd));
    g_assert_cmpint(pread(fd, text, sizeof(text) - 1, 0), >=, 0);
    close(fd);
    ic_inode_unref(inode);
    return g_strdup(text);
}

/* ---- what is known, and how ---------------------------------------------- */

static void test_opens_nothing(struct fixture *f, gconstpointer data)
{
    struct rlimit old, none;
    struct ic_inode *file, *dir;

    OK(getrlimit(RLIMIT_NOFILE, &old));
    none = old;
    none.rlim_cur = 3;
    OK(setrlimit(RLIMIT_NOFILE, &none));
    file = meet(f, root(f), "file");
    dir = meet(f, root(f), "dir");
    OK(setrlimit(RLIMIT_NOFILE, &old));
    g_assert_false(is_open(file));
    g_assert_true(S_ISDIR(ic_inode_type(dir)));
    g_assert_cmpint(links_of(f, file), ==, 1);
    g_assert_true(is_open(file));
    ic_inode_unhold(dir);
    ic_inode_unhold(file);
}

/* Its time of birth does not tell it from the next that gets its number. */
static void test_young(struct fixture *f, gconstpointer data)
{
    struct ic_inode *young;

    world_host_file(f->world, "young", "young");
    young = meet(f, root(f), "young");
    g_assert_true(is_open(young));
    ic_inode_unhold(young);
}

static void test_no_such(struct fixture *f, gconstpointer data)
{
    struct ic_inode *inode;
    struct stat st;

    g_assert_cmpint(ic_lookup_lazy(f->ic, root(f), "none", &inode, &st), ==,
                    -ENOENT);
    g_assert_cmpint(ic_lookup_lazy(f->ic, root(f), "..", &inode, &st), ==,
                    -EINVAL);
    g_assert_cmpint(ic_lookup_lazy(f->ic, root(f), "dir/inner", &inode, &st),
                    ==, -EINVAL);
}

/* However it is met, and by whatever name, it is one. */
static void test_is_one(struct fixture *f, gconstpointer data)
{
    g_autofree char *path = world_host_path(f->world, "file");
    g_autofree char *link_path = world_host_path(f->world, "link");
    struct ic_inode *listed = meet(f, root(f), "file"), *again, *found;
    struct stat st;

    OK(link(path, link_path));
    again = meet(f, root(f), "link");
    g_assert_true(again == listed);
    g_assert_false(is_open(listed));
    OK(ic_lookup(f->ic, root(f), "file", &found, &st));
    g_assert_true(found == listed);
    ic_inode_unhold(again);
    again = meet(f, root(f), "file");
    g_assert_true(again == listed);
    ic_inode_unref(found);
    ic_inode_unhold(again);
    ic_inode_unhold(listed);
}

/* What is renamed by another thread between a listing's look at it and what the
 * listing makes of that is where it was moved to. */
static struct fixture *overtaken; /* by the next look at "file" */

static gpointer move_file(gpointer data)
{
    struct fixture *f = data;

    OK(ic_renameat2(f->ic, root(f), "file", root(f), "moved", 0));
    return NULL;
}

/* In front of libc's, for the library, too. */
int statx(int dirfd, const char *restrict name, int flags, unsigned mask,
          struct statx *restrict ret_stat)
{
    int rc = (int)syscall(SYS_statx, dirfd, name, flags, mask, ret_stat);
    struct fixture *f = overtaken;

    if (f && strcmp(name, "file") == 0) {
        overtaken = NULL;
        g_thread_join(g_thread_new("move", move_file, f));
    }
    return rc;
}

static void test_overtaken(struct fixture *f, gconstpointer data)
{
    struct ic_inode *file = meet(f, root(f), "file"), *again;
    struct stat st;

    overtaken = f;
    g_assert_cmpint(ic_lookup_lazy(f->ic, root(f), "file", &again, &st), ==,
                    -ENOENT);
    g_assert_null(overtaken);
    g_assert_cmpint(links_of(f, file), ==, 1);
    ic_inode_unhold(file);
}

/* ---- what others do to it ------------------------------------------------ */

static void test_moved_by_others(struct fixture *f, gconstpointer data)
{
    g_autofree char *path = world_host_path(f->world, "file");
    g_autofree char *other = world_host_path(f->world, "other");
    struct ic_inode *file = meet(f, root(f), "file"), *again;

    OK(rename(other, path));
    g_assert_cmpint(links_of(f, file), ==, -ESTALE);
    again = meet(f, root(f), "file");
    g_assert_true(again != file);
    g_assert_cmpint(links_of(f, again), ==, 1);
    ic_inode_unhold(again);
    ic_inode_unhold(file);
}

/* The next file that has the number is another. */
static void test_number_given_again(struct fixture *f, gconstpointer data)
{
    g_autofree char *path = world_host_path(f->world, "file");
    struct ic_inode *file = meet(f, root(f), "file"), *again;
    struct stat st = { 0 };

    for (int i = 0; i < REUSE_TRIES && st.st_ino != ic_inode_ino(file); i++) {
        OK(unlink(path));
        world_host_file(f->world, "file", "new");
        OK(lstat(path, &st));
    }
    if (st.st_ino != ic_inode_ino(file))
        g_test_message("no number was given again here");
    g_usleep(OLD_ENOUGH_US);
    again = meet(f, root(f), "file");
    g_assert_true(again != file);
    g_assert_cmpint(links_of(f, file), ==, -ESTALE);
    g_assert_cmpint(links_of(f, again), ==, 1);
    ic_inode_unhold(again);
    ic_inode_unhold(file);
}

/* It is not lost, it is forbidden. */
static void test_forbidden(struct fixture *f, gconstpointer data)
{
    struct ic_inode *dir = meet(f, root(f), "dir"), *inner;
    g_autofree char *path = world_host_path(f->world, "dir");

    OK(ic_inode_use(f->ic, dir));
    inner = meet(f, dir, "inner");
    OK(fchmodat(AT_FDCWD, path, 0, 0));
    OK(seteuid(65534));
    g_assert_cmpint(links_of(f, inner), ==, -EACCES);
    OK(seteuid(0));
    OK(fchmodat(AT_FDCWD, path, 0755, 0));
    g_assert_cmpint(links_of(f, inner), ==, 1);
    ic_inode_unhold(inner);
    ic_inode_unref(dir);
    ic_inode_unhold(dir);
}

/* ---- what the door does to it -------------------------------------------- */

static void test_renamed(struct fixture *f, gconstpointer data)
{
    struct ic_inode *file = meet(f, root(f), "file");
    struct ic_inode *other = meet(f, root(f), "other");
    struct ic_inode *dir = meet(f, root(f), "dir"), *inner;

    OK(ic_inode_use(f->ic, dir));
    inner = meet(f, dir, "inner");
    OK(ic_renameat2(f->ic, root(f), "dir", root(f), "folder", 0));
    OK(ic_renameat2(f->ic, root(f), "file", dir, "file", 0));
    OK(ic_renameat2(f->ic, dir, "file", root(f), "other", RENAME_EXCHANGE));
    g_assert_cmpint(links_of(f, inner), ==, 1);
    g_assert_cmpint(links_of(f, file), ==, 1);
    g_assert_cmpint(links_of(f, other), ==, 1);
    ic_inode_unhold(inner);
    ic_inode_unref(dir);
    ic_inode_unhold(dir);
    ic_inode_unhold(other);
    ic_inode_unhold(file);
}

/* A client may hold what it removes. */
static void test_removed(struct fixture *f, gconstpointer data)
{
    struct ic_inode *file = meet(f, root(f), "file");
    struct ic_inode *other = meet(f, root(f), "other");
    struct ic_inode *dir = meet(f, root(f), "dir");
    g_autofree char *text = NULL;

    OK(ic_renameat2(f->ic, root(f), "file", root(f), "other", 0));
    OK(ic_inode_use(f->ic, dir));
    OK(ic_unlinkat(f->ic, dir, "inner", 0));
    ic_inode_unref(dir);
    OK(ic_unlinkat(f->ic, root(f), "dir", AT_REMOVEDIR));
    g_assert_cmpint(links_of(f, other), ==, 0);
    g_assert_cmpint(links_of(f, dir), >=, 0);
    text = read_held(f, other);
    g_assert_cmpstr(text, ==, "the other");
    OK(ic_unlinkat(f->ic, root(f), "other", 0));
    g_assert_cmpint(links_of(f, file), ==, 0);
    ic_inode_unhold(dir);
    ic_inode_unhold(other);
    ic_inode_unhold(file);
}

/* Of two names the one goes by which it was met last. */
static void test_removed_link(struct fixture *f, gconstpointer data)
{
    g_autofree char *path = world_host_path(f->world, "file");
    g_autofree char *link_path = world_host_path(f->world, "link");
    struct ic_inode *file, *again;

    OK(link(path, link_path));
    file = meet(f, root(f), "file");
    again = meet(f, root(f), "link");
    OK(ic_unlinkat(f->ic, root(f), "link", 0));
    g_assert_cmpint(links_of(f, file), ==, 1);
    ic_inode_unhold(again);
    ic_inode_unhold(file);
}

/* That removes nothing: it can be closed as before. */
static void test_renamed_to_itself(struct fixture *f, gconstpointer data)
{
    g_autofree char *path = world_host_path(f->world, "file");
    g_autofree char *link_path = world_host_path(f->world, "link");
    struct ic_inode *file = meet(f, root(f), "file");

    OK(link(path, link_path));
    g_assert_cmpint(links_of(f, file), ==, 2);
    OK(ic_renameat2(f->ic, root(f), "file", root(f), "file", 0));
    OK(ic_renameat2(f->ic, root(f), "link", root(f), "file", 0));
    ic_release_fds(f->ic, UINT_MAX);
    g_assert_false(is_open(file));
    g_assert_cmpint(links_of(f, file), ==, 2);
    ic_inode_unhold(file);
}

/* The last fds are not for what was removed, whether it was open or not. */
static void hoard(struct fixture *f, bool open)
{
    struct ic_inode *held[HOARD];
    unsigned lost = 0;

    for (unsigned i = 0; i < HOARD; i++) {
        g_autofree char *name = g_strdup_printf("hoard-%u", i);

        world_host_file(f->world, name, name);
    }
    g_usleep(OLD_ENOUGH_US);
    for (unsigned i = 0; i < HOARD; i++) {
        g_autofree char *name = g_strdup_printf("hoard-%u", i);
        int fd;

        held[i] = meet(f, root(f), name);
        if (open)
            g_assert_cmpint(links_of(f, held[i]), ==, 1);
        OK(ic_unlinkat(f->ic, root(f), name, 0));
        fd = dup(ic_inode_fd(root(f)));
        g_assert_cmpint(fd, <=, RESERVE_FROM + 2);
        close(fd);
    }
    for (unsigned i = 0; i < HOARD; i++) {
        int links = links_of(f, held[i]);

        lost += links == -ESTALE;
        g_assert_true(links == 0 || links == -ESTALE);
        ic_inode_unhold(held[i]);
    }
    g_assert_cmpuint(lost, >, 0);
    g_assert_cmpuint(lost, <, HOARD - RESERVE_FROM / 2);
}

static void test_hoarded(struct fixture *f, gconstpointer data)
{
    hoard(f, false);
}

static void test_hoarded_open(struct fixture *f, gconstpointer data)
{
    hoard(f, true);
}

/* ---- undo ---------------------------------------------------------------- */

static void test_undone(struct fixture *f, gconstpointer data)
{
    struct ic_setattr attr = { .valid = IC_SET_MODE, .mode = 0600 };
    struct ic_inode *file = meet(f, root(f), "file");
    struct ic_inode *other = meet(f, root(f), "other");
    g_autoptr(GPtrArray) before = NULL;
    g_autofree char *trouble = NULL;
    g_autoptr(GError) error = NULL;
    struct stat st;

    if (!data)
        goto out;
    before = oracle_snapshot(f->world->share, &trouble);
    g_assert_null(trouble);
    g_assert_true(ic_step_open(f->ic, 1, IC_STEP_COMMAND, "test", &error));
    OK(ic_renameat2(f->ic, root(f), "file", root(f), "dir-file", 0));
    OK(ic_inode_use(f->ic, file));
    OK(ic_setattr(f->ic, file, -1, &attr, &st));
    ic_inode_unref(file);
    OK(ic_unlinkat(f->ic, root(f), "other", 0));
    g_assert_true(ic_step_close(f->ic, 1, 0, 0, 0, NULL, &error));
    ic_rollback(f->ic, 1, false, NULL, &error);
    g_assert_no_error(error);
    world_assert_equal(f->world, before);
    g_assert_cmpint(links_of(f, file), ==, 1);
    g_assert_cmpint(links_of(f, other), ==, 1);
out:
    ic_inode_unhold(other);
    ic_inode_unhold(file);
}

/* ---- threads ------------------------------------------------------------- */

static gpointer rename_on(gpointer data)
{
    struct fixture *f = data;

    for (unsigned i = 0; i < RENAMES; i++)
        OK(ic_renameat2(f->ic, root(f), i % 2 ? "moved" : "file", root(f),
                        i % 2 ? "file" : "moved", 0));
    g_atomic_int_set(&f->stop, 1);
    return NULL;
}

static gpointer list_on(gpointer data)
{
    struct fixture *f = data;

    while (!g_atomic_int_get(&f->stop)) {
        struct ic_inode *inode;
        struct stat st;
        int rc = ic_lookup_lazy(f->ic, root(f), "file", &inode, &st);

        if (rc == -ENOENT)
            continue;
        OK(rc);
        g_assert_cmpint(st.st_size, ==, 4);
        g_assert_cmpint(links_of(f, inode), ==, 1);
        ic_inode_unhold(inode);
        ic_release_fds(f->ic, UINT_MAX);
    }
    return NULL;
}

/* Whoever has a hold all the time never loses it. */
static gpointer use_on(gpointer data)
{
    struct fixture *f = data;
    struct ic_inode *other = meet(f, root(f), "other");

    while (!g_atomic_int_get(&f->stop)) {
        struct ic_inode *again = meet(f, root(f), "other");

        g_assert_true(again == other);
        g_assert_cmpint(links_of(f, again), ==, 1);
        ic_inode_unhold(again);
    }
    ic_inode_unhold(other);
    return NULL;
}

static void test_threads(struct fixture *f, gconstpointer data)
{
    GThreadFunc work[] = { rename_on, list_on, list_on, use_on };
    GThread *threads[G_N_ELEMENTS(work)];

    for (size_t i = 0; i < G_N_ELEMENTS(work); i++)
        threads[i] = g_thread_new("lazy", work[i], f);
    for (size_t i = 0; i < G_N_ELEMENTS(work); i++)
        g_thread_join(threads[i]);
}

static const struct {
    const char *name;
    void (*run)(struct fixture *f, gconstpointer data);
} tests[] = {
    { "opens-nothing", test_opens_nothing },
    { "young", test_young },
    { "no-such", test_no_such },
    { "is-one", test_is_one },
    { "overtaken", test_overtaken },
    { "moved-by-others", test_moved_by_others },
    { "number-given-again", test_number_given_again },
    { "forbidden", test_forbidden },
    { "renamed", test_renamed },
    { "renamed-to-itself", test_renamed_to_itself },
    { "removed", test_removed },
    { "removed-link", test_removed_link },
    { "hoarded", test_hoarded },
    { "hoarded-open", test_hoarded_open },
    { "undone", test_undone },
    { "threads", test_threads },
};

int main(int argc, char **argv)
{
    static const char *const names[] = { "no-undo", "undo" };

    umask(0);
    g_test_init(&argc, &argv, NULL);
    for (int undo = 0; undo < 2; undo++) {
        for (size_t i = 0; i < G_N_ELEMENTS(tests); i++) {
            g_autofree char *path = g_strdup_printf("/inode-lazy/%s/%s",
                                                    names[undo], tests[i].name);

            g_test_add(path, struct fixture, GINT_TO_POINTER(undo), set_up,
                       tests[i].run, tear_down);
        }
    }
    return g_test_run();
}
