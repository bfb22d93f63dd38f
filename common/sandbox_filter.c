/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox_filter - see sandbox.h: the system calls that a file server makes.
 *
 * The list is grouped by purpose. Calls that create objects outside (socket,
 * connect, mount, execve, ptrace, bpf, keyctl, io_uring_setup, process_vm_readv
 * ...) are in no group. To find a call that is missing on a system, use
 * --seccomp=log and read the kernel's log.
 */
#include "common/sandbox_filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/errors.h"
#include "common/log.h"
#include "common/sandbox_leaks.h"
#include "common/sandbox_parts.h"

/* Linux 6.6; the same number on all architectures. */
#ifndef __NR_fchmodat2
#define __NR_fchmodat2 452
#endif

#define CALL(name) SCMP_SYS(name)

static const int allowed[] = {
    /* Read the share and the log, and inspect open files. */
    CALL(access),
    CALL(faccessat),
    CALL(faccessat2),
    CALL(fstat),
    CALL(fstatfs),
    CALL(getdents64),
    CALL(lstat),
    CALL(name_to_handle_at),
    CALL(newfstatat),
    CALL(open_by_handle_at),
    CALL(openat),
    CALL(openat2),
    CALL(readlink),
    CALL(readlinkat),
    CALL(stat),
    CALL(statfs),
    CALL(statx),

    /* Change names, for a client, the log, or an undo. */
    CALL(linkat),
    CALL(mkdir),
    CALL(mkdirat),
    CALL(mknodat),
    CALL(rename),
    CALL(renameat),
    CALL(renameat2),
    CALL(rmdir),
    CALL(symlinkat),
    CALL(unlink),
    CALL(unlinkat),

    /* Change attributes. fchmodat2 is Linux 6.6. */
    CALL(chmod),
    CALL(fchmod),
    CALL(fchmodat),
    CALL(fchmodat2),
    CALL(fchown),
    CALL(fchownat),
    CALL(fgetxattr),
    CALL(flistxattr),
    CALL(fremovexattr),
    CALL(fsetxattr),
    CALL(getxattr),
    CALL(lgetxattr),
    CALL(listxattr),
    CALL(llistxattr),
    CALL(lremovexattr),
    CALL(lsetxattr),
    CALL(removexattr),
    CALL(setxattr),
    CALL(umask),
    CALL(utimensat),

    /* Content. */
    CALL(close),
    CALL(copy_file_range),
    CALL(fadvise64),
    CALL(fallocate),
    CALL(fdatasync),
    CALL(flock),
    CALL(fsync),
    CALL(ftruncate),
    CALL(lseek),
    CALL(pread64),
    CALL(preadv),
    CALL(preadv2),
    CALL(pwrite64),
    CALL(pwritev),
    CALL(pwritev2),
    CALL(read),
    CALL(readv),
    CALL(sync_file_range),
    CALL(syncfs),
    CALL(truncate),
    CALL(write),
    CALL(writev),

    /* Descriptors: dup, close-on-exec, O_NONBLOCK, locks. */
    CALL(dup),
    CALL(dup3),
    CALL(fchdir),
    CALL(pipe2),

    /* Act as the client's user, one thread at a time. */
    CALL(capget),
    CALL(capset),
    CALL(getegid),
    CALL(geteuid),
    CALL(getgid),
    CALL(getgroups),
    CALL(getresgid),
    CALL(getresuid),
    CALL(getuid),
    CALL(setgroups),
    CALL(setresgid),
    CALL(setresuid),

    /* Connections of the front-end and the control socket. */
    CALL(accept),
    CALL(accept4),
    CALL(getpeername),
    CALL(getsockname),
    CALL(getsockopt),
    CALL(recvfrom),
    CALL(recvmsg),
    CALL(sendmsg),
    CALL(sendto),
    CALL(shutdown),

    /* Waiting. */
    CALL(clock_nanosleep),
    CALL(epoll_create1),
    CALL(epoll_ctl),
    CALL(epoll_pwait),
    CALL(epoll_pwait2),
    CALL(epoll_wait),
    CALL(eventfd2),
    CALL(nanosleep),
    CALL(poll),
    CALL(ppoll),
    CALL(timerfd_create),
    CALL(timerfd_settime),

    /* Detect outside edits. */
    CALL(fanotify_init),
    CALL(fanotify_mark),
    CALL(inotify_add_watch),
    CALL(inotify_init1),
    CALL(inotify_rm_watch),

    /* Memory: the allocator, guest memory, thread stacks. */
    CALL(brk),
    CALL(madvise),
    CALL(mmap),
    CALL(mprotect),
    CALL(mremap),
    CALL(munmap),

    /* Threads and signals, as the C library implements them. */
    CALL(exit),
    CALL(exit_group),
    CALL(futex),
    CALL(get_robust_list),
    CALL(getpid),
    CALL(gettid),
    CALL(membarrier),
    CALL(restart_syscall),
    CALL(rseq),
    CALL(rt_sigaction),
    CALL(rt_sigpending),
    CALL(rt_sigprocmask),
    CALL(rt_sigreturn),
    CALL(rt_sigtimedwait),
    CALL(sched_getaffinity),
    CALL(sched_getattr),
    CALL(sched_yield),
    CALL(set_robust_list),
    CALL(sigaltstack),

    /* Clocks, random names, limits. */
    CALL(clock_getres),
    CALL(clock_gettime),
    CALL(getppid), /* g_rand_new() without /dev/urandom */
    CALL(getrandom),
    CALL(getrlimit),
    CALL(gettimeofday),
    CALL(sysinfo),
    CALL(time),
    CALL(uname),
};

/* Calls that are allowed only with some arguments. */
struct rule {
    int call;
    struct scmp_arg_cmp argument;
};

static int add_calls(scmp_filter_ctx filter)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < G_N_ELEMENTS(allowed); i++) {
        rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, allowed[i], 0);
        if (rc == -EDOM) /* not on this architecture */
            rc = 0;
    }
    return rc;
}

static int add_rules(scmp_filter_ctx filter)
{
    const struct rule rules[] = {
        /* Threads, not processes. */
        { CALL(clone),
          SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD) },
        /* A thread's current directory, not its namespaces. */
        { CALL(unshare), SCMP_A0(SCMP_CMP_EQ, CLONE_FS) },
        /* Not F_SETOWN and F_SETSIG, which can send signals to any process. */
        { CALL(fcntl), SCMP_A1(SCMP_CMP_EQ, F_DUPFD) },
        { CALL(fcntl), SCMP_A1(SCMP_CMP_EQ, F_DUPFD_CLOEXEC) },
        { CALL(fcntl), SCMP_A1(SCMP_CMP_EQ, F_GETFD) },
        { CALL(fcntl), SCMP_A1(SCMP_CMP_EQ, F_SETFD) },
        { CALL(fcntl), SCMP_A1(SCMP_CMP_EQ, F_GETFL) },
        { CALL(fcntl), SCMP_A1(SCMP_CMP_EQ, F_SETFL) },
        /* A database's lock on its own file. */
        { CALL(fcntl), SCMP_A1(SCMP_CMP_EQ, F_GETLK) },
        { CALL(fcntl), SCMP_A1(SCMP_CMP_EQ, F_SETLK) },
        { CALL(fcntl), SCMP_A1(SCMP_CMP_EQ, F_OFD_GETLK) },
        { CALL(fcntl), SCMP_A1(SCMP_CMP_EQ, F_OFD_SETLK) },
        { CALL(fcntl), SCMP_A1(SCMP_CMP_EQ, F_OFD_SETLKW) },
        { CALL(ioctl), SCMP_A1(SCMP_CMP_EQ, FICLONE) },
        /* Directories that pass on their project id
         * (interceptor/sys/project.h). */
        { CALL(ioctl), SCMP_A1(SCMP_CMP_EQ, FS_IOC_FSGETXATTR) },
        { CALL(ioctl), SCMP_A1(SCMP_CMP_EQ, FS_IOC_FSSETXATTR) },
        { CALL(ioctl), SCMP_A1(SCMP_CMP_EQ, TCGETS) }, /* isatty(3) */
        { CALL(ioctl), SCMP_A1(SCMP_CMP_EQ, FIONREAD) },
        { CALL(prctl), SCMP_A0(SCMP_CMP_EQ, PR_SET_NAME) },
        /* A thread's own time slice (common/short_turns.h); give_up_priority()
         * ensures that it gets no larger share of the processor. */
        { CALL(sched_setattr), SCMP_A0(SCMP_CMP_EQ, 0) },
        /* The buffer size of a connection. */
        { CALL(setsockopt), SCMP_A2(SCMP_CMP_EQ, SO_SNDBUF) },
        /* abort(3): a signal to this process. */
        { CALL(tgkill), SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid()) },
        /* Reading limits, not setting them. */
        { CALL(prlimit64), SCMP_A2(SCMP_CMP_EQ, 0) },
    };
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < G_N_ELEMENTS(rules); i++)
        rc = seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, rules[i].call, 1,
                                    &rules[i].argument);
    /* GLib sets the first thread's scheduling on each new thread, which has it
     * already; changing that of another process is not allowed. */
    if (rc == 0)
        rc = seccomp_rule_add(filter, SCMP_ACT_ERRNO(0), CALL(sched_setattr), 1,
                              SCMP_A0(SCMP_CMP_NE, 0));
    /* The flags of clone3() are in memory, where a filter cannot see them: with
     * ENOSYS the C library falls back to clone(). */
    if (rc == 0)
        rc = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), CALL(clone3), 0);
    return rc;
}

/* Prevent a thread, which may choose its scheduling, from raising its priority:
 * it has no CAP_SYS_NICE in the sandbox, and from now on none of the limits
 * that replace it (sched(7)). */
static void give_up_priority(void)
{
    const struct rlimit none = { 0, 0 };

    if (setrlimit(RLIMIT_RTPRIO, &none) != 0 ||
        setrlimit(RLIMIT_NICE, &none) != 0)
        log_warn(LOG_FS_BACKEND, "cannot lower the priority limits: %s",
                 g_strerror(errno));
}

uint32_t sandbox_filter_default(enum sandbox_action action)
{
    switch (action) {
    case SANDBOX_LOG:
        return SCMP_ACT_LOG;
    case SANDBOX_TRAP:
        return SCMP_ACT_TRAP;
    default:
        return SCMP_ACT_KILL_PROCESS;
    }
}

gboolean sandbox_filter(const struct sandbox *sandbox, GError **error)
{
    scmp_filter_ctx filter;
    int rc;

    if (sandbox->action == SANDBOX_OFF)
        return TRUE;
    sandbox_skip_leak_check();
    give_up_priority();
    filter = seccomp_init(sandbox_filter_default(sandbox->action));
    if (!filter) {
        errno = ENOMEM;
        return sandbox_fail(error, "seccomp");
    }
    rc = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);
    if (rc == 0)
        rc = seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
    if (rc == 0)
        rc = add_calls(filter);
    if (rc == 0)
        rc = add_rules(filter);
    if (rc == 0)
        rc = seccomp_load(filter);
    seccomp_release(filter);
    errno = -rc;
    return rc == 0 || sandbox_fail(error, "seccomp");
}
