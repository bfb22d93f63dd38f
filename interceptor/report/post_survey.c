/* SPDX-License-Identifier: Apache-2.0
 *
 * post_survey - see post_survey.h.
 */
#include "interceptor/report/post_survey.h"

#include <inttypes.h>

#include "interceptor/log/step_name.h"
#include "interceptor/sys/clock.h"

/* ---- entries ------------------------------------------------------------- */

struct collector {
    GPtrArray *entries;
    GHashTable *seen; /* owned post_spot */
};

/* A survey may have the same name twice: as a binding, and as the inode there.
 */
static void collect(struct collector *c, const struct survey_entry *entry)
{
    struct post_spot spot = { entry->dir, entry->name };

    if (g_hash_table_contains(c->seen, &spot))
        return;
    g_hash_table_add(c->seen, g_memdup2(&spot, sizeof(spot)));
    g_ptr_array_add(c->entries, (gpointer)entry);
}

static void collect_table(struct collector *c, GHashTable *table)
{
    GHashTableIter iter;
    gpointer value;

    g_hash_table_iter_init(&iter, table);
    while (g_hash_table_iter_next(&iter, NULL, &value))
        collect(c, value);
}

static void collect_array(struct collector *c, GPtrArray *array)
{
    for (guint i = 0; i < array->len; i++)
        collect(c, g_ptr_array_index(array, i));
}

static int compare_depth(gconstpointer a, gconstpointer b)
{
    const struct survey_entry *x = *(struct survey_entry *const *)a;
    const struct survey_entry *y = *(struct survey_entry *const *)b;

    return x->depth < y->depth ? -1 : x->depth > y->depth;
}

GPtrArray *post_survey_entries(const struct survey *survey)
{
    struct collector c = {
        .entries = g_ptr_array_new(),
        .seen = g_hash_table_new_full(post_spot_hash, post_spot_equal, g_free,
                                      NULL),
    };

    /* First the entries that are the dir of others. */
    collect_table(&c, survey->inodes);
    collect_array(&c, survey->created);
    collect_array(&c, survey->others);
    collect_table(&c, survey->bindings);
    g_hash_table_unref(c.seen);
    g_ptr_array_sort(c.entries, compare_depth);
    return c.entries;
}

/* ---- writing ------------------------------------------------------------- */

struct post_state post_survey_of(const struct survey_entry *entry)
{
    const struct stat *st = &entry->st;
    struct post_state post = {
        .mode = st->st_mode,
        .has_digest = entry->has_digest,
        .digest = entry->digest,
        .uid = entry->uid,
        .gid = entry->gid,
        .state.ino = st->st_ino,
    };

    if (!S_ISDIR(st->st_mode)) {
        post.size = st->st_size;
        post.mtime = clock_ns(&st->st_mtim);
        post.links = st->st_nlink > 1 ? (int64_t)st->st_nlink : 0;
        post.state.changed = clock_ns(&st->st_ctim);
    }
    return post;
}

static void format(GString *line, const struct survey_entry *entry,
                   guint dir_line)
{
    struct post_state post = post_survey_of(entry);

    g_string_assign(line, "{\"t\":\"p\"");
    if (entry->dir) {
        g_string_append_printf(line, ",\"d\":%u", dir_line);
        step_name_append(line, entry->name);
    }
    g_string_append_printf(line, ",\"i\":%" PRId64 ",\"o\":%u",
                           (int64_t)post.state.ino, post.mode);
    if (post.has_digest)
        g_string_append_printf(
            line, ",\"a\":%" PRIu32 ",\"u\":%" PRIu32 ",\"g\":%" PRIu32,
            post.digest, post.uid, post.gid);
    if (!S_ISDIR(post.mode))
        g_string_append_printf(
            line, ",\"s\":%" PRId64 ",\"m\":%" PRId64 ",\"c\":%" PRId64,
            post.size, post.mtime, post.state.changed);
    if (post.links)
        g_string_append_printf(line, ",\"l\":%" PRId64, post.links);
}

/* Write lines for other processes' files at the step's names. */
static int write_foreign(struct step *step, const struct survey *survey,
                         GHashTable *lines, size_t count, size_t *ret_count)
{
    g_autoptr(GString) line = g_string_sized_new(256);
    int rc = 0;

    for (guint i = 0; rc == 0 && i < survey->foreign->len; i++) {
        const struct survey_entry *entry = g_ptr_array_index(survey->foreign,
                                                             i);
        gpointer dir;

        if (!entry->binding ||
            !g_hash_table_lookup_extended(lines, entry->dir, NULL, &dir))
            continue;
        g_string_printf(line, "{\"t\":\"p\",\"d\":%u", GPOINTER_TO_UINT(dir));
        step_name_append(line, entry->name);
        g_string_append(line, ",\"i\":0,\"o\":0");
        rc = journal_append_text(step->journal, line->str, line->len);
        count++;
    }
    if (rc == 0)
        *ret_count = count;
    return rc;
}

int post_survey_write(struct step *step, const struct survey *survey,
                      size_t *ret_count)
{
    g_autoptr(GPtrArray) entries = post_survey_entries(survey);
    g_autoptr(GHashTable) lines = g_hash_table_new(NULL, NULL);
    g_autoptr(GString) line = g_string_sized_new(256);
    int rc = 0;

    for (guint i = 0; rc == 0 && i < entries->len; i++) {
        const struct survey_entry *entry = g_ptr_array_index(entries, i);

        format(line, entry,
               GPOINTER_TO_UINT(g_hash_table_lookup(lines, entry->dir)));
        if (S_ISDIR(entry->st.st_mode))
            g_hash_table_insert(lines, (gpointer)entry, GUINT_TO_POINTER(i));
        rc = journal_append_text(step->journal, line->str, line->len);
    }
    return rc < 0 ? rc
                  : write_foreign(step, survey, lines, entries->len, ret_count);
}
