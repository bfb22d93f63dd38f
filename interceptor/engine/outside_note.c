/* SPDX-License-Identifier: Apache-2.0
 *
 * outside_note - see outside_note.h.
 */
#include "interceptor/engine/outside_note.h"

#include <limits.h>

#include "common/fd.h"
#include "common/log.h"
#include "interceptor/log/barriers.h"
#include "interceptor/log/step_mark.h"
#include "interceptor/sys/sys.h"

enum { BARRIERS_IN_A_ROW = 100 /* without a step between them */ };

void outside_tell(struct ic *ic, const struct ic_barrier *barrier)
{
    g_autofree char *text = barrier_describe(barrier);
    json_t *payload = barrier_to_json(barrier);

    json_object_del(payload, "type");
    json_object_del(payload, "after_step");
    log_info(LOG_FILE_WATCHER, "edited from outside: %s", text);
    events_send(ic->events, "event.external_modification", payload);
}

/* ---- recording ----------------------------------------------------------- */

/* Return the number of barriers after seq: a row. */
static guint count_row(struct ic *ic, int64_t seq)
{
    const GPtrArray *barriers = undo_log_barriers(ic->log);
    guint count = 0;

    while (count < barriers->len) {
        const struct ic_barrier *barrier = g_ptr_array_index(
            barriers, barriers->len - 1 - count);

        if (barrier->seq <= seq)
            break;
        count++;
    }
    return count;
}

/* Return whether barriers in the row already cover this one. A program that
 * works in the share all day changes the same files. */
static bool is_known(struct ic *ic, const struct ic_barrier *barrier, guint row)
{
    const GPtrArray *barriers = undo_log_barriers(ic->log);
    g_autoptr(GHashTable) paths = g_hash_table_new(g_str_hash, g_str_equal);

    for (guint i = barriers->len - row; i < barriers->len; i++) {
        const struct ic_barrier *other = g_ptr_array_index(barriers, i);

        for (guint j = 0; j < other->paths->len; j++)
            g_hash_table_add(paths, g_ptr_array_index(other->paths, j));
    }
    for (guint i = 0; i < barrier->paths->len; i++) {
        if (!g_hash_table_contains(paths, g_ptr_array_index(barrier->paths, i)))
            return false;
    }
    return barrier->more == 0;
}

/* Return the seq of the newest step, or of the newest redoable one, which is
 * newer: without a step before it a barrier blocks nothing. 0: none. */
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

/* The history could not record an edit: mark the step, so that a rollback after
 * a kill knows of it. */
static void mark_open_step(struct ic *ic)
{
    fd_auto int dir = ic->wal.step ? undo_log_open_wal(ic->log) : -1;

    if (dir >= 0)
        step_mark(dir, STEP_MARK_FOREIGN, atomic_load(&ic->durable.power));
}

/* The barrier blocks nothing. But if the open step is denied, or an interrupted
 * rollback is finished, the origin of each change matters. */
static void keep_for_step(struct ic *ic, struct ic_barrier *barrier)
{
    if (!ic->wal.step && !ic->broken) {
        ic_barrier_free(barrier);
        return;
    }
    if (ic->unkept->len >= BARRIERS_IN_A_ROW) {
        struct ic_barrier *last = g_ptr_array_index(ic->unkept,
                                                    BARRIERS_IN_A_ROW - 1);

        last->more++;
        ic_barrier_free(barrier);
        return;
    }
    g_ptr_array_add(ic->unkept, barrier);
}

/* Of an endless row the log keeps the first barriers. One more says that there
 * are others, so that these block, too. */
void outside_keep(struct ic *ic, struct ic_barrier *barrier)
{
    int64_t seq = ic->log ? newest_seq(ic) : 0;
    guint row = seq ? count_row(ic, seq) : 0;
    int rc;

    if (ic->outside_policy != IC_OUTSIDE_BARRIER || seq == 0 ||
        row > BARRIERS_IN_A_ROW) {
        keep_for_step(ic, barrier);
        return;
    }
    if (!ic->broken && is_known(ic, barrier, row)) {
        ic_barrier_free(barrier);
        return;
    }
    if (row == BARRIERS_IN_A_ROW)
        barrier->more++;
    rc = undo_log_add_barrier(ic->log, barrier);
    if (rc < 0) {
        log_warn(LOG_FILE_WATCHER, "undo log: cannot write the history: %s",
                 g_strerror(-rc));
        mark_open_step(ic);
    }
}

/* ---- edits during a step ------------------------------------------------- */

/* The watcher's reports since a step began. */
struct told {
    GHashTable *paths; /* borrowed strings */
    bool more;         /* there are others with unknown paths */
    int64_t first_us;  /* when the first was noticed; INT64_MAX: none */
};

static void add_told(struct told *told, const struct ic_barrier *barrier)
{
    told->more = told->more || barrier->more > 0;
    told->first_us = MIN(told->first_us, barrier->noticed_us);
    for (guint i = 0; i < barrier->paths->len; i++)
        g_hash_table_add(told->paths, g_ptr_array_index(barrier->paths, i));
}

static struct told told_since(struct ic *ic, const struct step *step)
{
    const GPtrArray *barriers = undo_log_barriers(ic->log);
    struct told told = { .paths = g_hash_table_new(g_str_hash, g_str_equal),
                         .first_us = INT64_MAX };

    for (guint i = 0; i < barriers->len; i++) {
        const struct ic_barrier *barrier = g_ptr_array_index(barriers, i);

        if (barrier->seq > step->seq)
            add_told(&told, barrier);
    }
    for (guint i = 0; i < ic->unkept->len; i++)
        add_told(&told, g_ptr_array_index(ic->unkept, i));
    return told;
}

static bool is_told(const struct told *told, const struct survey_entry *entry)
{
    g_autofree char *path = entry->path_length < PATH_MAX ? survey_path(entry)
                                                          : NULL;

    return told->more || !path || g_hash_table_contains(told->paths, path);
}

bool outside_is_told(struct ic *ic, const struct step *step,
                     const struct survey *survey)
{
    struct told told = told_since(ic, step);
    bool any = told.first_us < INT64_MAX;
    bool found = any && (!survey || told.more);

    for (guint i = 0; any && !found && i < survey->created->len; i++)
        found = is_told(&told, g_ptr_array_index(survey->created, i));
    g_hash_table_unref(told.paths);
    return found;
}

static bool is_later(const struct survey_entry *entry, int64_t since_us)
{
    return sys_time_us(&entry->st.st_ctim) > since_us;
}

/* Use the survey's ctimes: undoing a step changes the ctimes of inodes that it
 * moves back. */
static GHashTable *seen_inodes(struct ic *ic, const struct told *told,
                               const struct survey *survey)
{
    GHashTable *inodes = g_hash_table_new_full(g_int64_hash, g_int64_equal,
                                               g_free, NULL);
    GHashTableIter iter;
    gpointer value;

    g_hash_table_iter_init(&iter, survey->inodes);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        const struct survey_entry *entry = value;
        uint64_t ino = entry->st.st_ino;
        bool edited = is_later(entry, undo_log_owner_doubt(ic->log)) ||
                      (told->first_us < INT64_MAX && is_told(told, entry));

        if (S_ISREG(entry->st.st_mode))
            g_hash_table_insert(inodes, g_memdup2(&ino, sizeof(ino)),
                                GINT_TO_POINTER(edited));
    }
    return inodes;
}

void outside_find_edited(struct ic *ic, const struct step *step,
                         const struct survey *survey, int64_t *ret_since_us,
                         GHashTable **ret_inodes)
{
    enum { LATE_US = 2000000 }; /* a barrier is noticed after the edit */
    struct told told = told_since(ic, step);

    *ret_since_us = undo_log_owner_doubt(ic->log);
    *ret_inodes = NULL;
    if (survey && MIN(*ret_since_us, told.first_us) < INT64_MAX)
        *ret_inodes = seen_inodes(ic, &told, survey);
    else if (told.first_us < INT64_MAX)
        *ret_since_us = MIN(*ret_since_us, told.first_us - LATE_US);
    g_hash_table_unref(told.paths);
}

/* A path that is too long is represented by a parent directory's. */
static char *named_path(const struct survey_entry *entry)
{
    while (entry->path_length >= PATH_MAX)
        entry = entry->dir;
    return survey_path(entry);
}

/* Return the later entries, borrowed. */
static GPtrArray *late_entries(const struct survey *survey, int64_t since_us)
{
    GPtrArray *late = g_ptr_array_new();
    GHashTableIter iter;
    gpointer value;

    for (guint i = 0; i < survey->created->len; i++) {
        if (is_later(g_ptr_array_index(survey->created, i), since_us))
            g_ptr_array_add(late, g_ptr_array_index(survey->created, i));
    }
    g_hash_table_iter_init(&iter, survey->inodes);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        const struct survey_entry *entry = value;

        if (S_ISREG(entry->st.st_mode) && is_later(entry, since_us))
            g_ptr_array_add(late, value);
    }
    return late;
}

bool outside_came_later(struct ic *ic, const struct survey *survey)
{
    g_autoptr(GPtrArray)
        late = survey ? late_entries(survey, undo_log_owner_doubt(ic->log))
                      : NULL;

    return late && late->len > 0;
}

struct ic_barrier *outside_find_late(struct ic *ic, const struct survey *survey)
{
    g_autoptr(GPtrArray)
        late = late_entries(survey, undo_log_owner_gone(ic->log));
    struct ic_barrier *barrier;
    guint i;

    if (late->len == 0)
        return NULL;
    barrier = barrier_new(g_get_real_time(), false);
    for (i = 0; i < late->len && barrier->more == 0; i++) {
        g_autofree char *path = named_path(g_ptr_array_index(late, i));

        barrier_add_path(barrier, path);
    }
    barrier->more += late->len - i;
    return barrier;
}

/* ---- inodes that the step did not make ----------------------------------- */

static void add_foreign(struct ic *ic, struct ic_barrier *barrier,
                        GHashTable *known, const struct survey_entry *entry,
                        bool now)
{
    g_autofree char *path = named_path(entry);

    if (!g_hash_table_contains(known, path) &&
        (now || !watch_has_pending(ic->watch, path)))
        barrier_add_path(barrier, path);
}

void outside_note_foreign(struct ic *ic, const struct survey *survey, bool now)
{
    struct ic_barrier *barrier;
    struct told known;
    guint i;

    if (survey->foreign->len == 0)
        return;
    known = told_since(ic, ic->wal.step);
    barrier = barrier_new(g_get_real_time(), true);
    for (i = 0; i < survey->foreign->len && barrier->more == 0; i++)
        add_foreign(ic, barrier, known.paths,
                    g_ptr_array_index(survey->foreign, i), now);
    g_hash_table_unref(known.paths);
    barrier->more += survey->foreign->len - i;
    if (barrier->paths->len == 0 && barrier->more == 0) {
        ic_barrier_free(barrier);
        return;
    }
    outside_tell(ic, barrier);
    outside_keep(ic, barrier);
}
