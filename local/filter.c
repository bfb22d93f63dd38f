/* SPDX-License-Identifier: Apache-2.0
 *
 * filter - see filter.h.
 *
 * What is missing answers as if the kernel had no such call, or as it would
 * answer a process without privileges. Programs of other architectures that the
 * kernel can run (32-bit ones) get no call at all through them.
 */
#include "local/filter.h"

#include <asm/termbits.h>
#include <errno.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "local/report.h"

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x00000080
#endif

#define CALL(name) SCMP_SYS(name)

static const int refused[] = {
    /* Keys have no namespace. */
    CALL(add_key),
    CALL(keyctl),
    CALL(request_key),

    /* Programs in the kernel, and insights into it. */
    CALL(bpf),
    CALL(perf_event_open),
    CALL(lookup_dcookie),
    CALL(syslog),
    CALL(userfaultfd),

    /* The system as a whole. */
    CALL(acct),
    CALL(delete_module),
    CALL(finit_module),
    CALL(init_module),
    CALL(ioperm),
    CALL(iopl),
    CALL(kexec_file_load),
    CALL(kexec_load),
    CALL(nfsservctl),
    CALL(quotactl),
    CALL(quotactl_fd),
    CALL(reboot),
    CALL(swapoff),
    CALL(swapon),
    CALL(settimeofday),
    CALL(clock_settime),
    CALL(clock_adjtime),
    CALL(adjtimex),
    CALL(vhangup),

    /* Mounts. */
    CALL(chroot),
    CALL(fsconfig),
    CALL(fsmount),
    CALL(fsopen),
    CALL(fspick),
    CALL(mount),
    CALL(mount_setattr),
    CALL(move_mount),
    CALL(open_tree),
    CALL(pivot_root),
    CALL(umount2),

    /* Other namespaces; files by handle, past every path. */
    CALL(name_to_handle_at),
    CALL(open_by_handle_at),
    CALL(setns),

    /* No limit of this host's applies to them. */
    CALL(io_uring_enter),
    CALL(io_uring_register),
    CALL(io_uring_setup),
    CALL(mbind),
    CALL(migrate_pages),
    CALL(move_pages),
    CALL(set_mempolicy),
};

/* Calls that programs can do without, if the kernel has none such. */
static const int absent[] = {
    /* Its flags are in memory; libc then uses clone(2). */
    CALL(clone3),
    /* All users of the host share one quota, fs.aio-max-nr. */
    CALL(io_setup),
};

static int add_arguments(scmp_filter_ctx filter)
{
    const unsigned action = SCMP_ACT_ERRNO(EPERM);
    int rc = 0;
    static const unsigned long long flags[] = {
        CLONE_NEWUSER, CLONE_NEWNS,  CLONE_NEWNET,    CLONE_NEWPID,
        CLONE_NEWIPC,  CLONE_NEWUTS, CLONE_NEWCGROUP,
    };
    static const unsigned long long requests[] = { TIOCSTI, TIOCLINUX };

    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]) && !rc; i++) {
        rc = seccomp_rule_add(filter, action, CALL(clone), 1,
                              SCMP_A0(SCMP_CMP_MASKED_EQ, flags[i], flags[i]));
        if (!rc)
            rc = seccomp_rule_add(
                filter, action, CALL(unshare), 1,
                SCMP_A0(SCMP_CMP_MASKED_EQ, flags[i], flags[i]));
    }
    if (!rc)
        rc = seccomp_rule_add(
            filter, action, CALL(unshare), 1,
            SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_NEWTIME, CLONE_NEWTIME));
    /* The kernel compares 32 bits of a request. */
    for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]) && !rc; i++)
        rc = seccomp_rule_add(
            filter, action, CALL(ioctl), 1,
            SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffffu, requests[i]));
    return rc;
}

/* Families without a network namespace, or with an interface to the kernel
 * that no sandbox needs. */
static int add_sockets(scmp_filter_ctx filter)
{
    static const int families[] = { AF_VSOCK, AF_PACKET, AF_ALG, AF_BLUETOOTH,
                                    AF_CAN,   AF_TIPC,   AF_XDP, AF_QIPCRTR };
    int rc = 0;

    for (size_t i = 0; i < sizeof(families) / sizeof(families[0]) && !rc; i++)
        rc = seccomp_rule_add(
            filter, SCMP_ACT_ERRNO(EAFNOSUPPORT), CALL(socket), 1,
            SCMP_A0(SCMP_CMP_MASKED_EQ, 0xffffffffu, (unsigned)families[i]));
    return rc;
}

static int fill(scmp_filter_ctx filter)
{
    int rc = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH,
                              SCMP_ACT_ERRNO(ENOSYS));

    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]) && !rc; i++)
        rc = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), refused[i], 0);
    for (size_t i = 0; i < sizeof(absent) / sizeof(absent[0]) && !rc; i++)
        rc = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), absent[i], 0);
    if (!rc)
        rc = add_arguments(filter);
    return rc ? rc : add_sockets(filter);
}

int filter_make(void)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    int fd = memfd_create("filter", 0); /* bubblewrap inherits it */
    int rc = filter && fd >= 0 ? fill(filter) : -ENOMEM;

    if (!rc)
        rc = seccomp_export_bpf(filter, fd);
    seccomp_release(filter);
    errno = -rc;
    if (rc || lseek(fd, 0, SEEK_SET) < 0)
        report_failure(LOCAL_FAILED, "cannot make the filter of system calls");
    return fd;
}
