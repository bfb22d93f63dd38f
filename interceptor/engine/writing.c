/* SPDX-License-Identifier: Apache-2.0
 *
 * writing - see writing.h.
 */
#include "interceptor/engine/writing.h"

#include "interceptor/sys/clock.h"

static _Thread_local int64_t current = IC_WRITER_HOST;

void ic_set_writer(int64_t pid)
{
    current = MAX(pid, IC_WRITER_HOST);
}

void ic_follow_writers(struct ic *ic)
{
    writers_follow(ic->writers);
}

void ic_name_writers(struct ic *ic, const struct ic_writer *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        writers_name(ic->writers, list[i].pid, list[i].execution);
    writers_end_answer(ic->writers, clock_ms());
}

/* Return the fingerprint of a triple; never 0. The time makes a process count
 * as new after a while (WRITERS_TRUST_MS), and n_dropped when the number of an
 * inode may have been reused. */
static uint64_t fingerprint(struct ic *ic, const struct ic_inode *inode)
{
    uint64_t time = (uint64_t)atomic_load_explicit(&ic->last_change_ms,
                                                   memory_order_relaxed) /
                    WRITERS_TRUST_MS;
    uint64_t epoch = atomic_load_explicit(&ic->epoch, memory_order_relaxed);
    uint64_t n = atomic_load_explicit(&ic->wal.n_dropped, memory_order_relaxed);
    uint64_t x = inode->ino * 0x9e3779b97f4a7c15u;

    x ^= x >> 29;
    x = (x + (uint64_t)current) * 0xbf58476d1ce4e5b9u;
    x ^= x >> 32;
    x = (x + epoch + (time << 20) + (n << 40)) * 0x94d049bb133111ebu;
    return (x ^ x >> 31) | 1;
}

static bool note(struct ic *ic, const struct ic_inode *inode)
{
    struct step *step = ic->wal.step;
    struct step_inode *known = step && step->writers
                                   ? step_find_inode(step, inode->ino)
                                   : NULL;

    if (known)
        writers_note(step->writers, &known->by, current, clock_ms());
    return known != NULL;
}

void writing_note(struct ic *ic, const struct ic_inode *inode)
{
    _Atomic uint64_t *seen;
    uint64_t print;
    bool noted;

    if (!writers_are_followed(ic->writers) || !core_captures(ic))
        return;
    print = fingerprint(ic, inode);
    seen = &ic->writers_seen[(print >> 8) % WRITERS_SEEN];
    if (atomic_load_explicit(seen, memory_order_relaxed) == print)
        return;
    pthread_mutex_lock(&ic->names);
    noted = note(ic, inode);
    pthread_mutex_unlock(&ic->names);
    if (noted)
        atomic_store_explicit(seen, print, memory_order_relaxed);
}

void writing_note_locked(struct ic *ic, const struct ic_inode *inode)
{
    if (writers_are_followed(ic->writers) && core_captures(ic))
        note(ic, inode);
}

void writing_note_name(struct ic *ic, const struct ic_inode *dir,
                       const char *name)
{
    struct step *step = ic->wal.step;
    struct step_binding *binding;
    struct step_inode *known;

    if (!writers_are_followed(ic->writers) || !core_captures(ic) || !step ||
        !step->writers)
        return;
    known = step_find_inode(step, dir->ino);
    binding = known && !(known->flags & STEP_CREATED)
                  ? step_find_binding(step, known, name)
                  : NULL;
    if (binding)
        writers_note(step->writers, &binding->by, current, clock_ms());
}
