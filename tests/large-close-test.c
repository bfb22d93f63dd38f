/* SPDX-License-Identifier: Apache-2.0
 *
 * large-close-test - to free what a large removed file had takes long: that is
 * not done by the thread that removes or forgets it, and who finds the disk
 * full waits for it.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/inode_rig.h"

#define OK(call) g_assert_cmpint((call), ==, 0)

enum { LARGE = 8 << 20, SMALL = 64 << 10, HELD_US = 200000 };

/* ---- who closes ---------------------------------------------------------- */

/* How many inodes of files that nobody can open any more were closed by the
 * thread that runs the tests, and of any files by others. What others close is
 * held up as long as this is locked. */
static GMutex held_up;
static int n_own, n_others;
static pid_t own_thread;

/* In front of libc's, for the library, too. */
int close(int fd)
{
    struct stat st;

    if (own_thread != 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
        fcntl(fd, F_GETFL) & O_PATH) {
        if (gettid() == own_thread) {
            n_own += st.st_nlink == 0;
        } else {
            g_atomic_int_inc(&n_others);
            g_mutex_lock(&held_up);
            g_mutex_unlock(&held_up);
        }
    }
    return (int)syscall(SYS_close, fd);
}

static void expect_closed(int own, int others)
{
    g_assert_cmpint(n_own, ==, own);
    g_assert_cmpint(g_atomic_int_get(&n_others), ==, others);
}

static void start_counting(void)
{
    n_own = n_others = 0;
    own_thread = gettid();
}

/* ---- files --------------------------------------------------------------- */

static void make_host_file(struct inode_rig *f, const char *name, size_t size)
{
    g_autofree char *path = world_host_path(f->world, name);
    g_autofree char *data = g_malloc0(size);

    g_assert_true(g_file_set_contents(path, data, (gssize)size, NULL));
    g_usleep(INODE_RIG_OLD_US);
}

/* 0 or -errno, with what was written before. A hold. */
static int write_file(struct inode_rig *f, const char *name, size_t size,
                      struct ic_inode **ret_inode)
{
    g_autofree char *data = g_malloc0(size);
    struct ic_cred cred = { .uid = 0 };
    size_t done = 0;
    ssize_t n = 0;
    struct stat st;
    int fd;

    OK(ic_create(f->ic, &cred, inode_rig_root(f), name, O_RDWR | O_EXCL, 0600,
                 ret_inode, &st, &fd));
    while (done < size && n >= 0) {
        struct iovec iov = { .iov_base = data, .iov_len = size - done };

        n = ic_pwritev(f->ic, *ret_inode, fd, &iov, 1, (off_t)done, 0, false);
        done += n > 0 ? (size_t)n : 0;
    }
    syscall(SYS_close, fd);
    ic_inode_hold(*ret_inode);
    ic_inode_unref(*ret_inode);
    return n < 0 ? (int)n : 0;
}

static struct ic_inode *look_up(struct inode_rig *f, const char *name)
{
    struct ic_inode *inode;
    struct stat st;

    OK(ic_lookup_uncached(f->ic, inode_rig_root(f), name, &inode, &st));
    return inode;
}

static void remove_file(struct inode_rig *f, const char *name)
{
    OK(ic_unlinkat(f->ic, inode_rig_root(f), name, 0));
}

/* ---- tests --------------------------------------------------------------- */

static void open_step(struct inode_rig *f, gconstpointer data)
{
    g_autoptr(GError) error = NULL;

    if (data && !ic_step_open(f->ic, 1, IC_STEP_COMMAND, "test", &error))
        g_error("%s", error->message);
}

static void test_written(struct inode_rig *f, gconstpointer data)
{
    struct ic_inode *large, *small;

    start_counting();
    open_step(f, data);
    OK(write_file(f, "large", LARGE, &large));
    OK(write_file(f, "small", SMALL, &small));
    remove_file(f, "large");
    remove_file(f, "small");
    g_mutex_lock(&held_up);
    ic_inode_unhold(large); /* does not wait */
    g_mutex_unlock(&held_up);
    ic_inode_unhold(small);
    ic_close(g_steal_pointer(&f->ic));
    expect_closed(1, 1);
}

/* What was looked up once is not open, and would be freed by unlink(2). With an
 * undo log it lives on there. */
static void test_found(struct inode_rig *f, gconstpointer data)
{
    struct ic_inode *large, *replaced, *small;

    start_counting();
    make_host_file(f, "large", LARGE);
    make_host_file(f, "replaced", LARGE);
    make_host_file(f, "small", SMALL);
    large = look_up(f, "large");
    replaced = look_up(f, "replaced");
    small = look_up(f, "small");
    g_assert_false(inode_rig_is_open(large));
    remove_file(f, "large");
    OK(ic_renameat2(f->ic, inode_rig_root(f), "small", inode_rig_root(f),
                    "replaced", 0));
    g_assert_true(inode_rig_is_open(large));
    g_assert_true(inode_rig_is_open(replaced));
    g_assert_false(inode_rig_is_open(small));
    g_mutex_lock(&held_up);
    ic_inode_unhold(large);
    ic_inode_unhold(replaced);
    g_mutex_unlock(&held_up);
    ic_inode_unhold(small);
    ic_close(g_steal_pointer(&f->ic));
    expect_closed(0, data ? 0 : 2);
}

/* A file that has another name has nothing to free, and a large file that was
 * cut has little. */
static void test_nothing_to_free(struct inode_rig *f, gconstpointer data)
{
    struct ic_setattr cut = { .valid = IC_SET_SIZE };
    struct ic_inode *linked, *cut_file;

    start_counting();
    open_step(f, data);
    OK(write_file(f, "linked", LARGE, &linked));
    OK(ic_inode_use(f->ic, linked));
    OK(ic_linkat(f->ic, linked, inode_rig_root(f), "link", NULL));
    ic_inode_unref(linked);
    OK(write_file(f, "cut", LARGE, &cut_file));
    OK(ic_inode_use(f->ic, cut_file));
    OK(ic_setattr(f->ic, cut_file, -1, &cut, NULL));
    ic_inode_unref(cut_file);
    remove_file(f, "linked");
    remove_file(f, "cut");
    ic_inode_unhold(linked);
    ic_inode_unhold(cut_file);
    ic_close(g_steal_pointer(&f->ic));
    expect_closed(1, 0);
}

/* More than may wait. */
static void test_many(struct inode_rig *f, gconstpointer data)
{
    struct ic_inode *files[80];
    char name[16];

    start_counting();
    open_step(f, data);
    for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
        g_snprintf(name, sizeof(name), "large%zu", i);
        OK(write_file(f, name, LARGE / 2, &files[i]));
        remove_file(f, name);
    }
    g_mutex_lock(&held_up);
    for (size_t i = 0; i < G_N_ELEMENTS(files); i++)
        ic_inode_unhold(files[i]);
    g_mutex_unlock(&held_up);
    ic_close(g_steal_pointer(&f->ic));
    g_assert_cmpint(n_own, ==, 80 - 64);
    g_assert_cmpint(n_others, ==, 64);
}

/* ---- a full disk --------------------------------------------------------- */

/* The same rig, on a filesystem of this size. False: not possible here. */
static bool move_to_small_disk(struct inode_rig *f, gconstpointer data)
{
    g_autofree char *options = g_strdup_printf("size=%d", LARGE + LARGE / 2);

    ic_close(g_steal_pointer(&f->ic));
    if (mount("tmpfs", f->world->base, "tmpfs", 0, options) != 0)
        return false;
    OK(mkdir(f->world->share, 0755));
    inode_rig_open(f, data);
    return true;
}

static gpointer let_go(gpointer locked)
{
    g_mutex_lock(&held_up);
    g_atomic_int_set((int *)locked, 1);
    g_usleep(HELD_US);
    g_mutex_unlock(&held_up);
    return NULL;
}

static void test_full_disk(struct inode_rig *f, gconstpointer data)
{
    struct ic_inode *first, *second;
    int locked = 0;
    GThread *thread;

    if (!move_to_small_disk(f, data)) {
        g_test_skip("mounting is not allowed here");
        return;
    }
    start_counting();
    open_step(f, data);
    OK(write_file(f, "first", LARGE, &first));
    remove_file(f, "first");
    thread = g_thread_new("let-go", let_go, &locked);
    while (!g_atomic_int_get(&locked))
        g_usleep(1000);
    ic_inode_unhold(first);
    OK(write_file(f, "second", LARGE, &second));
    g_thread_join(thread);
    ic_inode_unhold(second);
    expect_closed(0, 1);
    ic_close(g_steal_pointer(&f->ic));
    OK(umount2(f->world->base, MNT_DETACH));
}

int main(int argc, char **argv)
{
    static const struct inode_rig_test tests[] = {
        { "written", test_written },
        { "found", test_found },
        { "nothing-to-free", test_nothing_to_free },
        { "many", test_many },
        { "full-disk", test_full_disk },
    };

    return inode_rig_main(argc, argv, "large-close", tests,
                          G_N_ELEMENTS(tests));
}
