/* SPDX-License-Identifier: Apache-2.0
 *
 * writers - see writers.h.
 */
#include "interceptor/log/writers.h"

#include <errno.h>
#include <jansson.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "interceptor/sys/clock.h"
#include "interceptor/sys/events.h"

/* Entries that each table has. */
enum { NONE, UNKNOWN, HOST, FIRST };

enum {
    PENDING = -2, /* not answered yet */
    OF_HOST = -1,
};

struct writer {
    uint32_t pid;
    int64_t execution; /* 0: unknown; or as above */
    int64_t asked_ms;
};

struct writers {
    struct events *events; /* borrowed */
    atomic_bool followed;

    pthread_mutex_t lock; /* guards the fields below */
    pthread_cond_t answered;
    uint64_t table;
    GArray *entries;     /* struct writer */
    GHashTable *numbers; /* pid -> its newest entry */
    GArray *unasked;     /* pids */
    bool asking;
    int64_t asked_ms; /* the last question */
};

struct writers *writers_new(struct events *events)
{
    struct writers *writers = g_new0(struct writers, 1);
    pthread_condattr_t attr;

    writers->events = events;
    pthread_mutex_init(&writers->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&writers->answered, &attr);
    pthread_condattr_destroy(&attr);
    writers->entries = g_array_new(FALSE, TRUE, sizeof(struct writer));
    writers->numbers = g_hash_table_new(NULL, NULL);
    writers->unasked = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    writers_begin(writers);
    return writers;
}

void writers_free(struct writers *writers)
{
    if (!writers)
        return;
    g_array_unref(writers->entries);
    g_hash_table_unref(writers->numbers);
    g_array_unref(writers->unasked);
    pthread_cond_destroy(&writers->answered);
    pthread_mutex_destroy(&writers->lock);
    g_free(writers);
}

void writers_follow(struct writers *writers)
{
    atomic_store(&writers->followed, true);
}

bool writers_are_followed(const struct writers *writers)
{
    return atomic_load_explicit(&writers->followed, memory_order_relaxed);
}

uint64_t writers_begin(struct writers *writers)
{
    uint64_t table;

    pthread_mutex_lock(&writers->lock);
    table = ++writers->table;
    g_array_set_size(writers->entries, 0);
    g_array_set_size(writers->entries, FIRST);
    g_array_index(writers->entries, struct writer, HOST).execution = OF_HOST;
    g_hash_table_remove_all(writers->numbers);
    g_array_set_size(writers->unasked, 0);
    pthread_mutex_unlock(&writers->lock);
    return table;
}

/* ---- questions (with the lock) ------------------------------------------- */

static void ask(struct writers *writers, int64_t now_ms)
{
    guint n = MIN(writers->unasked->len, WRITERS_ASKED);
    json_t *pids;

    if (n == 0 ||
        (writers->asking && now_ms - writers->asked_ms < WRITERS_TIMEOUT))
        return;
    pids = json_array();
    for (guint i = 0; i < n; i++)
        json_array_append_new(
            pids, json_integer(g_array_index(writers->unasked, uint32_t, i)));
    g_array_remove_range(writers->unasked, 0, n);
    writers->asking = true;
    writers->asked_ms = now_ms;
    events_send(writers->events, "event.writers",
                json_pack("{s:o}", "pids", pids));
}

static uint32_t add_entry(struct writers *writers, uint32_t pid, int64_t now_ms)
{
    const struct writer entry = { pid, PENDING, now_ms };

    if (writers->entries->len >= WRITERS_MAX)
        return UNKNOWN;
    g_array_append_val(writers->entries, entry);
    g_hash_table_insert(writers->numbers, GUINT_TO_POINTER(pid),
                        GUINT_TO_POINTER(writers->entries->len - 1));
    g_array_append_val(writers->unasked, pid);
    ask(writers, now_ms);
    return writers->entries->len - 1;
}

static uint32_t find_entry(struct writers *writers, int64_t pid, int64_t now_ms)
{
    uint32_t at;

    if (pid == IC_WRITER_HOST)
        return HOST;
    if (pid <= 0 || pid > UINT32_MAX)
        return UNKNOWN;
    at = GPOINTER_TO_UINT(
        g_hash_table_lookup(writers->numbers, GUINT_TO_POINTER((guint)pid)));
    if (at &&
        now_ms - g_array_index(writers->entries, struct writer, at).asked_ms <
            WRITERS_TRUST_MS)
        return at;
    return add_entry(writers, (uint32_t)pid, now_ms);
}

/* ---- sets (with the lock) ------------------------------------------------ */

static bool is_same(struct writers *writers, uint32_t a, uint32_t b)
{
    int64_t x = g_array_index(writers->entries, struct writer, a).execution;
    int64_t y = g_array_index(writers->entries, struct writer, b).execution;

    return a == b || (x != PENDING && x == y);
}

static bool has(struct writers *writers, const struct writer_set *set,
                unsigned n, uint32_t entry)
{
    for (unsigned i = 0; i < n; i++) {
        if (is_same(writers, set->list[i], entry))
            return true;
    }
    return false;
}

/* Keep one entry of each execution. Returns how many are left. */
static unsigned shrink(struct writers *writers, struct writer_set *set)
{
    unsigned n = 0;

    for (unsigned i = 0; i < IC_MAX_BY && set->list[i] != NONE; i++) {
        if (!has(writers, set, n, set->list[i]))
            set->list[n++] = set->list[i];
    }
    for (unsigned i = n; i < IC_MAX_BY; i++)
        set->list[i] = NONE;
    return n;
}

static bool is_valid(const struct writers *writers,
                     const struct writer_set *set)
{
    for (unsigned i = 0; i < IC_MAX_BY; i++) {
        if (set->list[i] >= writers->entries->len)
            return false;
    }
    return true;
}

void writers_note(struct writers *writers, struct writer_set *set, int64_t pid,
                  int64_t now_ms)
{
    uint32_t entry;
    unsigned n;

    pthread_mutex_lock(&writers->lock);
    entry = find_entry(writers, pid, now_ms);
    n = is_valid(writers, set) ? shrink(writers, set) : IC_MAX_BY;
    if (n < IC_MAX_BY && !has(writers, set, n, entry))
        set->list[n] = entry;
    else if (n == IC_MAX_BY && !has(writers, set, n, entry))
        set->list[IC_MAX_BY - 1] = UNKNOWN; /* the rest of them */
    pthread_mutex_unlock(&writers->lock);
}

/* ---- answers ------------------------------------------------------------- */

void writers_name(struct writers *writers, uint32_t pid, int64_t execution)
{
    uint32_t at;

    pthread_mutex_lock(&writers->lock);
    at = GPOINTER_TO_UINT(
        g_hash_table_lookup(writers->numbers, GUINT_TO_POINTER(pid)));
    if (at) {
        struct writer *entry = &g_array_index(writers->entries, struct writer,
                                              at);

        if (entry->execution == PENDING)
            entry->execution = MAX(execution, 0);
    }
    pthread_mutex_unlock(&writers->lock);
}

void writers_end_answer(struct writers *writers, int64_t now_ms)
{
    pthread_mutex_lock(&writers->lock);
    writers->asking = false;
    ask(writers, now_ms);
    pthread_cond_broadcast(&writers->answered);
    pthread_mutex_unlock(&writers->lock);
}

void writers_wait(struct writers *writers, unsigned ms)
{
    struct timespec end;
    int rc = 0;

    if (!writers_are_followed(writers))
        return;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += ms / 1000;
    end.tv_nsec += (long)(ms % 1000) * 1000000;
    if (end.tv_nsec >= 1000000000) {
        end.tv_nsec -= 1000000000;
        end.tv_sec++;
    }
    pthread_mutex_lock(&writers->lock);
    while (rc == 0 && (writers->asking || writers->unasked->len > 0))
        rc = pthread_cond_timedwait(&writers->answered, &writers->lock, &end);
    pthread_mutex_unlock(&writers->lock);
}

/* ---- reading ------------------------------------------------------------- */

static void add_execution(int64_t execution, int64_t *by, unsigned *inout_n)
{
    for (unsigned i = 0; i < *inout_n; i++) {
        if (by[i] == execution)
            return;
    }
    if (*inout_n < IC_MAX_BY)
        by[(*inout_n)++] = execution;
    else
        by[IC_MAX_BY - 1] = 0; /* the rest of them */
}

bool writers_read(struct writers *writers, uint64_t table,
                  const struct writer_set *set, int64_t *by, unsigned *inout_n)
{
    bool found = false;

    pthread_mutex_lock(&writers->lock);
    for (unsigned i = 0; table == writers->table && i < IC_MAX_BY; i++) {
        int64_t execution;

        if (set->list[i] == NONE || set->list[i] >= writers->entries->len)
            break;
        found = true;
        execution = g_array_index(writers->entries, struct writer, set->list[i])
                        .execution;
        if (execution != OF_HOST)
            add_execution(MAX(execution, 0), by, inout_n);
    }
    pthread_mutex_unlock(&writers->lock);
    return found;
}
