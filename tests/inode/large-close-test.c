/* SPDX-License-Identifier: Apache-2.0
 *
 * large-close-test - another thread frees large removed files.
 *
 * It takes long, so without an undo log the thread that removes or forgets the
 * file does not do it; a request that finds the disk full waits for it.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/inode/inode_rig.h"

#define OK(call) g_assert_cmpint((call), ==, 0)

enum { LARGE = 64 << 20, SMALL = 64 << 10, MANY = 12 };

enum { HELD_MS = 200, TOO_LONG_MS = 20000 };

/* The limit of waiting fds (closer.c). */
enum { MOST = 8 };

/* ---- closing threads ----------------------------------------------------- */

/* Number of inodes of removed files that the thread of the tests closed, and of
 * any files that other threads closed. While this is locked, closes by other
 * threads block. */
static GMutex held_up;
static int n_own, n_others;
static pid_t own_thread;

/* Overrides libc's, for the library, too. */
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

/* ---- files --------------------------------------------------------------- */

static void make_host_file(struct inode_rig *f, const char *name, off_t size)
{
    g_autofree char *path = world_host_path(f->world, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);

    g_assert_cmpint(posix_fallocate(fd, 0, size), ==, 0);
    close(fd);
    g_usleep(INODE_RIG_OLD_US);
}

static int create_file(struct inode_rig *f, const char *name,
                       struct ic_inode **ret_inode)
{
    struct ic_cred cred = { .uid = 0 };
    struct stat st;
    int fd;

    OK(ic_create(f->ic, &cred, inode_rig_root(f), name, O_RDWR | O_EXCL, 0600,
                 ret_inode, &st, &fd));
    return fd;
}

/* Only a hold remains. */
static void end_file(struct ic_inode *inode, int fd)
{
    syscall(SYS_close, fd);
    ic_inode_hold(inode);
    ic_inode_unref(inode);
}

static struct ic_inode *make_file(struct inode_rig *f, const char *name,
                                  off_t size)
{
    struct ic_inode *inode;
    int fd = create_file(f, name, &inode);

    OK(ic_fallocate(f->ic, inode, fd, 0, 0, size));
    end_file(inode, fd);
    return inode;
}

static struct ic_inode *write_file(struct inode_rig *f, const char *name,
                                   off_t size)
{
    g_autofree char *data = g_malloc0(SMALL);
    struct iovec iov = { .iov_base = data, .iov_len = SMALL };
    struct ic_inode *inode;
    int fd = create_file(f, name, &inode);

    for (off_t done = 0; done < size; done += SMALL)
        g_assert_cmpint(ic_pwritev(f->ic, inode, fd, &iov, 1, done, 0, false),
                        ==, SMALL);
    end_file(inode, fd);
    return inode;
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

static void begin(struct inode_rig *f, gconstpointer data)
{
    g_autoptr(GError) error = NULL;

    n_own = n_others = 0;
    own_thread = gettid();
    if (data && !ic_step_open(f->ic, 1, IC_STEP_COMMAND, "test", &error))
        g_error("%s", error->message);
}

/* Files removed before are closed by then. */
static void end(struct inode_rig *f)
{
    ic_close(g_steal_pointer(&f->ic));
    own_thread = 0;
}

/* With an undo log, whose limits depend on the free space, space is freed at
 * once. */
static void test_written(struct inode_rig *f, gconstpointer data)
{
    struct ic_inode *large, *small;

    begin(f, data);
    large = write_file(f, "large", LARGE);
    small = write_file(f, "small", SMALL);
    remove_file(f, "large");
    remove_file(f, "small");
    g_mutex_lock(&held_up);
    ic_inode_unhold(large); /* does not wait */
    g_mutex_unlock(&held_up);
    ic_inode_unhold(small);
    end(f);
    expect_closed(data ? 2 : 1, data ? 0 : 1);
}

/* An inode looked up once is not open, so unlink(2) would free its space. With
 * an undo log it stays there. */
static void test_found(struct inode_rig *f, gconstpointer data)
{
    struct ic_inode *large, *replaced, *small;

    make_host_file(f, "large", LARGE);
    make_host_file(f, "replaced", LARGE);
    make_host_file(f, "small", SMALL);
    begin(f, NULL);
    large = look_up(f, "large");
    replaced = look_up(f, "replaced");
    small = look_up(f, "small");
    g_assert_false(inode_rig_is_open(large));
    remove_file(f, "large");
    OK(ic_renameat2(f->ic, inode_rig_root(f), "small", inode_rig_root(f),
                    "replaced", 0));
    g_assert_cmpint(inode_rig_is_open(large), ==, !data);
    g_assert_cmpint(inode_rig_is_open(replaced), ==, !data);
    g_assert_false(inode_rig_is_open(small));
    g_mutex_lock(&held_up);
    ic_inode_unhold(large);
    ic_inode_unhold(replaced);
    g_mutex_unlock(&held_up);
    ic_inode_unhold(small);
    end(f);
    expect_closed(0, data ? 0 : 2);
}

/* A file with another name frees nothing, and a large file that was truncated
 * little. */
static void test_nothing_to_free(struct inode_rig *f, gconstpointer data)
{
    struct ic_setattr cut = { .valid = IC_SET_SIZE };
    struct ic_inode *linked, *cut_file;

    begin(f, data);
    linked = make_file(f, "linked", LARGE);
    OK(ic_inode_use(f->ic, linked));
    OK(ic_linkat(f->ic, linked, inode_rig_root(f), "link", NULL));
    ic_inode_unref(linked);
    cut_file = make_file(f, "cut", LARGE);
    OK(ic_inode_use(f->ic, cut_file));
    OK(ic_setattr(f->ic, cut_file, -1, &cut, NULL));
    ic_inode_unref(cut_file);
    remove_file(f, "linked");
    remove_file(f, "cut");
    ic_inode_unhold(linked);
    ic_inode_unhold(cut_file);
    end(f);
    expect_closed(1, 0);
}

/* More files than may wait. */
static void test_many(struct inode_rig *f, gconstpointer data)
{
    struct ic_inode *files[MANY];

    begin(f, data);
    for (size_t i = 0; i < MANY; i++) {
        files[i] = make_file(f, "large", LARGE);
        remove_file(f, "large");
    }
    g_mutex_lock(&held_up);
    for (size_t i = 0; i < MANY; i++)
        ic_inode_unhold(files[i]);
    g_mutex_unlock(&held_up);
    end(f);
    expect_closed(data ? MANY : MANY - MOST, data ? 0 : MOST);
}

/* A file that uses one of the last fds is not kept waiting. */
static void test_reserved(struct inode_rig *f, gconstpointer data)
{
    struct ic_inode *large;
    int fds[INODE_RIG_RESERVE];

    begin(f, data);
    for (int i = 0; i < INODE_RIG_RESERVE; i++)
        fds[i] = eventfd(0, EFD_CLOEXEC);
    large = make_file(f, "large", LARGE);
    for (int i = 0; i < INODE_RIG_RESERVE; i++)
        close(fds[i]);
    remove_file(f, "large");
    ic_inode_unhold(large);
    end(f);
    expect_closed(1, 0);
}

/* ---- waiting for space --------------------------------------------------- */

/* Blocks closes by other threads for this time, or until done. */
struct hold {
    int ms;
    int begun, done;
    GThread *thread;
};

static gpointer hold_up(gpointer data)
{
    struct hold *hold = data;

    g_mutex_lock(&held_up);
    g_atomic_int_set(&hold->begun, 1);
    for (int i = 0; i < hold->ms && !g_atomic_int_get(&hold->done); i++)
        g_usleep(1000);
    g_mutex_unlock(&held_up);
    return NULL;
}

static void begin_hold(struct hold *hold)
{
    hold->thread = g_thread_new("hold", hold_up, hold);
    while (!g_atomic_int_get(&hold->begun))
        g_usleep(1000);
}

static fsblkcnt_t free_blocks(struct inode_rig *f)
{
    struct statvfs st;

    OK(ic_statvfs(f->ic, inode_rig_root(f), &st));
    g_assert_cmpuint(st.f_bavail, <=, st.f_bfree);
    g_assert_cmpuint(st.f_bfree, <=, st.f_blocks);
    return st.f_bfree * st.f_frsize;
}

/* Move the rig to a file system of this size. False: not possible here. */
static bool move_to_small_disk(struct inode_rig *f, gconstpointer data)
{
    g_autofree char *options = g_strdup_printf("size=%d", LARGE + LARGE / 2);

    ic_close(g_steal_pointer(&f->ic));
    if (mount("tmpfs", f->world->base, "tmpfs", 0, options) != 0) {
        g_test_skip("mounting is not allowed here");
        return false;
    }
    OK(mkdir(f->world->share, 0755));
    inode_rig_open(f, data);
    return true;
}

static void leave_small_disk(struct inode_rig *f)
{
    end(f);
    OK(umount2(f->world->base, MNT_DETACH));
}

/* A query of the free space, and a request that finds the disk full. */
static void test_full_disk(struct inode_rig *f, gconstpointer data)
{
    struct ic_inode *first, *second;
    struct hold hold = { .ms = HELD_MS };

    if (!move_to_small_disk(f, data))
        return;
    begin(f, data);
    first = make_file(f, "first", LARGE);
    remove_file(f, "first");
    g_assert_cmpuint(free_blocks(f), <, LARGE);
    begin_hold(&hold);
    ic_inode_unhold(first);
    g_assert_cmpuint(free_blocks(f), >, LARGE);
    second = write_file(f, "second", LARGE);
    g_thread_join(hold.thread);
    ic_inode_unhold(second);
    leave_small_disk(f);
    expect_closed(data ? 1 : 0, data ? 0 : 1);
}

/* A request for more space than there can be returns at once. */
static void test_too_much(struct inode_rig *f, gconstpointer data)
{
    struct ic_inode *first, *second;
    struct hold hold = { .ms = TOO_LONG_MS };
    int fd;

    if (!move_to_small_disk(f, data))
        return;
    begin(f, data);
    first = make_file(f, "first", LARGE);
    remove_file(f, "first");
    fd = create_file(f, "second", &second);
    begin_hold(&hold);
    ic_inode_unhold(first);
    g_assert_cmpint(ic_fallocate(f->ic, second, fd, 0, 0, INT64_C(1) << 40), ==,
                    -ENOSPC);
    g_assert_false(g_mutex_trylock(&held_up));
    g_atomic_int_set(&hold.done, 1);
    g_thread_join(hold.thread);
    end_file(second, fd);
    ic_inode_unhold(second);
    leave_small_disk(f);
}

/* A process without fds. */
static void test_release(struct inode_rig *f, gconstpointer data)
{
    struct ic_inode *large;
    struct hold hold = { .ms = HELD_MS };

    begin(f, data);
    large = make_file(f, "large", LARGE);
    remove_file(f, "large");
    ic_release_fds(f->ic, UINT_MAX);
    begin_hold(&hold);
    ic_inode_unhold(large);
    g_assert_cmpuint(ic_release_fds(f->ic, 1), ==, data ? 0 : 1);
    g_assert_cmpuint(ic_release_fds(f->ic, 1), ==, 0);
    g_thread_join(hold.thread);
    end(f);
}

int main(int argc, char **argv)
{
    static const struct inode_rig_test tests[] = {
        { "written-file-is-closed-elsewhere", test_written },
        { "found-file-is-freed-elsewhere", test_found },
        { "nothing-to-free", test_nothing_to_free },
        { "waiting-files-are-bounded", test_many },
        { "reserved-fds-do-not-wait", test_reserved },
        { "full-disk-waits-for-space", test_full_disk },
        { "impossible-request-does-not-wait", test_too_much },
        { "release", test_release },
    };

    return inode_rig_main(argc, argv, "large-close", tests,
                          G_N_ELEMENTS(tests));
}
