/* SPDX-License-Identifier: Apache-2.0
 *
 * full_disk - see full_disk.h.
 */
#include "tests/lib/full_disk.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define OK(call) g_assert_cmpint((call), ==, 0)

void full_disk_init(int *argc, char ***argv)
{
    umask(022);
    g_test_init(argc, argv, NULL);
    /* In a private mount namespace no mount outlives the test. */
    if (unshare(CLONE_NEWNS) == 0)
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
}

void full_disk_add_cases(const char *prefix, const struct world_case *cases,
                         size_t count)
{
    static const struct world_backend *const backends[] = { &world_folder,
                                                            &world_mount };

    for (size_t b = 0; b < G_N_ELEMENTS(backends); b++) {
        for (size_t i = 0; i < count; i++) {
            g_autofree char *path = g_strdup_printf(
                "%s/%s/%s", prefix, backends[b]->name, cases[i].name);

            g_test_add_data_func(path, backends[b], cases[i].run);
        }
    }
}

void full_disk_file(struct world *w, const char *name, off_t size)
{
    g_autofree char *path = world_host_path(w, name);
    int fd = open(path, O_WRONLY | O_CREAT, 0644);

    g_assert_cmpint(fd, >=, 0);
    OK(fallocate(fd, 0, 0, size));
    close(fd);
}

struct world *full_disk_start_on(gconstpointer backend, const char *options,
                                 off_t size)
{
    struct world *w = world_new(backend);

    if (mount("tmpfs", w->base, "tmpfs", 0, options) < 0) {
        g_test_skip("no right to mount");
        world_free(w);
        return NULL;
    }
    OK(mkdir(w->share, 0755));
    OK(mkdir(w->mount, 0755));
    full_disk_file(w, "a", size);
    full_disk_file(w, "b", size);
    full_disk_file(w, "c", 4096);
    if (world_start(w))
        return w;
    umount2(w->base, MNT_DETACH);
    world_free(w);
    return NULL;
}

struct world *full_disk_start(gconstpointer backend)
{
    return full_disk_start_on(backend, "size=64m,mode=0755", 16 * MIB);
}

void full_disk_end(struct world *w)
{
    w->backend->stop(w);
    OK(umount2(w->base, MNT_DETACH));
    world_free(w);
}

/* A partial write is an error of the world (EIO); then write page by page, as a
 * client would continue. */
static int write_piece(struct world *w, const char *name, int flags,
                       const char *data, off_t offset)
{
    int rc = w->backend->put(w, name, flags, data, 1 << 20, offset);

    if (rc != -EIO)
        return rc;
    rc = 0;
    for (off_t at = 0; rc == 0 && at < MIB; at += 4096)
        rc = w->backend->put(w, name, 0, data, 4096, offset + at);
    return rc;
}

int full_disk_write(struct world *w, const char *name, int count)
{
    g_autofree char *data = g_strnfill(1 << 20, 'x');

    for (int i = 0; i < count; i++) {
        int rc = write_piece(w, name, i == 0 ? O_CREAT : 0, data, i * MIB);

        if (rc < 0) {
            g_assert_cmpint(rc, ==, -ENOSPC);
            return i;
        }
    }
    return count;
}

void full_disk_fill(struct world *w)
{
    g_autofree char *path = g_build_filename(w->base, "filling", NULL);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    char block[4096] = "x";

    g_assert_cmpint(fd, >=, 0);
    while (write(fd, block, sizeof(block)) > 0)
        ;
    g_assert_cmpint(errno, ==, ENOSPC);
    close(fd);
}
