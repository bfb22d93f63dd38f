/* SPDX-License-Identifier: Apache-2.0
 *
 * mounts - see mounts.h.
 */
#include "shim/mounts.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum mount_state { UNUSED, MOUNTING, ENDED, MOUNTED };

static struct mount {
    enum mount_state state;
    pid_t pid;
    int error; /* ENDED: errno, or 0 */
    char tag[WIRE_TAG_MAX + 1];
    char path[PATH_MAX];
} mounts[MOUNTS_MAX];

static const struct {
    const char *name;
    unsigned long flags;
} fstypes[] = {
    { "virtiofs", MS_NODEV | MS_NOSUID },
};

/* Make path and what is above it. */
static int make_folders(const char *path)
{
    char part[PATH_MAX];

    for (size_t i = 1;; i++) {
        if (path[i] != '/' && path[i] != '\0')
            continue;
        memcpy(part, path, i);
        part[i] = '\0';
        if (mkdir(part, 0755) < 0 && errno != EEXIST)
            return errno;
        if (path[i] == '\0')
            return 0;
    }
}

/* In the process of the mount: its exit status is the errno. */
static void child_mount(const struct mounts_request *request,
                        unsigned long flags)
{
    int error;

    signal(SIGTERM, SIG_DFL);
    error = make_folders(request->path);
    if (request->read_only)
        flags |= MS_RDONLY;
    if (!error &&
        mount(request->tag, request->path, request->fstype, flags, NULL) < 0)
        error = errno;
    _exit(error);
}

static bool find_flags(const char *fstype, unsigned long *ret_flags)
{
    for (size_t i = 0; i < sizeof(fstypes) / sizeof(fstypes[0]); i++) {
        if (strcmp(fstypes[i].name, fstype) == 0) {
            *ret_flags = fstypes[i].flags;
            return true;
        }
    }
    return false;
}

static struct mount *find_unused(void)
{
    for (int i = 0; i < MOUNTS_MAX; i++) {
        if (mounts[i].state == UNUSED)
            return &mounts[i];
    }
    return NULL;
}

const char *mounts_begin(const struct mounts_request *request)
{
    struct mount *mount = find_unused();
    unsigned long flags;

    if (strlen(request->tag) > WIRE_TAG_MAX || !*request->tag)
        return "the tag must have 1 to 36 bytes";
    if (*request->path != '/' || strlen(request->path) >= PATH_MAX)
        return "the path must be absolute, and not too long";
    if (!find_flags(request->fstype, &flags))
        return "the file system type is not supported";
    if (!mount)
        return "too many mounts";
    mount->pid = fork();
    if (mount->pid < 0)
        return strerror(errno);
    if (mount->pid == 0)
        child_mount(request, flags);
    strcpy(mount->tag, request->tag);
    strcpy(mount->path, request->path);
    mount->state = MOUNTING;
    return NULL;
}

void mounts_reaped(pid_t pid, int status)
{
    for (int i = 0; i < MOUNTS_MAX; i++) {
        struct mount *mount = &mounts[i];

        if (mount->state != MOUNTING || mount->pid != pid)
            continue;
        mount->state = ENDED;
        mount->error = WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
    }
}

static void answer(struct mount *mount, struct port *port)
{
    struct json_writer *writer = port_begin(port, WIRE_MOUNTED);

    json_writer_string(writer, "tag", mount->tag);
    json_writer_string(writer, "status",
                       mount->error ? WIRE_STATUS_ERROR : WIRE_STATUS_OK);
    if (mount->error)
        json_writer_string(writer, "message", strerror(mount->error));
    port_send(port);
    mount->state = mount->error ? UNUSED : MOUNTED;
}

void mounts_answer(struct port *port)
{
    for (int i = 0; i < MOUNTS_MAX; i++) {
        if (mounts[i].state == ENDED && port_room(port) >= PORT_SMALL_MESSAGE)
            answer(&mounts[i], port);
    }
}

bool mounts_have_answers(void)
{
    for (int i = 0; i < MOUNTS_MAX; i++) {
        if (mounts[i].state == ENDED)
            return true;
    }
    return false;
}

void mounts_unmount_all(void)
{
    for (int i = MOUNTS_MAX - 1; i >= 0; i--) {
        if (mounts[i].state == MOUNTED && umount2(mounts[i].path, 0) < 0)
            umount2(mounts[i].path, MNT_DETACH);
    }
}
