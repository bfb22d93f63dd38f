/* SPDX-License-Identifier: Apache-2.0
 *
 * attach - see attach.h.
 *
 * The mount is made in the outer namespaces, like those of the start, whose ids
 * the file server answers with; then it moves to the inner ones. With a second
 * user namespace (of bubblewrap, for an ordinary user) they differ. The kernel
 * lets /dev/fuse be mounted only from the user namespace of the process that
 * has opened it.
 */
#include "local/attach.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "local/mounts.h"
#include "local/namespaces.h"
#include "local/report.h"
#include "local/room.h"

/* Return the user namespace that owns a mount namespace. */
static int owner_of(int namespace)
{
    int owner = ioctl(namespace, NS_GET_USERNS);

    if (owner < 0)
        report_failure(LOCAL_NO_NAMESPACES,
                       "cannot find the sandbox's user namespace");
    return owner;
}

static bool is_same(int namespace, int other)
{
    struct stat one, two;

    return fstat(namespace, &one) == 0 && fstat(other, &two) == 0 &&
           one.st_dev == two.st_dev && one.st_ino == two.st_ino;
}

static void enter(int namespace, int type)
{
    if (setns(namespace, type) < 0)
        report_failure(LOCAL_NO_NAMESPACES,
                       "cannot enter the sandbox's namespaces");
}

/* ---- the mount ----------------------------------------------------------- */

static void set_option(int context, const char *key, const char *value)
{
    if (fsconfig(context, FSCONFIG_SET_STRING, key, value, 0) < 0)
        report_failure(LOCAL_NO_FUSE, "cannot mount FUSE (%s)", key);
}

static void set_number(int context, const char *key, unsigned value)
{
    char text[16];

    snprintf(text, sizeof(text), "%u", value);
    set_option(context, key, text);
}

static void set_flag(int context, const char *key)
{
    if (fsconfig(context, FSCONFIG_SET_FLAG, key, NULL, 0) < 0)
        report_failure(LOCAL_NO_FUSE, "cannot mount FUSE (%s)", key);
}

/* Return a mount that is attached nowhere; its options are those of
 * namespaces_mount(). */
static int make_mount(int device, bool read_only)
{
    unsigned attributes = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
                          (read_only ? MOUNT_ATTR_RDONLY : 0);
    fd_auto int context = fsopen("fuse", FSOPEN_CLOEXEC);
    int mount;

    if (context < 0)
        report_failure(LOCAL_NO_FUSE, "cannot mount FUSE");
    set_option(context, "source", "stepback");
    set_option(context, "subtype", "stepback");
    set_number(context, "fd", (unsigned)device);
    set_option(context, "rootmode", "40000");
    set_number(context, "user_id", geteuid());
    set_number(context, "group_id", getegid());
    set_flag(context, "allow_other");
    set_flag(context, "default_permissions");
    if (read_only)
        set_flag(context, "ro");
    if (fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
        report_failure(LOCAL_NO_FUSE, "cannot mount FUSE in a user namespace");
    mount = fsmount(context, FSMOUNT_CLOEXEC, attributes);
    if (mount < 0)
        report_failure(LOCAL_NO_FUSE, "cannot mount FUSE in a user namespace");
    return mount;
}

/* ---- the requests -------------------------------------------------------- */

void attach_folder(const struct attach_place *place, bool read_only)
{
    fd_auto int outer = owner_of(place->outer), inner = owner_of(place->inner);
    fd_auto int mount = -1, folder = -1;
    uint64_t number;
    int device;

    namespaces_note_parent();
    enter(outer, CLONE_NEWUSER);
    device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    if (device < 0)
        report_failure(LOCAL_NO_FUSE, "/dev/fuse");
    namespaces_take_ids();
    enter(place->outer, CLONE_NEWNS);
    mount = make_mount(device, read_only);
    number = mounts_device(mount, "");
    report_ready(&device, 1, &number, 1);
    if (!is_same(outer, inner))
        enter(inner, CLONE_NEWUSER);
    enter(place->inner, CLONE_NEWNS);
    folder = room_open(place->path, true);
    if (folder < 0)
        report_failure(LOCAL_FAILED, "no mount point in the sandbox");
    if (move_mount(mount, "", folder, "",
                   MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
        report_failure(LOCAL_FAILED, "cannot attach the mount");
    report_done();
}

/* A folder of the start is mounted in both namespaces, and its file server ends
 * once neither has it. The sandbox works on with the other mount if that stays.
 */
static void forget_outer(unsigned number)
{
    char path[64];

    snprintf(path, sizeof(path), LOCAL_MOUNTS "/%u", number);
    umount2(path, UMOUNT_NOFOLLOW | MNT_DETACH);
}

/* Unmount what is at a path, if it is this device. With force the mount cannot
 * be exchanged for another one in between. Return false with errno. */
static bool detach_at(const char *path, uint64_t device, bool force)
{
    const char *name;
    fd_auto int parent = room_open_parent(path, &name), root = -1;

    if (parent < 0 || fchdir(parent) < 0)
        return false;
    if (force) {
        root = openat(parent, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        if (root < 0 || fchdir(root) < 0)
            return false;
        name = ".";
    }
    if (mounts_device(AT_FDCWD, name) != device) {
        errno = ESTALE;
        return false;
    }
    return umount2(name, UMOUNT_NOFOLLOW | (force ? MNT_DETACH : 0)) == 0;
}

/* The sandbox can rename parents of the mount at any time. */
static void detach(int proc, uint64_t device, bool force)
{
    enum { ATTEMPTS = 20 };
    char *path = mounts_find(proc, device);

    for (int i = 0; path && i < ATTEMPTS; i++) {
        bool gone = detach_at(path, device, force);

        if (!gone && errno == EBUSY)
            break;
        free(path);
        path = mounts_find(proc, device);
    }
    if (path || errno)
        report_failure(LOCAL_FAILED, "cannot unmount it");
}

void attach_remove(const struct attach_place *place, bool force)
{
    fd_auto int outer = owner_of(place->outer), inner = owner_of(place->inner);
    fd_auto int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);

    namespaces_note_parent();
    enter(outer, CLONE_NEWUSER);
    namespaces_take_ids();
    enter(place->outer, CLONE_NEWNS);
    forget_outer(place->number);
    if (!is_same(outer, inner))
        enter(inner, CLONE_NEWUSER);
    enter(place->inner, CLONE_NEWNS);
    detach(proc, place->device, force);
    report_done();
}
