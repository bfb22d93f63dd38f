/* SPDX-License-Identifier: Apache-2.0
 *
 * watching - see watching.h.
 */
#include "interceptor/engine/watching.h"

#include "interceptor/engine/outside_note.h"
#include "interceptor/engine/stale.h"
#include "interceptor/sys/clock.h"

static char *process_name(pid_t pid, void *opaque)
{
    struct ic *ic = opaque;
    g_autofree char *path = g_strdup_printf("/proc/%d/comm", (int)pid);
    char *name = NULL;

    if (pid > 0 && ic->process_name)
        return ic->process_name(pid, ic->process_name_opaque);
    if (pid > 0 && g_file_get_contents(path, &name, NULL, NULL))
        g_strchomp(name);
    return name;
}

static void on_touched(GPtrArray *paths, bool wait, void *opaque)
{
    struct ic *ic = opaque;

    if (!stale_is_wanted(ic))
        return;
    if (paths)
        stale_tell_paths(ic, paths, wait);
    else
        stale_tell_all(ic, wait);
}

static void on_complete(int64_t since_ms, void *opaque)
{
    stale_set_complete(opaque, since_ms);
}

static void on_edited(struct ic_barrier *barrier, void *opaque)
{
    struct ic *ic = opaque;

    outside_tell(ic, barrier);
    pthread_rwlock_rdlock(&ic->gate);
    pthread_mutex_lock(&ic->names);
    outside_keep(ic, barrier);
    pthread_mutex_unlock(&ic->names);
    pthread_rwlock_unlock(&ic->gate);
}

static void note_ends(void *opaque)
{
    struct ic *ic = opaque;

    atomic_store(&ic->notes_leave, true);
}

static int64_t last_change_ms(void *opaque)
{
    struct ic *ic = opaque;

    return MAX(atomic_load(&ic->last_change_ms),
               atomic_load(&ic->last_leave_ms));
}

static bool was_active(int64_t since_ms, void *opaque)
{
    struct ic *ic = opaque;
    int64_t last;

    if (pthread_rwlock_trywrlock(&ic->gate) != 0)
        return true;
    last = last_change_ms(ic);
    pthread_rwlock_unlock(&ic->gate);
    return last >= since_ms;
}

struct watch_host watching_host(struct ic *ic)
{
    return (struct watch_host){
        .share = ic->share,
        .root = ic->root->fd,
        .dev = ic->dev,
        .events = ic->events,
        .fd = &ic->watch_fd,
        .process_name = process_name,
        .writes = ic->stale.writes,
        .touched = on_touched,
        .complete = on_complete,
        .edited = on_edited,
        .note_ends = note_ends,
        .last_change_ms = last_change_ms,
        .was_active = was_active,
        .opaque = ic,
    };
}
