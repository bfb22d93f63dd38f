/* SPDX-License-Identifier: Apache-2.0
 *
 * namespaces - see namespaces.h.
 */
#include "local/namespaces.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/keyctl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "local/ids.h"
#include "local/mounts.h"
#include "local/report.h"

static bool is_root;
static pid_t parent;

/* Return 0 or errno. */
static int write_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC), result = 0;

    if (fd < 0)
        return errno;
    if (write(fd, text, strlen(text)) < 0)
        result = errno;
    close(fd);
    return result;
}

/* Write both maps of a process: inside, outside, count. Return 0 or errno. */
static int write_maps(pid_t pid, const char *uids, const char *gids)
{
    char path[64];
    int result;

    snprintf(path, sizeof(path), "/proc/%d/uid_map", (int)pid);
    result = write_file(path, uids);
    snprintf(path, sizeof(path), "/proc/%d/gid_map", (int)pid);
    return result ? result : write_file(path, gids);
}

/* Map the ids of a process. Return 0, or a status for check_mapper(). */
static int map_ids(const struct ids *ids, pid_t target)
{
    char map[64];

    if (!is_root)
        return ids_map_outer(ids, target);
    snprintf(map, sizeof(map), "0 %d %d", LOCAL_FIRST_ID, LOCAL_IDS);
    return write_maps(target, map, map);
}

/* Only a process outside may map ids that are not its own: a child writes the
 * maps of this process once it reads a byte. Return its pid. */
static pid_t start_mapper(const struct ids *ids, int *ret_pipe)
{
    int ends[2];
    pid_t pid, target = getpid();
    char byte;

    if (pipe2(ends, O_CLOEXEC) < 0)
        report_failure(LOCAL_FAILED, "cannot make a pipe");
    pid = fork();
    if (pid < 0)
        report_failure(LOCAL_FAILED, "cannot start a process");
    if (pid > 0) {
        close(ends[0]);
        *ret_pipe = ends[1];
        return pid;
    }
    close(ends[1]);
    if (read(ends[0], &byte, 1) != 1)
        _exit(0);
    _exit(map_ids(ids, target));
}

static void unshare_or_fail(void)
{
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET) < 0)
        report_failure(LOCAL_NO_NAMESPACES, "cannot make a user namespace");
}

/* The programs have written why to standard error. */
static _Noreturn void report_mapper(const struct ids *ids, int status)
{
    const char *program = status == 1 ? ids->newuidmap : ids->newgidmap;

    errno = EPERM;
    report_failure(LOCAL_NO_IDS, "%s failed", program);
}

static void enter_with_ids(const struct ids *ids)
{
    int pipe, status = 0;
    pid_t mapper = start_mapper(ids, &pipe);

    unshare_or_fail();
    if (write(pipe, "u", 1) != 1)
        report_failure(LOCAL_FAILED, "cannot map ids");
    close(pipe);
    while (waitpid(mapper, &status, 0) < 0 && errno == EINTR)
        ;
    errno = WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
    if (errno && !is_root)
        report_mapper(ids, errno);
    if (errno)
        report_failure(LOCAL_NO_NAMESPACES,
                       "cannot map the ids %d to %d of the host",
                       LOCAL_FIRST_ID, LOCAL_FIRST_ID + LOCAL_IDS - 1);
}

static void enter_with_own_id(void)
{
    char uids[64], gids[64];
    unsigned uid = geteuid(), gid = getegid();
    int result;

    snprintf(uids, sizeof(uids), "%u %u 1", uid, uid);
    snprintf(gids, sizeof(gids), "%u %u 1", gid, gid);
    unshare_or_fail();
    result = write_file("/proc/self/setgroups", "deny");
    if (!result)
        result = write_maps(getpid(), uids, gids);
    errno = result;
    if (result)
        report_failure(LOCAL_NO_NAMESPACES, "cannot map the ids %u and %u", uid,
                       gid);
}

void namespaces_leave_keyring(void)
{
    /* A kernel without keys, or a container whose filter keeps them away. */
    if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0 &&
        errno != ENOSYS && errno != EPERM)
        report_failure(LOCAL_FAILED, "cannot make a session keyring");
}

void namespaces_note_parent(void)
{
    is_root = geteuid() == 0;
    parent = getppid();
}

void namespaces_enter(const struct ids *ids)
{
    namespaces_note_parent();
    if (is_root || ids_are_given(ids))
        enter_with_ids(ids);
    else
        enter_with_own_id();
}

int namespaces_open_tree(const char *path)
{
    int tree = open_tree(AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

    if (tree < 0)
        report_failure(LOCAL_FAILED, "cannot open %s", path);
    return tree;
}

void namespaces_mount_tree(int tree, const char *path)
{
    struct mount_attr attributes = {
        .attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,
    };

    if (mount_setattr(tree, "", AT_EMPTY_PATH, &attributes,
                      sizeof(attributes)) < 0 ||
        move_mount(tree, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH) < 0)
        report_failure(LOCAL_FAILED, "cannot mount %s", path);
    close(tree);
}

void namespaces_mount_root(int tree)
{
    if (mkdir(LOCAL_ROOT, 0755) < 0)
        report_failure(LOCAL_FAILED, "cannot mount the image's root");
    namespaces_mount_tree(tree, LOCAL_ROOT);
}

void namespaces_take_ids(void)
{
    if (is_root && (setgroups(0, NULL) < 0 || setresgid(0, 0, 0) < 0 ||
                    setresuid(0, 0, 0) < 0))
        report_failure(LOCAL_NO_NAMESPACES,
                       "cannot become root of a user namespace");
    /* The change of credentials has cleared it. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        exit(EXIT_FAILURE);
}

void namespaces_become_own(void)
{
    namespaces_take_ids();
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        report_failure(LOCAL_NO_NAMESPACES,
                       "cannot change mounts in a user namespace");
    if (mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755") <
            0 ||
        mkdir(LOCAL_MOUNTS, 0755) < 0)
        report_failure(LOCAL_FAILED, "cannot mount on /tmp in the sandbox");
}

uint64_t namespaces_mount(unsigned number, bool read_only, int device)
{
    char path[64], options[160];
    uint64_t result;

    snprintf(path, sizeof(path), LOCAL_MOUNTS "/%u", number);
    snprintf(options, sizeof(options),
             "fd=%d,rootmode=40000,user_id=%u,group_id=%u,allow_other,"
             "default_permissions,subtype=stepback",
             device, geteuid(), getegid());
    if (mkdir(path, 0755) < 0 ||
        mount("stepback", path, "fuse",
              MS_NOSUID | MS_NODEV | (read_only ? MS_RDONLY : 0), options) < 0)
        report_failure(LOCAL_NO_FUSE, "cannot mount FUSE in a user namespace");
    result = mounts_device(AT_FDCWD, path);
    if (!result)
        report_failure(LOCAL_NO_FUSE, "cannot find a mount's device number");
    return result;
}
