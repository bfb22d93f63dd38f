/* SPDX-License-Identifier: Apache-2.0
 *
 * undo_log_history - history.jsonl: notes and aliases (undo_log.h).
 */
#include "interceptor/undo_log_parts.h"

#include "interceptor/barriers.h"
#include "interceptor/journal.h"
#include "interceptor/step.h"

#define HISTORY "history.jsonl"

struct alias {
    uint64_t to;
    int64_t seq, at;
};

static void note_alias(struct undo_log *log, uint64_t from,
                       const struct alias *alias)
{
    GArray *list = g_hash_table_lookup(log->aliases, &from);

    if (!list) {
        list = g_array_new(FALSE, FALSE, sizeof(struct alias));
        g_hash_table_insert(log->aliases, g_memdup2(&from, sizeof(from)), list);
    }
    g_array_append_vals(list, alias, 1);
}

static int read_history_record(json_t *record, void *opaque)
{
    struct undo_log *log = opaque;
    const char *type = json_string_value(json_object_get(record, "t"));
    int64_t seq = json_integer_value(json_object_get(record, "seq"));

    if (g_strcmp0(type, "alias") == 0) {
        struct alias alias = {
            .to = (uint64_t)json_integer_value(json_object_get(record, "to")),
            .seq = seq,
            .at = json_integer_value(json_object_get(record, "at")),
        };

        note_alias(
            log, (uint64_t)json_integer_value(json_object_get(record, "from")),
            &alias);
    } else {
        int64_t id = json_integer_value(json_object_get(record, "id"));

        barriers_read(log->barriers, record);
        if (id >= -STEP_MAX_NUMBER && id <= STEP_MAX_NUMBER && seq >= 0 &&
            seq <= STEP_MAX_NUMBER)
            undo_log_note_used(log, id, seq);
    }
    return 0;
}

int undo_log_append_history(struct undo_log *log, const char *type, int64_t id,
                            int64_t seq)
{
    return journal_append(log->history,
                          json_pack("{s:s, s:I, s:I}", "t", type, "id",
                                    (json_int_t)id, "seq", (json_int_t)seq));
}

int undo_log_add_alias(struct undo_log *log, uint64_t from, uint64_t to,
                       int64_t seq)
{
    struct alias alias = { to, seq, log->last_seq };
    int rc = journal_append(log->history,
                            json_pack("{s:s, s:I, s:I, s:I, s:I}", "t", "alias",
                                      "from", (json_int_t)from, "to",
                                      (json_int_t)to, "seq", (json_int_t)seq,
                                      "at", (json_int_t)alias.at));

    if (rc == 0)
        note_alias(log, from, &alias);
    return rc;
}

/* The first loss of this number after step seq; of an interrupted rollback
 * that was run again, the last. */
static const struct alias *next_alias(struct undo_log *log, uint64_t ino,
                                      int64_t seq)
{
    GArray *list = g_hash_table_lookup(log->aliases, &ino);
    const struct alias *found = NULL;

    for (guint i = 0; list && i < list->len; i++) {
        const struct alias *alias = &g_array_index(list, struct alias, i);

        if (alias->seq > seq && (!found || alias->seq <= found->seq))
            found = alias;
    }
    return found;
}

uint64_t undo_log_alias(uint64_t ino, int64_t seq, void *opaque)
{
    struct undo_log *log = opaque;
    const struct alias *alias;

    while ((alias = next_alias(log, ino, seq))) {
        ino = alias->to;
        seq = MAX(alias->at, alias->seq); /* rises: the loop ends */
    }
    return ino;
}

/* ---- barriers ------------------------------------------------------------ */

GPtrArray *undo_log_barriers(struct undo_log *log)
{
    return log->barriers;
}

int undo_log_add_barrier(struct undo_log *log, struct ic_barrier *barrier)
{
    barrier->seq = undo_log_next_seq(log);
    g_ptr_array_add(log->barriers, barrier);
    if (log->barriers->len > BARRIERS_MAX)
        g_ptr_array_remove_index(log->barriers, 0);
    return journal_append(log->history, barrier_to_record(barrier));
}

int undo_log_cross_barriers(struct undo_log *log, int64_t seq)
{
    guint count = log->barriers->len;

    barriers_cross(log->barriers, seq);
    if (log->barriers->len == count)
        return 0;
    return journal_append(log->history, json_pack("{s:s, s:I}", "t", "crossed",
                                                  "seq", (json_int_t)seq));
}

/* ---- opening ------------------------------------------------------------- */

int undo_log_open_history(struct undo_log *log, bool *ret_damaged)
{
    int rc = journal_open(log->dir, HISTORY, &log->history);

    log->barriers = barriers_new();
    log->aliases = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free,
                                         (GDestroyNotify)g_array_unref);
    return rc < 0 ? rc
                  : journal_read(log->dir, HISTORY, read_history_record, log,
                                 ret_damaged);
}

void undo_log_close_history(struct undo_log *log)
{
    journal_close(log->history);
    g_clear_pointer(&log->aliases, g_hash_table_unref);
    g_clear_pointer(&log->barriers, g_ptr_array_unref);
}
