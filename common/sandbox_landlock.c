/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox_landlock - see sandbox.h: paths, ports and signals (landlock(7)).
 *
 * A kernel refuses rights that it does not know, so each right has the version
 * that introduced it. The constants are the kernel's; the system's header may
 * be older than the running kernel.
 */
#include "common/sandbox_landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/log.h"
#include "common/sandbox_parts.h"

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule       445
#define SYS_landlock_restrict_self  446
#endif

enum { CREATE_RULESET_VERSION = 1, RULE_PATH_BENEATH = 1 };

enum {
    EXECUTE = 1 << 0,
    READ_FILE = 1 << 2,
    READ_DIR = 1 << 3,
    FIRST_RIGHTS = (1 << 13) - 1, /* version 1 */
    REFER = 1 << 13,              /* 2: moving names between directories */
    TRUNCATE = 1 << 14,           /* 3 */
    IOCTL_DEV = 1 << 15,          /* 5 */
    BIND_TCP = 1 << 0,            /* 4 */
    CONNECT_TCP = 1 << 1,         /* 4 */
    ABSTRACT_SOCKET = 1 << 0,     /* 6 */
    SIGNAL = 1 << 1,              /* 6 */
};

struct ruleset_attr {
    uint64_t paths, ports, scoped;
};

struct path_attr {
    uint64_t allowed;
    int32_t parent_fd;
} __attribute__((packed));

static struct ruleset_attr restrictions(int version)
{
    struct ruleset_attr attr = { .paths = FIRST_RIGHTS | REFER };

    if (version >= 3)
        attr.paths |= TRUNCATE;
    if (version >= 4)
        attr.ports = BIND_TCP | CONNECT_TCP;
    if (version >= 5)
        attr.paths |= IOCTL_DEV;
    if (version >= 6)
        attr.scoped = ABSTRACT_SOCKET | SIGNAL;
    return attr;
}

/* Older kernels have a shorter struct, and accept unknown fields if they are
 * 0. */
static int create_ruleset(const struct ruleset_attr *attr)
{
    return (int)syscall(SYS_landlock_create_ruleset, attr, sizeof(*attr), 0);
}

static gboolean allow(int ruleset, const char *path, uint64_t rights,
                      GError **error)
{
    fd_auto int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct path_attr attr = { rights, fd };

    if (fd >= 0 && syscall(SYS_landlock_add_rule, ruleset, RULE_PATH_BENEATH,
                           &attr, 0) == 0)
        return TRUE;
    return sandbox_fail(error, path);
}

gboolean sandbox_restrict_paths(const struct sandbox *sandbox, GError **error)
{
    int version = (int)syscall(SYS_landlock_create_ruleset, NULL, 0,
                               CREATE_RULESET_VERSION);
    struct ruleset_attr attr;
    fd_auto int ruleset = -1;
    uint64_t all;

    if (version < 2) /* absent, disabled, or without REFER */
        return FALSE;
    attr = restrictions(version);
    all = attr.paths & ~(uint64_t)(EXECUTE | IOCTL_DEV);
    ruleset = create_ruleset(&attr);
    if (ruleset < 0)
        return sandbox_fail(error, "Landlock");
    if (!allow(ruleset, sandbox->share,
               sandbox->read_only ? READ_FILE | READ_DIR : all, error) ||
        (sandbox->undo_dir && !allow(ruleset, sandbox->undo_dir, all, error)) ||
        (sandbox->store_dir && !allow(ruleset, sandbox->store_dir, all, error)))
        return FALSE;
    if (syscall(SYS_landlock_restrict_self, ruleset, 0) != 0)
        return sandbox_fail(error, "Landlock");
    log_debug(LOG_FS_BACKEND, "Landlock version %d enabled", version);
    return TRUE;
}
