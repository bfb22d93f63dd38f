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
    char paths[GUEST_MAX_MOUNTS][GUEST_MAX_PATH]; /* in mount order */
    size_t count;
};

struct guest_mount {
    const char *tag;
    const char *path;
    const char *fstype;
    const char *aname; /* 9P: the tree to attach to */
    bool read_only;
};

/* Call mount(2), after creating the directory if necessary; options are those
 * of the file system, or NULL. Return 0, or -errno with the reason in error (at
 * most size bytes). -EINVAL: mount(2) has failed so, as for a tag without a
 * device. */
int guest_call_mount(const struct guest_mount *mount, const char *options,
                     char *error, size_t size);

/* Record a mount for guest_unmount_all(). Return false if there is no room. */
bool guest_mounts_add(struct guest_mounts *mounts, const char *path);

/* Forget a mount that no longer exists. */
void guest_mounts_remove(struct guest_mounts *mounts, const char *path);

/* Unmount everything that was recorded, in reverse order. */
void guest_unmount_all(struct guest_mounts *mounts);

/* Times in ms since the kernel started (CLOCK_BOOTTIME); 0: unknown. */
struct guest_boot {
    int64_t init_ms; /* start of the image's init script, which passes it in the
                        environment, in seconds with a decimal point */
    int64_t shim_ms; /* start of this program */
};

#define GUEST_INIT_UPTIME "STEPBACK_INIT_UPTIME"

/* Return the current time, in ms since the kernel started. */
int64_t guest_uptime_ms(void);

/* Call once at the start; removes the variable from the environment. */
struct guest_boot guest_note_boot(void);

/* Set the clock to the host's time as a message has it. A clock that is behind
 * it is wrong. One that is at most ahead_us later is left alone: the message
 * may have taken as long. */
void guest_set_clock(int64_t time_us, int64_t ahead_us);

/* As PID 1: end all processes, unmount, sync, power off. */
_Noreturn void guest_power_off(struct guest_mounts *mounts);

/* As a service of another init: ask that init to power off. */
void guest_request_power_off(void);

#endif
