/* SPDX-License-Identifier: Apache-2.0
 *
 * confinement - see confinement.h.
 */
#include "netbase/confinement.h"

#include <cap-ng.h>
#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/errors.h"
#include "common/fd.h"
#include "common/log.h"

#define CALL(name) SCMP_SYS(name)

static gboolean fail(GError **error, const char *what)
{
    g_set_error(error, STEPBACK_ERROR, ERROR_IO_ERROR, "sandbox: %s: %s", what,
                g_strerror(errno));
    return FALSE;
}

/* ---- limits and capabilities --------------------------------------------- */

unsigned confinement_files(unsigned most)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return most;
    return (unsigned)MIN(limit.rlim_max, most);
}

static gboolean limit(int resource, rlim_t value, GError **error)
{
    struct rlimit limit;

    if (getrlimit(resource, &limit) < 0)
        return fail(error, "limits");
    limit.rlim_cur = limit.rlim_max = MIN(limit.rlim_max, value);
    return setrlimit(resource, &limit) == 0 || fail(error, "limits");
}

static gboolean set_limits(const struct confinement *confinement,
                           GError **error)
{
#ifndef __SANITIZE_ADDRESS__ /* which maps terabytes */
    if (!limit(RLIMIT_DATA, confinement->memory, error))
        return FALSE;
#endif
    return limit(RLIMIT_CORE, 0, error) &&
           limit(RLIMIT_NOFILE, confinement->files, error);
}

static gboolean drop_capabilities(GError **error)
{
    gboolean bounding;

    capng_get_caps_process();
    bounding = capng_have_capability(CAPNG_EFFECTIVE, CAP_SETPCAP);
    capng_clear(CAPNG_SELECT_ALL);
    errno = EPERM;
    if ((bounding && capng_apply(CAPNG_SELECT_BOUNDS) != 0) ||
        capng_apply(CAPNG_SELECT_CAPS) != 0)
        return fail(error, "capabilities");
    return TRUE;
}

/* ---- Landlock (kernel constants) ----------------------------------------- */

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_restrict_self  446
#endif

struct ruleset {
    uint64_t paths, ports, scoped;
};

/* Restrict all file rights that the Landlock version knows, and grant none.
 * Older kernels accept unknown fields if they are 0. */
static gboolean forbid_paths(GError **error)
{
    static const unsigned char rights[] = { 0, 13, 14, 15, 15, 16 };
    int version = (int)syscall(SYS_landlock_create_ruleset, NULL, 0, 1);
    struct ruleset rules = { 0 };
    fd_auto int fd = -1;

    if (version < 1) {
        log_debug(LOG_SESSION, "kernel without Landlock; file access is "
                               "restricted by seccomp alone");
        return TRUE; /* seccomp refuses opening files, too */
    }
    rules.paths = (1u << rights[MIN(version, 5)]) - 1;
    rules.scoped = version >= 6 ? 3 : 0;
    fd = (int)syscall(SYS_landlock_create_ruleset, &rules, sizeof(rules), 0);
    if (fd < 0 || syscall(SYS_landlock_restrict_self, fd, 0) != 0)
        return fail(error, "Landlock");
    return TRUE;
}

/* ---- system calls -------------------------------------------------------- */

static const int allowed[] = {
    /* Connections. */
    CALL(close),
    CALL(connect),
    CALL(getpeername),
    CALL(getsockname),
    CALL(getsockopt),
    CALL(read),
    CALL(readv),
    CALL(recv),
    CALL(recvfrom),
    CALL(recvmsg),
    CALL(send),
    CALL(sendmsg),
    CALL(sendto),
    CALL(setsockopt),
    CALL(shutdown),
    CALL(write),
    CALL(writev),

    /* Waiting, and GLib's wake-up. */
    CALL(poll),
    CALL(ppoll),
    CALL(restart_syscall),

    /* Memory. */
    CALL(brk),
    CALL(futex),
    CALL(madvise),
    CALL(mlock), /* values of secrets */
    CALL(mremap),
    CALL(munmap),

    /* Exit, and the C library's signal handling. */
    CALL(exit),
    CALL(exit_group),
    CALL(getpid),
    CALL(getppid), /* GLib, for random numbers */
    CALL(gettid),
    CALL(rt_sigaction),
    CALL(rt_sigprocmask),
    CALL(rt_sigreturn),
    CALL(sigaltstack),

    /* Clocks and random numbers. */
    CALL(clock_getres),
    CALL(clock_gettime),
    CALL(getrandom),
    CALL(gettimeofday),
    CALL(time),
};

/* There are no files: file lookups fail with an errno instead of killing. */
static const int refused[] = {
    CALL(access),   CALL(faccessat), CALL(faccessat2), CALL(newfstatat),
    CALL(fstat),    CALL(lstat),     CALL(open),       CALL(openat),
    CALL(readlink), CALL(stat),      CALL(statx),      CALL(readlinkat),
};

struct rule {
    int call;
    struct scmp_arg_cmp argument[2];
    unsigned count;
    uint32_t action;
};

enum { TYPE = 0xf };

static int add_rules(scmp_filter_ctx filter, const struct rule *rules,
                     size_t count)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < count; i++)
        rc = seccomp_rule_add_array(filter, rules[i].action, rules[i].call,
                                    rules[i].count, rules[i].argument);
    return rc;
}

static int add_datagrams(scmp_filter_ctx filter)
{
    static const struct rule rules[] = {
        { CALL(socket),
          { SCMP_A0(SCMP_CMP_EQ, AF_INET),
            SCMP_A1(SCMP_CMP_MASKED_EQ, TYPE, SOCK_DGRAM) },
          2,
          SCMP_ACT_ALLOW },
        { CALL(socket),
          { SCMP_A0(SCMP_CMP_EQ, AF_INET6),
            SCMP_A1(SCMP_CMP_MASKED_EQ, TYPE, SOCK_DGRAM) },
          2,
          SCMP_ACT_ALLOW },
        /* slirp tries raw sockets for echo requests, and works without them. */
        { CALL(socket),
          { SCMP_A1(SCMP_CMP_MASKED_EQ, TYPE, SOCK_RAW) },
          1,
          SCMP_ACT_ERRNO(EACCES) },
    };

    return add_rules(filter, rules, G_N_ELEMENTS(rules));
}

static int add_shared_rules(scmp_filter_ctx filter)
{
    const struct rule rules[] = {
        { CALL(socket),
          { SCMP_A0(SCMP_CMP_EQ, AF_INET),
            SCMP_A1(SCMP_CMP_MASKED_EQ, TYPE, SOCK_STREAM) },
          2,
          SCMP_ACT_ALLOW },
        { CALL(socket),
          { SCMP_A0(SCMP_CMP_EQ, AF_INET6),
            SCMP_A1(SCMP_CMP_MASKED_EQ, TYPE, SOCK_STREAM) },
          2,
          SCMP_ACT_ALLOW },
        { CALL(fcntl), { SCMP_A1(SCMP_CMP_EQ, F_GETFL) }, 1, SCMP_ACT_ALLOW },
        { CALL(fcntl), { SCMP_A1(SCMP_CMP_EQ, F_SETFL) }, 1, SCMP_ACT_ALLOW },
        { CALL(fcntl), { SCMP_A1(SCMP_CMP_EQ, F_GETFD) }, 1, SCMP_ACT_ALLOW },
        { CALL(fcntl), { SCMP_A1(SCMP_CMP_EQ, F_SETFD) }, 1, SCMP_ACT_ALLOW },
        { CALL(ioctl), { SCMP_A1(SCMP_CMP_EQ, FIONREAD) }, 1, SCMP_ACT_ALLOW },
        { CALL(ioctl), { SCMP_A1(SCMP_CMP_EQ, FIONBIO) }, 1, SCMP_ACT_ALLOW },
        /* isatty(3), for code that prints to standard error itself. */
        { CALL(ioctl),
          { SCMP_A1(SCMP_CMP_EQ, TCGETS) },
          1,
          SCMP_ACT_ERRNO(ENOTTY) },
        /* No executable memory. */
        { CALL(mmap),
          { SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0) },
          1,
          SCMP_ACT_ALLOW },
        { CALL(mprotect),
          { SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0) },
          1,
          SCMP_ACT_ALLOW },
        /* abort(3): a signal to this process. */
        { CALL(tgkill),
          { SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid()) },
          1,
          SCMP_ACT_ALLOW },
    };

    return add_rules(filter, rules, G_N_ELEMENTS(rules));
}

static int add_calls(scmp_filter_ctx filter, const int *calls, size_t count,
                     uint32_t action)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < count; i++) {
        rc = seccomp_rule_add(filter, action, calls[i], 0);
        if (rc == -EDOM) /* not on this architecture */
            rc = 0;
    }
    return rc;
}

static gboolean filter_calls(const struct confinement *confinement,
                             GError **error)
{
    scmp_filter_ctx filter = seccomp_init(
        sandbox_filter_default(confinement->action));
    int rc = -ENOMEM;

    if (filter)
        rc = seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
    if (rc == 0)
        rc = add_calls(filter, allowed, G_N_ELEMENTS(allowed), SCMP_ACT_ALLOW);
    if (rc == 0)
        rc = add_calls(filter, refused, G_N_ELEMENTS(refused),
                       SCMP_ACT_ERRNO(EACCES));
    if (rc == 0)
        rc = add_calls(filter, confinement->calls, confinement->call_count,
                       SCMP_ACT_ALLOW);
    if (rc == 0)
        rc = add_calls(filter, confinement->pretended,
                       confinement->pretended_count, SCMP_ACT_ERRNO(0));
    if (rc == 0 && confinement->datagrams)
        rc = add_datagrams(filter);
    if (rc == 0)
        rc = add_shared_rules(filter);
    if (rc == 0)
        rc = seccomp_load(filter);
    seccomp_release(filter);
    errno = -rc;
    return rc == 0 || fail(error, "seccomp");
}

gboolean confinement_enter(const struct confinement *confinement,
                           GError **error)
{
    if (!set_limits(confinement, error) || !drop_capabilities(error))
        return FALSE;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
        return fail(error, "prctl");
    sandbox_skip_leak_check();
    return forbid_paths(error) && (confinement->action == SANDBOX_OFF ||
                                   filter_calls(confinement, error));
}
