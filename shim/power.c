/* SPDX-License-Identifier: Apache-2.0
 *
 * power - see power.h.
 *
 * sync and umount may hang for good when the daemon behind a shared folder is
 * gone, so a child does them and PID 1 waits only so long.
 */
#include "shim/power.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "shim/mounts.h"

enum { STEP_MS = 10, TERM_MS = 500, KILL_MS = 500, SYNC_MS = 5000 };

/* Reap until no child (or not this one) is left, for so long at most. */
static void wait_for_children(pid_t pid, int limit_ms)
{
    const struct timespec step = { .tv_nsec = STEP_MS * 1000 * 1000 };

    for (int waited = 0; waited < limit_ms; waited += STEP_MS) {
        pid_t ended;

        while ((ended = waitpid(pid, NULL, WNOHANG)) > 0)
            ;
        if (ended < 0 && errno == ECHILD)
            return;
        nanosleep(&step, NULL);
    }
}

static void flush_disks(void)
{
    pid_t pid = fork();

    if (pid == 0) {
        sync();
        mounts_unmount_all();
        sync();
        _exit(0);
    }
    if (pid > 0)
        wait_for_children(pid, SYNC_MS);
}

_Noreturn void power_off(void)
{
    kill(-1, SIGTERM);
    wait_for_children(-1, TERM_MS);
    kill(-1, SIGKILL);
    wait_for_children(-1, KILL_MS);
    flush_disks();
    reboot(RB_POWER_OFF);
    for (;;)
        pause();
}
