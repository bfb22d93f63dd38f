/* SPDX-License-Identifier: Apache-2.0
 *
 * guest - the machine around the shim: mounts, clock and power.
 */
#ifndef SHIM_GUEST_H
#define SHIM_GUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GUEST_MAX_MOUNTS 16
#define GUEST_MAX_PATH   256

struct guest_mounts {
    char paths[GUEST_MAX_MOUNTS][GUEST_MAX_PATH]; /* in the order made */
    size_t count;
};

struct guest_mount {
    const char *tag;
    const char *path;
    const char *fstype;
    const char *aname; /* of 9P: what to attach to */
    bool read_only;
};

/* Call mount(2), making the folder if need be; options are the file system's,
 * or NULL. On failure false, and the reason in error (size bytes at most). */
bool guest_call_mount(const struct guest_mount *mount, const char *options,
                      char *error, size_t size);

/* Remember a mount for guest_unmount_all(). False if there is no room. */
bool guest_mounts_add(struct guest_mounts *mounts, const char *path);

/* Both. */
bool guest_mount(struct guest_mounts *mounts, const struct guest_mount *mount,
                 char *error, size_t size);

/* Undo what guest_mount() did, the last first. */
void guest_unmount_all(struct guest_mounts *mounts);

/* When, in ms since the kernel began (CLOCK_BOOTTIME); 0: not known. */
struct guest_boot {
    int64_t init_ms; /* the image's init script began; it says so in the
                        environment, as seconds with a point */
    int64_t shim_ms; /* this program did */
};

#define GUEST_INIT_UPTIME "STEPBACK_INIT_UPTIME"

/* Now, in ms since the kernel began. */
int64_t guest_uptime_ms(void);

/* Called at the start; takes the variable out of the environment. */
struct guest_boot guest_note_boot(void);

/* Set the clock to this time, unless it is near it. */
void guest_set_clock(int64_t time_us);

/* As PID 1: end every process, unmount, sync, power off. */
_Noreturn void guest_power_off(struct guest_mounts *mounts);

/* As another init's service: ask that init for the same. */
void guest_request_power_off(void);

#endif
