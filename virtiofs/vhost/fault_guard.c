/* SPDX-License-Identifier: Apache-2.0
 *
 * fault_guard - see fault_guard.h.
 *
 * The signal handler runs in the faulting thread, at any point of its code, and
 * makes only system calls.
 */
#include "virtiofs/vhost/fault_guard.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>

static struct range {
    _Atomic uintptr_t start; /* 0: none */
    _Atomic size_t len;
} ranges[FAULT_GUARD_MAX];

static unsigned n_ranges;
static atomic_bool tripped;

static struct range *find(uintptr_t address)
{
    for (unsigned i = 0; i < FAULT_GUARD_MAX; i++) {
        uintptr_t start = atomic_load(&ranges[i].start);

        if (start && address >= start &&
            address - start < atomic_load(&ranges[i].len))
            return &ranges[i];
    }
    return NULL;
}

static void on_sigbus(int number, siginfo_t *info, void *context)
{
    int saved = errno;
    struct range *range = find((uintptr_t)info->si_addr);

    if (!range || mmap((void *)atomic_load(&range->start),
                       atomic_load(&range->len), PROT_READ | PROT_WRITE,
                       MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                       -1, 0) == MAP_FAILED)
        signal(SIGBUS, SIG_DFL); /* not our range: let it fault again and end
                                  * the process */
    atomic_store(&tripped, true);
    errno = saved;
}

static void install(void)
{
    struct sigaction action = { .sa_sigaction = on_sigbus,
                                .sa_flags = SA_SIGINFO };

    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, NULL);
}

bool fault_guard_add(void *start, size_t len)
{
    if (n_ranges == FAULT_GUARD_MAX)
        return false;
    if (n_ranges == 0) {
        atomic_store(&tripped, false);
        install();
    }
    for (unsigned i = 0; i < FAULT_GUARD_MAX; i++) {
        if (atomic_load(&ranges[i].start))
            continue;
        atomic_store(&ranges[i].len, len);
        atomic_store(&ranges[i].start, (uintptr_t)start);
        n_ranges++;
        return true;
    }
    return false;
}

void fault_guard_remove(void *start)
{
    for (unsigned i = 0; i < FAULT_GUARD_MAX; i++) {
        if (atomic_load(&ranges[i].start) != (uintptr_t)start)
            continue;
        atomic_store(&ranges[i].start, 0);
        n_ranges--;
        return;
    }
}

bool fault_guard_tripped(void)
{
    return atomic_load_explicit(&tripped, memory_order_relaxed);
}
