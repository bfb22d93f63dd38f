/* SPDX-License-Identifier: Apache-2.0
 *
 * engine_guard - see engine_guard.h.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/engine/engine_guard.h"

#define OK(call) g_assert_cmpint((call), ==, 0)

void guard_start(struct guard *f)
{
    struct ic_options options = {
        .share = f->world->share,
        .undo_dir = f->world->undo_dir,
        .no_timer = true,
    };
    g_autoptr(GError) error = NULL;

    ic_set_log(0, NULL);
    f->ic = ic_open_share(&options, &error);
    g_assert_no_error(error);
}

static void set_up(struct guard *f, gconstpointer data)
{
    f->world = world_new(&world_folder);
    f->cred = (struct ic_cred){ getuid(), getgid(), 022 };
    world_host_dir(f->world, "dir/sub");
    world_host_file(f->world, "file", "content");
    world_host_file(f->world, "other", "more content");
    guard_start(f);
}

static void tear_down(struct guard *f, gconstpointer data)
{
    ic_close(f->ic);
    world_free(f->world);
}

void guard_open_step(struct guard *f, int64_t id)
{
    g_autoptr(GError) error = NULL;

    ic_step_open(f->ic, id, IC_STEP_COMMAND, "test", &error);
    g_assert_no_error(error);
}

void guard_close_step(struct guard *f, int64_t id)
{
    g_autoptr(GError) error = NULL;

    ic_step_close(f->ic, id, 0, 0, 0, NULL, &error);
    g_assert_no_error(error);
}

struct ic_inode *guard_lookup(struct guard *f, struct ic_inode *dir,
                              const char *name)
{
    struct ic_inode *inode;

    OK(ic_lookup(f->ic, dir, name, &inode, NULL));
    return inode;
}

char *guard_log_path(struct guard *f, const char *path)
{
    return g_build_filename(f->world->undo_dir, path, NULL);
}

void guard_overwrite_file(struct guard *f)
{
    struct ic_inode *inode = guard_lookup(f, ic_root(f->ic), "file");
    struct iovec iov = { (void *)"new", 3 };
    int fd;

    guard_open_step(f, 1);
    OK(ic_open(f->ic, inode, O_RDWR, &fd));
    g_assert_cmpint(ic_pwritev(f->ic, inode, fd, &iov, 1, 0, 0, false), ==, 3);
    close(fd);
    ic_inode_unref(inode);
    OK(ic_unlinkat(f->ic, ic_root(f->ic), "other", 0));
    guard_close_step(f, 1);
}

void guard_add_cases(const struct guard_case *cases, size_t n)
{
    for (size_t i = 0; i < n; i++)
        g_test_add(cases[i].path, struct guard, cases[i].data, set_up,
                   cases[i].run, tear_down);
}
