/* SPDX-License-Identifier: Apache-2.0
 *
 * undo_log_history - history.jsonl (undo_log.h).
 */

#include "interceptor/log/undo_log_history.h"

#include <errno.h>

#include "common/log.h"
#include "interceptor/log/barriers.h"
#include "interceptor/log/journal.h"
#include "interceptor/log/overlap.h"
#include "interceptor/log/step.h"
#include "interceptor/log/undo_log_alias.h"
#include "interceptor/log/undo_log_parts.h"
#include "interceptor/sys/sys.h"

#define HISTORY "history.jsonl"

static int read_history_record(json_t *record, void *opaque)
{
    struct undo_log *log = opaque;
    const char *type = json_string_value(json_object_get(record, "t"));
    int64_t seq = json_integer_value(json_object_get(record, "seq"));

    if (g_strcmp0(type, "alias") == 0) {
        undo_log_read_alias(log, record);
    } else {
        int64_t id = json_integer_value(json_object_get(record, "id"));

        barriers_read(log->barriers, record);
        if (id >= -STEP_MAX_NUMBER && id <= STEP_MAX_NUMBER && seq >= 0 &&
            seq <= STEP_MAX_NUMBER)
            undo_log_use(log, id, seq);
        if (g_strcmp0(type, "done") == 0)
            g_hash_table_insert(log->seqs, g_memdup2(&id, sizeof(id)),
                                g_memdup2(&seq, sizeof(seq)));
    }
    return 0;
}

static int write_note(struct journal *journal, const char *type, int64_t id,
                      int64_t seq)
{
    return journal_append(journal,
                          json_pack("{s:s, s:I, s:I}", "t", type, "id",
                                    (json_int_t)id, "seq", (json_int_t)seq));
}

static int write_used(struct undo_log *log, struct journal *journal)
{
    int rc = write_note(journal, "used", log->last_id, log->last_seq);

    return rc < 0 ? rc
                  : write_note(journal, "used", log->least_id, log->last_seq);
}

int undo_log_append_history(struct undo_log *log, const char *type, int64_t id,
                            int64_t seq)
{
    int rc = log->owes_note ? write_used(log, log->history) : 0;

    if (rc == 0)
        rc = write_note(log->history, type, id, seq);
    log->owes_note = rc < 0;
    return rc;
}

/* ---- barriers ------------------------------------------------------------ */

GPtrArray *undo_log_barriers(struct undo_log *log)
{
    return log->barriers;
}

int undo_log_add_barrier(struct undo_log *log, struct ic_barrier *barrier)
{
    barrier->seq = undo_log_next_seq(log);
    barriers_add(log->barriers, barrier);
    return journal_append(log->history, barrier_to_record(barrier));
}

/* Return the seqs of the barriers above seq that stay, as a new array. */
static json_t *list_kept(struct undo_log *log, int64_t seq,
                         const struct overlap *overlap)
{
    json_t *kept = json_array();

    for (guint i = 0; i < log->barriers->len; i++) {
        const struct ic_barrier *barrier = g_ptr_array_index(log->barriers, i);

        if (barrier->seq > seq && !overlap_has(overlap, barrier))
            json_array_append_new(kept, json_integer(barrier->seq));
    }
    return kept;
}

int undo_log_cross_barriers(struct undo_log *log, int64_t seq,
                            const struct overlap *overlap)
{
    guint count = log->barriers->len;
    json_t *kept = list_kept(log, seq, overlap);
    int rc = 0;

    barriers_cross(log->barriers, seq, kept);
    if (log->barriers->len < count)
        rc = journal_append(log->history,
                            json_pack("{s:s, s:I, s:O}", "t", "crossed", "seq",
                                      (json_int_t)seq, "kept", kept));
    json_decref(kept);
    return rc;
}

/* ---- opening ------------------------------------------------------------- */

int undo_log_open_history(struct undo_log *log, bool *ret_damaged)
{
    int rc = journal_open(log->dir, HISTORY, &log->history);

    log->barriers = barriers_new();
    undo_log_begin_aliases(log);
    log->seqs = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free,
                                      g_free);
    if (rc == 0)
        rc = journal_read(log->dir, HISTORY, read_history_record, log,
                          ret_damaged);
    return rc;
}

/* ---- compaction ---------------------------------------------------------- */

#define HISTORY_NEW HISTORY ".tmp"

enum {
    COMPACT_BYTES = 256 << 10, /* not worth it below this */
    COMPACT_RATIO = 4,         /* nor if more than one part in this many would
                                * remain */
};

static int write_history(struct undo_log *log, struct journal *journal)
{
    int rc = write_used(log, journal);

    for (guint i = 0; rc == 0 && i < log->entries->len; i++) {
        const struct undo_log_entry *entry = &g_array_index(
            log->entries, struct undo_log_entry, i);

        rc = write_note(journal, "done", entry->id, entry->seq);
    }
    for (guint i = 0; rc == 0 && i < log->barriers->len; i++)
        rc = journal_append(
            journal, barrier_to_record(g_ptr_array_index(log->barriers, i)));
    return rc < 0 ? rc : undo_log_write_aliases(log, journal);
}

/* Memory has all that history.jsonl says, except what no step needs. */
int undo_log_compact_history(struct undo_log *log)
{
    struct journal *journal;
    int rc = sys_unlinkat(log->dir, HISTORY_NEW, 0);

    rc = rc < 0 && rc != -ENOENT
             ? rc
             : journal_open(log->dir, HISTORY_NEW, &journal);
    if (rc < 0)
        return rc;
    rc = write_history(log, journal);
    if (rc == 0)
        rc = sys_renameat2(log->dir, HISTORY_NEW, log->dir, HISTORY, 0);
    if (rc < 0) {
        journal_close(journal);
        sys_unlinkat(log->dir, HISTORY_NEW, 0);
        return rc;
    }
    journal_close(log->history);
    log->history = journal;
    return 0;
}

/* Only a try shows whether compaction saves room; so wait until the file has
 * grown by a factor. */
void undo_log_maybe_compact(struct undo_log *log)
{
    int64_t size = journal_size(log->history);
    int rc;

    if (size < COMPACT_BYTES || size < COMPACT_RATIO * log->compacted)
        return;
    rc = undo_log_compact_history(log);
    if (rc < 0)
        log_warn(LOG_UNDO, "undo log: cannot compact the history: %s",
                 g_strerror(-rc));
    log->compacted = journal_size(log->history);
}

void undo_log_close_history(struct undo_log *log)
{
    g_clear_pointer(&log->history, journal_close);
    undo_log_forget_aliases(log);
    g_clear_pointer(&log->barriers, g_ptr_array_unref);
    g_clear_pointer(&log->seqs, g_hash_table_unref);
}
