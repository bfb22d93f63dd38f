/* SPDX-License-Identifier: Apache-2.0
 *
 * loop_fs - see loop_fs.h.
 */
#include "tests/lib/loop_fs.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <unistd.h>

#include "common/fd.h"

static bool run_command(const char *command, const char *a, const char *b)
{
    g_autofree char *line = g_strjoin(" ", command, a, b, NULL);
    g_autofree char *output = NULL, *trouble = NULL;
    int status;

    return g_spawn_command_line_sync(line, &output, &trouble, &status, NULL) &&
           status == 0;
}

bool loop_fs_mount(struct world *w, const struct loop_fs *fs)
{
    g_autofree char *file = g_strdup_printf("%s.img", w->base);
    fd_auto int fd = open(file, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool ok = geteuid() == 0 && fd >= 0 && ftruncate(fd, fs->size) == 0 &&
              run_command(fs->mkfs, file, NULL) &&
              run_command("mount -o loop", file, w->base);

    unlink(file); /* the mount keeps the file */
    if (!ok)
        return false;
    g_assert_cmpint(mkdir(w->share, 0755), ==, 0);
    g_assert_cmpint(mkdir(w->mount, 0755), ==, 0);
    return true;
}

void loop_fs_unmount(struct world *w)
{
    umount2(w->base, MNT_DETACH);
}
