/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox_filter - see sandbox.h: the system calls that a file server makes.
 *
 * The list is sorted by what a call is for, and each group says why it is
 * there. What leads to new objects outside (socket, connect, mount, execve,
 * ptrace, bpf, keyctl, io_uring_setup, process_vm_readv ...) is in none. A
 * call that is missing on a system shows with --seccomp=log, in the kernel's
 * log.
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

/* Linux 6.6; one number for all architectures. */
#ifndef __NR_fchmodat2
#define __NR_fchmodat2 452
#endif

#define CALL(name) SCMP_SYS(name)

static const int allowed[] = {
    /* Look at the share and the log, and find what was opened before. */
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

    /* Act as the client's user, a thread at a time. */
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

    /* The front-end's and the control socket's connections. */
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

    /* Wait for something. */
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

    /* Notice edits from outside. */
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

    /* Threads and signals, as the C library does them. */
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
    CALL(getppid), /* g_rand_new(), where there is no /dev/urandom */
    CALL(getrandom),
    CALL(getrlimit),
    CALL(gettimeofday),
    CALL(sysinfo),
    CALL(time),
    CALL(uname),
};

/* Calls that are allowed with some arguments only. */
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
        /* Threads, no processes. */
        { CALL(clone),
          SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD) },
        /* A thread's current folder, not its namespaces. */
        { CALL(unshare), SCMP_A0(SCMP_CMP_EQ, CLONE_FS) },
        /* Not F_SETOWN and F_SETSIG: they send signals to anybody. */
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
        /* Folders that give their project away (interceptor/sys/project.h). */
        { CALL(ioctl), SCMP_A1(SCMP_CMP_EQ, FS_IOC_FSGETXATTR) },
        { CALL(ioctl), SCMP_A1(SCMP_CMP_EQ, FS_IOC_FSSETXATTR) },
        { CALL(ioctl), SCMP_A1(SCMP_CMP_EQ, TCGETS) }, /* isatty(3) */
        { CALL(ioctl), SCMP_A1(SCMP_CMP_EQ, FIONREAD) },
        { CALL(prctl), SCMP_A0(SCMP_CMP_EQ, PR_SET_NAME) },
        /* A thread's own turns of the processor (common/short_turns.h); it
         * gets no more of it (give_up_priority()). */
        { CALL(sched_setattr), SCMP_A0(SCMP_CMP_EQ, 0) },
        /* A connection's buffer. */
        { CALL(setsockopt), SCMP_A2(SCMP_CMP_EQ, SO_SNDBUF) },
        /* abort(3): a signal to ourselves. */
        { CALL(tgkill), SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid()) },
        /* Limits are looked at, not set. */
        { CALL(prlimit64), SCMP_A2(SCMP_CMP_EQ, 0) },
    };
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < G_N_ELEMENTS(rules); i++)
        rc = seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, rules[i].call, 1,
                                    &rules[i].argument);
    /* GLib gives each new thread the settings of the first, which it has
     * anyway; others' settings are not ours to change. */
    if (rc == 0)
        rc = seccomp_rule_add(filter, SCMP_ACT_ERRNO(0), CALL(sched_setattr), 1,
                              SCMP_A0(SCMP_CMP_NE, 0));
    /* Its flags are in memory, where no filter sees them: with ENOSYS the C
     * library falls back to clone(). */
    if (rc == 0)
        rc = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), CALL(clone3), 0);
    return rc;
}

/* A thread may choose its scheduling. It has no CAP_SYS_NICE for that in the
 * sandbox, and none of the limits that stand for it (sched(7)) from now on. */
static void give_up_priority(void)
{
    const struct rlimit none = { 0, 0 };

    if (setrlimit(RLIMIT_RTPRIO, &none) != 0 ||
        setrlimit(RLIMIT_NICE, &none) != 0)
        log_warn(LOG_FS_BACKEND, "cannot lower a limit: %s", g_strerror(errno));
}

static uint32_t default_action(enum sandbox_action action)
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
    filter = seccomp_init(default_action(sandbox->action));
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
