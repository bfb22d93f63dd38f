/* SPDX-License-Identifier: Apache-2.0
 *
 * inode_rig - see inode_rig.h.
 */
#include "tests/inode/inode_rig.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define OK(call) g_assert_cmpint((call), ==, 0)

enum { REUSE_TRIES = 200 };

static bool is_reserved(int fd)
{
    return fd >= INODE_RIG_RESERVE;
}

void inode_rig_open(struct inode_rig *f, gconstpointer data)
{
    struct ic_options options = { .no_timer = true,
                                  .max_inode_fds = INODE_RIG_RESERVE,
                                  .is_reserved_fd = is_reserved };
    g_autoptr(GError) error = NULL;

    options.share = f->world->share;
    options.undo_dir = data ? f->world->undo_dir : NULL;
    ic_set_log(0, NULL);
    f->ic = ic_open_share(&options, &error);
    g_assert_no_error(error);
}

void inode_rig_set_up(struct inode_rig *f, gconstpointer data)
{
    f->world = world_new(&world_folder);
    world_host_file(f->world, "file", "file");
    world_host_file(f->world, "other", "the other");
    world_host_dir(f->world, "dir");
    world_host_file(f->world, "dir/inner", "inner");
    g_usleep(INODE_RIG_OLD_US);
    inode_rig_open(f, data);
}

void inode_rig_tear_down(struct inode_rig *f, gconstpointer data)
{
    ic_close(f->ic);
    world_free(f->world);
}

int inode_rig_main(int argc, char **argv, const char *name,
                   const struct inode_rig_test *tests, size_t n)
{
    static const char *const variants[] = { "no-undo", "undo" };

    umask(0);
    g_test_init(&argc, &argv, NULL);
    for (int undo = 0; undo < 2; undo++) {
        for (size_t i = 0; i < n; i++) {
            g_autofree char *path = g_strdup_printf(
                "/%s/%s/%s", name, variants[undo], tests[i].name);

            g_test_add(path, struct inode_rig, GINT_TO_POINTER(undo),
                       inode_rig_set_up, tests[i].run, inode_rig_tear_down);
        }
    }
    return g_test_run();
}

void inode_rig_run_threads(struct inode_rig *f, const GThreadFunc *work,
                           size_t n)
{
    g_autofree GThread **threads = g_new(GThread *, n);

    for (size_t i = 0; i < n; i++)
        threads[i] = g_thread_new("rig", work[i], f);
    for (size_t i = 0; i < n; i++)
        g_thread_join(threads[i]);
}

void inode_rig_replace(struct inode_rig *f, const char *name)
{
    g_autofree char *path = world_host_path(f->world, name);
    struct stat old, now;

    OK(lstat(path, &old));
    for (int i = 0; i < REUSE_TRIES; i++) {
        OK(unlink(path));
        world_host_file(f->world, name, "new");
        OK(lstat(path, &now));
        if (now.st_ino == old.st_ino)
            return;
    }
    g_test_message("no number was given again here");
}

void inode_rig_link(struct inode_rig *f, const char *from, const char *to)
{
    g_autofree char *from_path = world_host_path(f->world, from);
    g_autofree char *to_path = world_host_path(f->world, to);

    g_assert_cmpint(link(from_path, to_path), ==, 0);
}

void inode_rig_rename(struct inode_rig *f, const char *from, const char *to)
{
    g_autofree char *from_path = world_host_path(f->world, from);
    g_autofree char *to_path = world_host_path(f->world, to);

    g_assert_cmpint(rename(from_path, to_path), ==, 0);
}

struct ic_inode *inode_rig_root(struct inode_rig *f)
{
    return ic_root(f->ic);
}

void inode_rig_forbid_fds(struct inode_rig *f)
{
    struct rlimit none;

    OK(getrlimit(RLIMIT_NOFILE, &f->limit));
    none = f->limit;
    none.rlim_cur = 3;
    OK(setrlimit(RLIMIT_NOFILE, &none));
}

void inode_rig_allow_fds(struct inode_rig *f)
{
    OK(setrlimit(RLIMIT_NOFILE, &f->limit));
}

bool inode_rig_is_open(struct ic_inode *inode)
{
    bool open = ic_inode_ref_open(inode);

    if (open)
        ic_inode_unref(inode);
    return open;
}

int inode_rig_links(struct inode_rig *f, struct ic_inode *inode)
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

char *inode_rig_read(struct inode_rig *f, struct ic_inode *inode)
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
