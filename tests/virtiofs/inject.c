/* SPDX-License-Identifier: Apache-2.0
 *
 * inject - see inject.h.
 *
 * The process is stopped while it waits in a system call. Its registers are set
 * for the other call, and the "syscall" instruction is executed again, in a
 * single step. Data is far below the stack.
 */
#include "tests/virtiofs/inject.h"

#include <errno.h>
#include <glib.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>

struct inject {
    pid_t pid;
    bool dead;
    int signal; /* the signal that killed it */
    long at;    /* address for the next data */
#ifdef __x86_64__
    struct user_regs_struct regs; /* rip: after its "syscall" */
#endif
};

#ifdef __x86_64__

enum { DATA_BELOW = 65536, SYSCALL = 0x050f, SYSCALL_SIZE = 2, TRIES = 100 };

static bool wait_stop(struct inject *inject)
{
    int status;

    while (waitpid(inject->pid, &status, __WALL) < 0) {
        if (errno != EINTR)
            return false;
    }
    inject->dead = !WIFSTOPPED(status);
    if (WIFSIGNALED(status))
        inject->signal = WTERMSIG(status);
    return !inject->dead;
}

/* Return whether it is stopped in a system call; wait for that. */
static bool stop_in_call(struct inject *inject)
{
    for (int i = 0; i < TRIES; i++) {
        long code;

        if (ptrace(PTRACE_INTERRUPT, inject->pid, 0, 0) < 0 ||
            !wait_stop(inject) ||
            ptrace(PTRACE_GETREGS, inject->pid, 0, &inject->regs) < 0)
            return false;
        code = ptrace(PTRACE_PEEKTEXT, inject->pid,
                      inject->regs.rip - SYSCALL_SIZE, 0);
        if ((code & 0xffff) == SYSCALL)
            return true;
        ptrace(PTRACE_CONT, inject->pid, 0, 0);
        g_usleep(10000);
    }
    return false;
}

struct inject *inject_new(pid_t pid)
{
    struct inject *inject = g_new0(struct inject, 1);

    inject->pid = pid;
    if (ptrace(PTRACE_SEIZE, pid, 0, PTRACE_O_EXITKILL) == 0 &&
        stop_in_call(inject))
        return inject;
    g_free(inject);
    return NULL;
}

/* Step over the "syscall"; other stops (a signal) are skipped. */
static bool step(struct inject *inject)
{
    struct user_regs_struct now;

    do {
        if (ptrace(PTRACE_SINGLESTEP, inject->pid, 0, 0) < 0 ||
            !wait_stop(inject) ||
            ptrace(PTRACE_GETREGS, inject->pid, 0, &now) < 0)
            return false;
    } while (now.rip != inject->regs.rip);
    return true;
}

long inject_call(struct inject *inject, long number, long a, long b, long c,
                 long d, long e)
{
    struct user_regs_struct regs = inject->regs;
    long result = INJECT_DIED;

    regs.rip -= SYSCALL_SIZE;
    regs.orig_rax = (unsigned long long)-1; /* no call is to be restarted */
    regs.rax = (unsigned long long)number;
    regs.rdi = (unsigned long long)a;
    regs.rsi = (unsigned long long)b;
    regs.rdx = (unsigned long long)c;
    regs.r10 = (unsigned long long)d;
    regs.r8 = (unsigned long long)e;
    regs.r9 = 0;
    inject->at = 0;
    if (inject->dead || ptrace(PTRACE_SETREGS, inject->pid, 0, &regs) < 0 ||
        !step(inject))
        return INJECT_DIED - inject->signal;
    if (ptrace(PTRACE_GETREGS, inject->pid, 0, &regs) == 0)
        result = (long)regs.rax;
    return result;
}

long inject_put(struct inject *inject, const void *data, size_t size)
{
    const char *bytes = data;

    if (inject->at == 0)
        inject->at = (long)inject->regs.rsp - DATA_BELOW;
    inject->at -= (long)((size + 15) / 8 * 8);
    for (size_t i = 0; i < size; i += sizeof(long)) {
        long word = 0;

        memcpy(&word, bytes + i, MIN(sizeof(word), size - i));
        ptrace(PTRACE_POKEDATA, inject->pid, inject->at + (long)i, word);
    }
    return inject->at;
}

void inject_free(struct inject *inject)
{
    if (!inject->dead) {
        ptrace(PTRACE_SETREGS, inject->pid, 0, &inject->regs);
        ptrace(PTRACE_DETACH, inject->pid, 0, 0);
    }
    g_free(inject);
}

#else

struct inject *inject_new(pid_t pid)
{
    return NULL;
}

long inject_call(struct inject *inject, long number, long a, long b, long c,
                 long d, long e)
{
    return INJECT_DIED;
}

long inject_put(struct inject *inject, const void *data, size_t size)
{
    return 0;
}

void inject_free(struct inject *inject)
{
    g_free(inject);
}

#endif
