/* SPDX-License-Identifier: Apache-2.0
 *
 * guest - see guest.h.
 */
#include "shim/guest.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "shim/wire.h"

/* The supported file systems; the tag is the device's name. */
static const char *const types[] = { WIRE_DEFAULT_FSTYPE, WIRE_FSTYPE_9P };

static bool type_is_known(const char *fstype)
{
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (strcmp(types[i], fstype) == 0)
            return true;
    }
    return false;
}

/* Like mkdir -p. Return 0 or -errno. */
static int make_folder(const char *path)
{
    char part[GUEST_MAX_PATH];
    size_t len = strlen(path);

    for (size_t i = 1; i <= len; i++) {
        if (path[i] != '/' && path[i] != '\0')
            continue;
        memcpy(part, path, i);
        part[i] = '\0';
        if (mkdir(part, 0755) < 0 && errno != EEXIST)
            return -errno;
    }
    return 0;
}

/* Return whether path is a mount point. */
static bool is_mounted(const char *path)
{
    char parent[GUEST_MAX_PATH + 4];
    struct stat here, above;

    snprintf(parent, sizeof(parent), "%s/..", path);
    return stat(path, &here) == 0 && stat(parent, &above) == 0 &&
           here.st_dev != above.st_dev;
}

int guest_call_mount(const struct guest_mount *mount_, const char *options,
                     char *error, size_t size)
{
    const char *path = mount_->path;
    int result;

    if (path[0] != '/' || strlen(path) >= GUEST_MAX_PATH) {
        snprintf(error, size, "the path must be absolute and short");
        return -ENAMETOOLONG;
    }
    if (!type_is_known(mount_->fstype)) {
        snprintf(error, size, "unknown file system type");
        return -ENODEV;
    }
    result = make_folder(path);
    if (result) {
        snprintf(error, size, "cannot create %s: %s", path, strerror(-result));
        return result == -EINVAL ? -EIO : result;
    }
    if (is_mounted(path)) {
        snprintf(error, size, "%s is already a mount point", path);
        return -EBUSY;
    }
    if (mount(mount_->tag, path, mount_->fstype,
              mount_->read_only ? MS_RDONLY : 0, options) < 0) {
        result = -errno;
        snprintf(
            error, size, "cannot mount on %s: %s%s", path, strerror(-result),
            result == -EINVAL ? " (is there a device with this tag?)" : "");
        return result;
    }
    return 0;
}

bool guest_mounts_add(struct guest_mounts *mounts, const char *path)
{
    for (size_t i = 0; i < mounts->count; i++) {
        if (strcmp(mounts->paths[i], path) == 0)
            return true;
    }
    if (mounts->count == GUEST_MAX_MOUNTS)
        return false;
    strcpy(mounts->paths[mounts->count++], path);
    return true;
}

void guest_mounts_remove(struct guest_mounts *mounts, const char *path)
{
    size_t i = 0;

    while (i < mounts->count && strcmp(mounts->paths[i], path) != 0)
        i++;
    if (i == mounts->count)
        return;
    mounts->count--;
    memmove(mounts->paths[i], mounts->paths[i + 1],
            (mounts->count - i) * sizeof(mounts->paths[0]));
}

void guest_unmount_all(struct guest_mounts *mounts)
{
    while (mounts->count > 0) {
        const char *path = mounts->paths[--mounts->count];

        if (umount2(path, 0) < 0)
            umount2(path, MNT_DETACH);
    }
}

void guest_set_clock(int64_t time_us, int64_t ahead_us)
{
    struct timespec now, wanted = {
        .tv_sec = (time_t)(time_us / 1000000),
        .tv_nsec = (long)(time_us % 1000000) * 1000,
    };
    int64_t now_us;

    /* Reject times before 1970 or after 2262. */
    if (time_us < 0 || time_us > INT64_MAX / 1000)
        return;
    clock_gettime(CLOCK_REALTIME, &now);
    now_us = (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
    if (now_us < time_us || now_us - time_us > ahead_us)
        clock_settime(CLOCK_REALTIME, &wanted);
}

/* Wait a moment for processes to end. */
static void wait_for_children(int timeout_ms)
{
    const struct timespec pause = { .tv_nsec = 10 * 1000 * 1000 };

    for (int waited = 0; waited < timeout_ms; waited += 10) {
        while (waitpid(-1, NULL, WNOHANG) > 0)
            continue;
        if (waitpid(-1, NULL, WNOHANG) < 0) /* none left */
            return;
        nanosleep(&pause, NULL);
    }
}

_Noreturn void guest_power_off(struct guest_mounts *mounts)
{
    kill(-1, SIGTERM);
    kill(-1, SIGCONT);
    wait_for_children(500);
    kill(-1, SIGKILL);
    wait_for_children(200);
    guest_unmount_all(mounts);
    sync();
    /* A disk root must be unmounted cleanly; for other roots the call fails
     * harmlessly. */
    mount(NULL, "/", NULL, MS_REMOUNT | MS_RDONLY, NULL);
    for (;;) {
        reboot(RB_POWER_OFF);
        sleep(1);
    }
}

void guest_request_power_off(void)
{
    pid_t pid = fork();

    if (pid == 0) {
        sigset_t none;

        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        execl("/sbin/poweroff", "poweroff", (char *)NULL);
        dprintf(STDERR_FILENO, "stepback-shim: cannot run /sbin/poweroff: %s\n",
                strerror(errno));
        _exit(127);
    }
}

/* ---- times --------------------------------------------------------------- */

int64_t guest_uptime_ms(void)
{
    struct timespec now;

    if (clock_gettime(CLOCK_BOOTTIME, &now) < 0)
        return 0;
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

struct guest_boot guest_note_boot(void)
{
    struct guest_boot boot = { .shim_ms = guest_uptime_ms() };
    const char *text = getenv(GUEST_INIT_UPTIME);
    double seconds = text ? strtod(text, NULL) : 0;

    if (seconds > 0 && seconds * 1000 <= (double)boot.shim_ms)
        boot.init_ms = (int64_t)(seconds * 1000);
    unsetenv(GUEST_INIT_UPTIME);
    return boot;
}
