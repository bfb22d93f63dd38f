/* SPDX-License-Identifier: Apache-2.0
 *
 * undo_log_alias - find the current number of an inode (undo_log.h).
 *
 * The log does not record what other processes do to the share. If one of them
 * removes an inode, its number becomes free, and an inode that undo recreates
 * may get it. That reuse is the proof of the death; without it, following the
 * number would lead to where the recreated inode is or was.
 */

#include "interceptor/log/undo_log_alias.h"

#include "interceptor/log/journal.h"
#include "interceptor/log/ctime_ledger.h"
#include "interceptor/log/step.h"
#include "interceptor/log/undo_log_parts.h"

/* nth: the order in which the aliases were recorded. */
struct alias {
    uint64_t from, to;
    int64_t seq, at, nth;
    int64_t born, made;
};

static GHashTable *table_new(GDestroyNotify free_list)
{
    return g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free,
                                 free_list);
}

void undo_log_begin_aliases(struct undo_log *log)
{
    log->aliases = table_new((GDestroyNotify)g_ptr_array_unref);
    log->given = table_new((GDestroyNotify)g_ptr_array_unref);
}

void undo_log_forget_aliases(struct undo_log *log)
{
    g_clear_pointer(&log->given, g_hash_table_unref);
    g_clear_pointer(&log->aliases, g_hash_table_unref);
}

static void table_add(GHashTable *table, uint64_t ino, struct alias *alias,
                      GDestroyNotify free_alias)
{
    GPtrArray *list = g_hash_table_lookup(table, &ino);

    if (!list) {
        list = g_ptr_array_new_with_free_func(free_alias);
        g_hash_table_insert(table, g_memdup2(&ino, sizeof(ino)), list);
    }
    g_ptr_array_add(list, alias);
}

static void note_alias(struct undo_log *log, const struct alias *alias)
{
    struct alias *copy = g_memdup2(alias, sizeof(*alias));

    copy->nth = ++log->last_alias;
    table_add(log->aliases, alias->from, copy, g_free);
    table_add(log->given, alias->to, copy, NULL);
}

/* ---- history.jsonl ------------------------------------------------------- */

static int64_t number(json_t *record, const char *key)
{
    return json_integer_value(json_object_get(record, key));
}

void undo_log_read_alias(struct undo_log *log, json_t *record)
{
    struct alias alias = {
        .from = (uint64_t)number(record, "from"),
        .to = (uint64_t)number(record, "to"),
        .seq = number(record, "seq"),
        .at = number(record, "at"),
        .born = number(record, "born"),
        .made = number(record, "made"),
    };

    note_alias(log, &alias);
    /* Numbers that no other record mentions may have been used by then. */
    if (alias.at >= 0 && alias.at <= STEP_MAX_NUMBER)
        undo_log_use(log, 0, alias.at);
}

static int write_alias(struct journal *journal, const struct alias *alias)
{
    json_t *record = json_pack(
        "{s:s, s:I, s:I, s:I, s:I}", "t", "alias", "from",
        (json_int_t)alias->from, "to", (json_int_t)alias->to, "seq",
        (json_int_t)alias->seq, "at", (json_int_t)alias->at);

    if (alias->born)
        json_object_set_new(record, "born", json_integer(alias->born));
    if (alias->made)
        json_object_set_new(record, "made", json_integer(alias->made));
    return journal_append(journal, record);
}

int undo_log_add_alias(struct undo_log *log,
                       const struct undo_log_remade *remade)
{
    struct alias alias = {
        .from = remade->from,
        .to = remade->to,
        .seq = remade->seq,
        .at = log->last_seq,
        .born = remade->born,
        .made = remade->made,
    };
    int rc = write_alias(log->history, &alias);

    if (rc == 0)
        note_alias(log, &alias);
    return rc;
}

/* Steps older than the loss that an alias describes need the alias. */
static int64_t oldest_seq(struct undo_log *log)
{
    int64_t oldest = log->last_seq;

    for (guint i = 0; i < log->entries->len; i++)
        oldest = MIN(oldest,
                     g_array_index(log->entries, struct undo_log_entry, i).seq);
    for (guint i = 0; i < log->redos->len; i++)
        oldest = MIN(oldest, g_array_index(log->redos, int64_t, i));
    return oldest;
}

static int compare_nth(gconstpointer a, gconstpointer b)
{
    const struct alias *x = *(struct alias *const *)a;
    const struct alias *y = *(struct alias *const *)b;

    return x->nth < y->nth ? -1 : x->nth > y->nth;
}

int undo_log_write_aliases(struct undo_log *log, struct journal *journal)
{
    g_autoptr(GPtrArray) all = g_ptr_array_new();
    int64_t oldest = oldest_seq(log);
    GHashTableIter iter;
    gpointer value;
    int rc = 0;

    g_hash_table_iter_init(&iter, log->aliases);
    while (g_hash_table_iter_next(&iter, NULL, &value))
        g_ptr_array_extend(all, value, NULL, NULL);
    g_ptr_array_sort(all, compare_nth);
    for (guint i = 0; rc == 0 && i < all->len; i++) {
        const struct alias *alias = g_ptr_array_index(all, i);

        if (alias->seq > oldest)
            rc = write_alias(journal, alias);
    }
    return rc;
}

/* ---- following ----------------------------------------------------------- */

/* Return the first loss of this number after step seq; of an interrupted
 * rollback that was repeated, the last. */
static const struct alias *next_alias(struct undo_log *log, uint64_t ino,
                                      int64_t seq)
{
    GPtrArray *list = g_hash_table_lookup(log->aliases, &ino);
    const struct alias *found = NULL;

    for (guint i = 0; list && i < list->len; i++) {
        const struct alias *alias = g_ptr_array_index(list, i);

        if (alias->seq > seq && (!found || alias->seq <= found->seq))
            found = alias;
    }
    return found;
}

/* Return when the alias was recorded. A step that recovery rolls back may be
 * newer than all that the log knew then. */
static int64_t moment(const struct alias *alias)
{
    return MAX(alias->at, alias->seq);
}

/* Return whether the number was given to another inode after this one got it
 * (since; NULL: it had it in step seq) and before the step in which it lost it
 * (until; NULL: not yet). The rollback of that step gives the number out again,
 * to any inode. A number that a rollback gives out is in use once its inverse,
 * recorded as "at", ends. */
static bool is_given(struct undo_log *log, uint64_t ino, int64_t seq,
                     const struct alias *since, const struct alias *until)
{
    GPtrArray *list = g_hash_table_lookup(log->given, &ino);

    for (guint i = 0; list && i < list->len; i++) {
        const struct alias *alias = g_ptr_array_index(list, i);

        if ((since ? alias->nth > since->nth : moment(alias) > seq) &&
            (!until || moment(alias) < until->seq))
            return true;
    }
    return false;
}

/* Return whether the next loss was of another inode. The btime of a recreated
 * inode is recorded with its alias. */
static bool is_later(const struct ctime_state *then, const struct alias *since,
                     const struct alias *next)
{
    if (since)
        return next->born && since->made && next->born != since->made;
    return then->changed && next->born > then->changed;
}

uint64_t undo_log_alias(const struct ctime_state *then, int64_t seq,
                        int64_t *ret_born, void *opaque)
{
    struct undo_log *log = opaque;
    const struct alias *since = NULL, *next;
    uint64_t ino = then->ino;

    *ret_born = 0;
    while ((next = next_alias(log, ino, seq))) {
        if (is_later(then, since, next) || is_given(log, ino, seq, since, next))
            return 0;
        *ret_born = next->made ? next->made : INT64_MAX;
        ino = next->to;
        seq = moment(next); /* rises, so the loop ends */
        since = next;
    }
    return is_given(log, ino, seq, since, NULL) ? 0 : ino;
}
