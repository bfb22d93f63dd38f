/* SPDX-License-Identifier: Apache-2.0
 *
 * undo_log_alias - which number an inode has now (undo_log.h).
 *
 * What others do to the share is not noted. If an inode dies by their hand,
 * its number may be another's, which is then lost by a step and made anew; so
 * to follow the dead one leads to where the other is, or was. Two inodes of a
 * step may then seem to have one number. The living one is the one that has
 * got it later: when a number was given, whoever had it before was dead.
 */
#include "interceptor/undo_log_parts.h"

#include "interceptor/journal.h"
#include "interceptor/step.h"

/* nth: the order in which they were noted. */
struct alias {
    uint64_t from, to;
    int64_t seq, at, nth;
};

GHashTable *undo_log_aliases_new(void)
{
    return g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free,
                                 (GDestroyNotify)g_ptr_array_unref);
}

static void note_alias(struct undo_log *log, const struct alias *alias)
{
    GPtrArray *list = g_hash_table_lookup(log->aliases, &alias->from);
    struct alias *copy = g_memdup2(alias, sizeof(*alias));

    if (!list) {
        list = g_ptr_array_new_with_free_func(g_free);
        g_hash_table_insert(log->aliases,
                            g_memdup2(&alias->from, sizeof(alias->from)), list);
    }
    copy->nth = ++log->last_alias;
    g_ptr_array_add(list, copy);
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
    };

    note_alias(log, &alias);
    /* Numbers that nothing else tells of may have been used by then. */
    if (alias.at >= 0 && alias.at <= STEP_MAX_NUMBER)
        undo_log_use(log, 0, alias.at);
}

static int write_alias(struct journal *journal, const struct alias *alias)
{
    return journal_append(
        journal,
        json_pack("{s:s, s:I, s:I, s:I, s:I}", "t", "alias", "from",
                  (json_int_t)alias->from, "to", (json_int_t)alias->to, "seq",
                  (json_int_t)alias->seq, "at", (json_int_t)alias->at));
}

int undo_log_add_alias(struct undo_log *log, uint64_t from, uint64_t to,
                       int64_t seq)
{
    struct alias alias = { from, to, seq, log->last_seq, 0 };
    int rc = write_alias(log->history, &alias);

    if (rc == 0)
        note_alias(log, &alias);
    return rc;
}

/* An alias is needed by steps that are older than the loss that it is about. */
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

/* The first loss of this number after step seq; of an interrupted rollback
 * that was run again, the last. */
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

/* way (may be NULL): gets each alias on it. */
static uint64_t follow(struct undo_log *log, uint64_t ino, int64_t seq,
                       GPtrArray *way)
{
    const struct alias *alias;

    while ((alias = next_alias(log, ino, seq))) {
        ino = alias->to;
        seq = MAX(alias->at, alias->seq); /* rises: the loop ends */
        if (way)
            g_ptr_array_add(way, (gpointer)alias);
    }
    return ino;
}

uint64_t undo_log_alias(uint64_t ino, int64_t seq, void *opaque)
{
    return follow(opaque, ino, seq, NULL);
}

/* When it got the last of its numbers, before the last common ones; 0: it had
 * that number from the beginning. */
static int64_t last_given(const GPtrArray *way, guint common)
{
    const struct alias *alias = way->len > common
                                    ? g_ptr_array_index(way,
                                                        way->len - common - 1)
                                    : NULL;

    return alias ? alias->nth : 0;
}

static bool is_later(uint64_t a, uint64_t b, int64_t seq, void *opaque)
{
    g_autoptr(GPtrArray) of_a = g_ptr_array_new(), of_b = g_ptr_array_new();
    guint common = 0;

    follow(opaque, a, seq, of_a);
    follow(opaque, b, seq, of_b);
    /* What both went through since was the way of one of them. */
    while (last_given(of_a, common) &&
           last_given(of_a, common) == last_given(of_b, common))
        common++;
    return last_given(of_a, common) > last_given(of_b, common);
}

const struct step_aliases undo_log_aliases = {
    .now = undo_log_alias,
    .is_later = is_later,
};
