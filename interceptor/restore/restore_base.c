/* SPDX-License-Identifier: Apache-2.0
 *
 * restore_base - see restore_base.h.
 */
#include "interceptor/restore/restore_base.h"

#include "interceptor/restore/progress.h"

int restore_open_journal(struct restore *r)
{
    return r->step->journal || r->step->dry
               ? 0
               : journal_open(r->dir, STEP_MANIFEST, &r->step->journal);
}

static int compare_order(gconstpointer a, gconstpointer b)
{
    const struct step_inode *x = *(struct step_inode *const *)a;
    const struct step_inode *y = *(struct step_inode *const *)b;

    return x->order < y->order ? -1 : x->order > y->order;
}

static void add_inodes(GPtrArray *list, GHashTable *inodes)
{
    GHashTableIter iter;
    gpointer value;

    g_hash_table_iter_init(&iter, inodes);
    while (g_hash_table_iter_next(&iter, NULL, &value))
        g_ptr_array_add(list, value);
}

GPtrArray *restore_sorted_inodes(struct restore *r)
{
    GPtrArray *list = g_ptr_array_new();

    add_inodes(list, r->step->inodes);
    for (guint i = 0; i < r->step->retired->len; i++)
        g_ptr_array_add(list, g_ptr_array_index(r->step->retired, i));
    g_ptr_array_sort(list, compare_order);
    return list;
}

void restore_tell_alive(struct restore *r)
{
    enum { EVERY_US = UNDO_LOG_BEAT_MS * 1000 };
    int64_t now_us = g_get_monotonic_time();

    if (now_us < r->next_beat_us)
        return;
    r->next_beat_us = now_us + EVERY_US;
    undo_log_beat(r->log);
}

void restore_note_progress(struct restore *r)
{
    restore_tell_alive(r);
    if (r->progress)
        progress_step(r->progress);
}
