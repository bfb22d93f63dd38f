/* SPDX-License-Identifier: Apache-2.0
 *
 * outside_note - see outside_note.h.
 */
#include "interceptor/outside_note.h"

#include <limits.h>

#include "common/log.h"
#include "interceptor/barriers.h"

enum { BARRIERS_IN_A_ROW = 100 /* with no step between them */ };

void outside_tell(struct ic *ic, const struct ic_barrier *barrier)
{
    g_autofree char *text = barrier_describe(barrier);
    json_t *payload = barrier_to_json(barrier);

    json_object_del(payload, "type");
    json_object_del(payload, "after_step");
    log_info(LOG_FILE_WATCHER, "changed from outside: %s", text);
    events_send(ic->events, "event.external_modification", payload);
}

/* ---- keeping ------------------------------------------------------------- */

/* One is enough to stop an undo. Of an endless row of them, made by something
 * that works in the share all day, the log keeps the first. */
static bool is_crowded(struct ic *ic, int64_t seq)
{
    const GPtrArray *barriers = undo_log_barriers(ic->log);
    const struct ic_barrier *first;

    if (barriers->len < BARRIERS_IN_A_ROW)
        return false;
    first = g_ptr_array_index(barriers, barriers->len - BARRIERS_IN_A_ROW);
    return first->seq > seq;
}

/* Of the newest step, or of what can be redone, which is newer: without one
 * before it a barrier would be in nobody's way. 0: there is none. */
static int64_t newest_seq(struct ic *ic)
{
    const struct undo_log_entry *entries;
    const int64_t *redos;
    size_t count, redo_count;

    if (ic->wal.step)
        return ic->wal.step->seq;
    entries = undo_log_entries(ic->log, &count);
    redos = undo_log_redos(ic->log, &redo_count);
    return MAX(count > 0 ? entries[count - 1].seq : 0,
               redo_count > 0 ? redos[redo_count - 1] : 0);
}

void outside_keep(struct ic *ic, struct ic_barrier *barrier)
{
    int64_t seq = ic->log ? newest_seq(ic) : 0;
    int rc;

    if (ic->outside_policy != IC_OUTSIDE_BARRIER || seq == 0 ||
        is_crowded(ic, seq)) {
        ic_barrier_free(barrier);
        return;
    }
    rc = undo_log_add_barrier(ic->log, barrier);
    if (rc < 0)
        log_warn(LOG_FILE_WATCHER, "history of the undo log: %s",
                 g_strerror(-rc));
}

/* ---- what was noted of a step -------------------------------------------- */

/* The paths of the barriers since it began; borrowed. */
static GHashTable *paths_since(struct ic *ic, const struct step *step)
{
    GHashTable *paths = g_hash_table_new(g_str_hash, g_str_equal);
    const GPtrArray *barriers = undo_log_barriers(ic->log);

    for (guint i = 0; i < barriers->len; i++) {
        const struct ic_barrier *barrier = g_ptr_array_index(barriers, i);

        for (guint j = 0; barrier->seq > step->seq && j < barrier->paths->len;
             j++)
            g_hash_table_add(paths, g_ptr_array_index(barrier->paths, j));
    }
    return paths;
}

bool outside_is_told(struct ic *ic, const struct step *step,
                     const struct survey *survey)
{
    g_autoptr(GHashTable) paths = paths_since(ic, step);
    bool told = false;

    if (!survey || g_hash_table_size(paths) == 0)
        return g_hash_table_size(paths) > 0;
    for (guint i = 0; !told && i < survey->created->len; i++) {
        const struct survey_entry *entry = g_ptr_array_index(survey->created,
                                                             i);
        g_autofree char *path = entry->path_length < PATH_MAX
                                    ? survey_path(entry)
                                    : NULL;

        told = path && g_hash_table_contains(paths, path);
    }
    return told;
}

/* ---- what the step did not make ------------------------------------------ */

static void add_foreign(struct ic *ic, struct ic_barrier *barrier,
                        GHashTable *known, const struct survey_entry *entry,
                        bool now)
{
    g_autofree char *path = NULL;

    /* What is too deep to be named is named by a directory above it. */
    while (entry->path_length >= PATH_MAX)
        entry = entry->dir;
    path = survey_path(entry);
    if (!g_hash_table_contains(known, path) &&
        (now || !watch_has_pending(ic->watch, path)))
        barrier_add_path(barrier, path);
}

void outside_note_foreign(struct ic *ic, const struct survey *survey, bool now)
{
    struct ic_barrier *barrier;
    g_autoptr(GHashTable) known = NULL;
    guint i;

    if (survey->foreign->len == 0)
        return;
    known = paths_since(ic, ic->wal.step);
    barrier = barrier_new(g_get_real_time(), true);
    for (i = 0; i < survey->foreign->len && barrier->more == 0; i++)
        add_foreign(ic, barrier, known, g_ptr_array_index(survey->foreign, i),
                    now);
    barrier->more += survey->foreign->len - i;
    if (barrier->paths->len == 0 && barrier->more == 0) {
        ic_barrier_free(barrier);
        return;
    }
    outside_tell(ic, barrier);
    outside_keep(ic, barrier);
}
