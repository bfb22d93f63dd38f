/* SPDX-License-Identifier: Apache-2.0
 *
 * executions - see executions.h.
 */
#include "shim/executions.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>

static struct execution *last_slot(struct executions *executions)
{
    return executions->slots + WIRE_MAX_EXECUTIONS;
}

struct execution *executions_free_slot(struct executions *executions)
{
    struct execution *found = NULL;

    for (struct execution *slot = executions->slots;
         slot < last_slot(executions); slot++) {
        if (slot->state != EXECUTION_NONE)
            continue;
        /* Reuse the slot that ended first: a cancel may still arrive for a
         * recent execution. The host's ids increase. */
        if (!found || slot->id < found->id)
            found = slot;
    }
    return found;
}

struct execution *executions_find(struct executions *executions, int64_t id)
{
    for (struct execution *slot = executions->slots;
         slot < last_slot(executions); slot++) {
        if (slot->state != EXECUTION_NONE && slot->id == id)
            return slot;
    }
    return NULL;
}

bool executions_has_ended(const struct executions *executions, int64_t id)
{
    for (size_t i = 0; i < WIRE_MAX_EXECUTIONS; i++) {
        const struct execution *slot = &executions->slots[i];

        if (slot->state == EXECUTION_NONE && slot->pid != 0 && slot->id == id)
            return true;
    }
    return false;
}

int64_t executions_find_process(const struct executions *executions, pid_t pid)
{
    const struct process_home *home = executions->context.home;

    if (process_home_has_cgroups(home))
        return process_home_find(home, pid);
    for (size_t i = 0; i < WIRE_MAX_EXECUTIONS; i++) {
        const struct execution *slot = &executions->slots[i];

        if (slot->state != EXECUTION_NONE &&
            process_set_contains(home, &slot->processes, pid))
            return slot->id;
    }
    return 0;
}

bool executions_run(const struct executions *executions)
{
    for (size_t i = 0; i < WIRE_MAX_EXECUTIONS; i++) {
        if (executions->slots[i].state != EXECUTION_NONE)
            return true;
    }
    return false;
}

void executions_note_exit(struct executions *executions, pid_t pid, int status)
{
    for (struct execution *slot = executions->slots;
         slot < last_slot(executions); slot++) {
        if (execution_note_exit(slot, pid, status))
            return;
    }
}

size_t executions_poll(const struct executions *executions, struct pollfd *fds)
{
    size_t count = 0;

    for (size_t i = 0; i < WIRE_MAX_EXECUTIONS; i++)
        count += execution_poll(&executions->slots[i], executions->context.port,
                                fds + count);
    return count;
}

int64_t executions_deadline_ms(const struct executions *executions)
{
    int64_t first = -1;

    for (size_t i = 0; i < WIRE_MAX_EXECUTIONS; i++) {
        int64_t deadline = execution_deadline_ms(&executions->slots[i]);

        if (deadline >= 0 && (first < 0 || deadline < first))
            first = deadline;
    }
    return first;
}

void executions_advance(struct executions *executions, int64_t now_ms)
{
    bool more;

    do {
        more = false;
        for (size_t i = 0; i < WIRE_MAX_EXECUTIONS; i++) {
            size_t at = (executions->first + i) % WIRE_MAX_EXECUTIONS;

            more |= execution_advance(&executions->slots[at],
                                      &executions->context, now_ms);
        }
        executions->first = (executions->first + 1) % WIRE_MAX_EXECUTIONS;
    } while (more);
}

static bool kill_all(struct executions *executions)
{
    bool any = false;

    for (struct execution *slot = executions->slots;
         slot < last_slot(executions); slot++) {
        if (slot->state == EXECUTION_NONE ||
            process_set_is_empty(&slot->processes))
            continue;
        process_set_signal(&slot->processes, SIGKILL);
        any = true;
    }
    return any;
}

void executions_end_now(struct executions *executions)
{
    const struct timespec pause = { .tv_nsec = 10 * 1000 * 1000 };

    for (int i = 0; i < 50 && kill_all(executions); i++) {
        nanosleep(&pause, NULL);
        while (waitpid(-1, NULL, WNOHANG) > 0)
            continue;
    }
}
