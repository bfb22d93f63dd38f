/* SPDX-License-Identifier: Apache-2.0
 *
 * late_root - see late_root.h.
 *
 * The root of an initramfs cannot be exchanged by pivot_root(): the disk is
 * moved over it, as switch_root(8) does. Processes that already run would keep
 * the old root; the shim has none yet.
 */
#include "shim/late_root.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <unistd.h>

#define NEW_ROOT "/newroot"

static char disk[64];

void late_root_note(void)
{
    const char *name = getenv(LATE_ROOT_DISK);

    if (name && strlen(name) < sizeof(disk))
        strcpy(disk, name);
    unsetenv(LATE_ROOT_DISK);
}

/* Forget the blocks that the kernel read as it looked for partitions. It does
 * so itself on the last close; the machine must not depend on that. */
static int forget_blocks(void)
{
    int fd = open(disk, O_RDONLY | O_CLOEXEC);
    int result = fd < 0 || ioctl(fd, BLKFLSBUF, 0) < 0 ? -errno : 0;

    if (fd >= 0)
        close(fd);
    return result;
}

static int move_mounts(void)
{
    static const char *const folders[] = { "/proc", "/sys", "/dev", "/run",
                                           "/tmp" };
    char target[32];

    for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
        snprintf(target, sizeof(target), NEW_ROOT "%s", folders[i]);
        if (mount(folders[i], target, NULL, MS_MOVE, NULL) < 0)
            return -errno;
    }
    return 0;
}

int late_root_enter(bool *ret_changed)
{
    int result;

    *ret_changed = false;
    if (!*disk)
        return 0;
    result = forget_blocks();
    if (!result && mount(disk, NEW_ROOT, "ext4", 0, NULL) < 0)
        result = -errno;
    if (!result)
        result = move_mounts();
    if (!result &&
        (chdir(NEW_ROOT) < 0 || mount(".", "/", NULL, MS_MOVE, NULL) < 0 ||
         chroot(".") < 0 || chdir("/") < 0))
        result = -errno;
    if (result)
        return result;
    *disk = '\0';
    *ret_changed = true;
    return 0;
}
