/* SPDX-License-Identifier: Apache-2.0
 *
 * verify - see verify.h.
 */
#include "interceptor/report/verify.h"

#include <limits.h>
#include <string.h>

#include "common/log.h"
#include "interceptor/log/post_state.h"
#include "interceptor/report/post_survey.h"
#include "interceptor/report/survey.h"
#include "interceptor/sys/clock.h"
#include "interceptor/sys/rights.h"
#include "interceptor/sys/sys.h"

struct verifier {
    struct undo_log *log;
    struct step *step;
    GHashTable *spots;  /* post_spot of post states -> borrowed post_state */
    GHashTable *found;  /* survey_entry -> borrowed post_state */
    GHashTable *edited; /* a set of borrowed survey_entry */
    GPtrArray *paths;
};

/* ---- paths --------------------------------------------------------------- */

/* A path that is too long is represented by a parent directory's. */
static void add_entry(struct verifier *v, const struct survey_entry *entry)
{
    g_hash_table_add(v->edited, (gpointer)entry);
    while (entry->path_length >= PATH_MAX)
        entry = entry->dir;
    g_ptr_array_add(v->paths, survey_path(entry));
}

static void add_missing(struct verifier *v, const struct post_state *post)
{
    g_autoptr(GString) path = g_string_new(post->name);

    for (post = post->dir; post && post->dir; post = post->dir) {
        if (path->len + strlen(post->name) + 1 >= PATH_MAX)
            g_string_assign(path, post->name);
        else {
            g_string_prepend_c(path, '/');
            g_string_prepend(path, post->name);
        }
    }
    g_ptr_array_add(v->paths, g_string_free(g_steal_pointer(&path), FALSE));
}

/* ---- comparing ----------------------------------------------------------- */

static bool has_same_meta(const struct post_state *post,
                          const struct post_state *now)
{
    return !post->has_digest || !now->has_digest ||
           (post->digest == now->digest &&
            !rights_differ(post->uid, now->uid) &&
            !rights_differ(post->gid, now->gid));
}

static bool is_same(struct verifier *v, const struct post_state *post,
                    const struct post_state *now)
{
    struct ctime_state expected = post->state;
    int64_t born;

    if (post->mode != now->mode || post->size != now->size ||
        post->mtime != now->mtime || !has_same_meta(post, now))
        return false;
    if (!S_ISDIR(now->mode) &&
        ctime_ledger_follow(undo_log_ctime_ledger(v->log), v->step->seq,
                            &expected))
        return expected.ino == now->state.ino &&
               expected.changed == now->state.changed;
    return now->state.ino == expected.ino ||
           now->state.ino ==
               undo_log_alias(&post->state, v->step->seq, &born, v->log);
}

static void compare(struct verifier *v, const struct survey_entry *entry)
{
    struct post_state now = post_survey_of(entry);
    struct post_spot spot = {
        entry->dir ? g_hash_table_lookup(v->found, entry->dir) : NULL,
        entry->name,
    };
    struct post_state *post = NULL;

    /* Below a new or edited entry, only the topmost counts. */
    if (entry->dir && !spot.dir) {
        g_hash_table_add(v->edited, (gpointer)entry);
        return;
    }
    post = g_hash_table_lookup(v->spots, &spot);
    if (post) {
        post->found = true;
        post->closed = entry->closed;
    }
    if (!post || !is_same(v, post, &now))
        add_entry(v, entry);
    if (post && post->state.ino)
        g_hash_table_insert(v->found, (gpointer)entry, post);
}

/* Of a missing tree only the top is listed. */
static void compare_missing(struct verifier *v)
{
    for (guint i = 0; i < v->step->post->len; i++) {
        const struct post_state *post = g_ptr_array_index(v->step->post, i);

        if (!post->found && post->state.ino &&
            (!post->dir || (post->dir->found && !post->dir->closed)))
            add_missing(v, post);
    }
}

static void mark_edited(struct verifier *v, const struct survey *survey)
{
    GHashTableIter iter;
    gpointer key, value;

    g_hash_table_iter_init(&iter, survey->inodes);
    while (g_hash_table_iter_next(&iter, &key, &value)) {
        struct step_inode *inode = key;

        if (g_hash_table_contains(v->edited, value))
            inode->flags |= STEP_EDITED;
    }
}

static void index_posts(struct verifier *v)
{
    for (guint i = 0; i < v->step->post->len; i++) {
        struct post_state *post = g_ptr_array_index(v->step->post, i);
        struct post_spot spot = { post->dir, post->name };

        post->found = post->closed = false;
        g_hash_table_insert(v->spots, g_memdup2(&spot, sizeof(spot)), post);
    }
}

/* Inodes whose number is now another inode's (step_load()). */
static void add_lost(struct verifier *v)
{
    for (guint i = 0; i < v->step->retired->len; i++) {
        const struct step_inode *inode = g_ptr_array_index(v->step->retired, i);
        g_autofree char *path = NULL;

        if (!(inode->flags & STEP_LOST))
            continue;
        path = step_path_before(v->step, inode, NULL);
        g_ptr_array_add(v->paths, g_strdup(path ? path : "."));
    }
}

static int compare_paths(gconstpointer a, gconstpointer b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void compare_all(struct verifier *v, const struct survey *survey)
{
    g_autoptr(GPtrArray) entries = post_survey_entries(survey);

    v->spots = g_hash_table_new_full(post_spot_hash, post_spot_equal, g_free,
                                     NULL);
    v->found = g_hash_table_new(NULL, NULL);
    v->edited = g_hash_table_new(NULL, NULL);
    index_posts(v);
    for (guint i = 0; i < entries->len; i++)
        compare(v, g_ptr_array_index(entries, i));
    compare_missing(v);
    mark_edited(v, survey);
    g_ptr_array_sort(v->paths, compare_paths);
    g_hash_table_unref(v->spots);
    g_hash_table_unref(v->found);
    g_hash_table_unref(v->edited);
}

GPtrArray *verify_step(struct undo_log *log, struct step *step, int root)
{
    struct verifier v = { .log = log, .step = step };
    g_autoptr(survey_auto) survey = NULL;
    int rc;

    if (!post_state_is_complete(step))
        return NULL;
    v.paths = g_ptr_array_new_with_free_func(g_free);
    rc = survey_make_open(step, root, &survey);
    if (rc == 0) {
        add_lost(&v);
        compare_all(&v, survey);
    } else {
        /* It was readable when the step ended. */
        log_warn(LOG_UNDO,
                 "step %" G_GINT64_FORMAT
                 ": cannot examine the files it touched: %s",
                 step->id, g_strerror(-rc));
        g_ptr_array_add(v.paths, g_strdup("."));
    }
    return v.paths;
}

/* ---- ledger -------------------------------------------------------------- */

/* Find where an inode of the step is now, if it exists. */
static bool find_now(const struct survey *survey, int blobs,
                     const struct step_inode *inode, struct stat *ret_st)
{
    const struct survey_entry *entry = g_hash_table_lookup(survey->inodes,
                                                           inode);

    if (entry) {
        *ret_st = entry->st;
        return true;
    }
    return blobs >= 0 &&
           sys_stat_name(blobs, step_inode_blob(inode->ino).text, ret_st) == 0;
}

static void note_inode(struct undo_log *log, const struct survey *survey,
                       int blobs, const struct step_inode *inode)
{
    unsigned all = STEP_DATA | STEP_META;
    struct ctime_state before = inode->seen, now;
    struct ctime_ledger *ledger = undo_log_ctime_ledger(log);
    struct stat st;

    if (!(inode->flags & STEP_SEEN))
        return;
    /* Edited from outside, and not restored completely. */
    if (inode->flags & STEP_EDITED && (inode->flags & all) != all)
        return;
    if (!find_now(survey, blobs, inode, &st) || S_ISDIR(st.st_mode))
        return;
    now = (struct ctime_state){ st.st_ino, clock_ns(&st.st_ctim) };
    /* The step may have left the state that it found: it saved the inode and
     * did not change it. Then both undo and redo continue from that state. */
    ctime_ledger_follow(ledger, 0, &before);
    ctime_ledger_add(ledger, &before, &now, undo_log_last_seq(log));
}

void verify_note_undone(struct undo_log *log, struct step *step, int root,
                        int blobs)
{
    g_autoptr(survey_auto) survey = NULL;
    GHashTableIter iter;
    gpointer value;
    size_t count, redos;
    int rc;

    undo_log_entries(log, &count);
    undo_log_redos(log, &redos);
    if (count + redos == 0 && !undo_log_has_inverse(log)) {
        ctime_ledger_forget(undo_log_ctime_ledger(log));
        return;
    }
    rc = survey_make(step, root, false, &survey);
    if (rc < 0) {
        log_warn(LOG_UNDO, "step %" G_GINT64_FORMAT ": %s", step->id,
                 g_strerror(-rc));
        ctime_ledger_lose(undo_log_ctime_ledger(log), undo_log_last_seq(log));
        return;
    }
    g_hash_table_iter_init(&iter, step->inodes);
    while (g_hash_table_iter_next(&iter, NULL, &value))
        note_inode(log, survey, blobs, value);
    for (guint i = 0; i < step->retired->len; i++)
        note_inode(log, survey, blobs, g_ptr_array_index(step->retired, i));
}
