/* SPDX-License-Identifier: Apache-2.0
 *
 * restore_stand_in - see restore_stand_in.h.
 */
#include "interceptor/restore/restore_stand_in.h"

#include <errno.h>

#include "common/fd.h"
#include "interceptor/log/post_state.h"
#include "interceptor/restore/restore_find.h"
#include "interceptor/report/survey.h"
#include "interceptor/restore/restore_names.h"
#include "interceptor/sys/btime.h"
#include "interceptor/sys/sys.h"

bool restore_is_folder(const struct step_inode *inode)
{
    return inode->flags & STEP_META ? S_ISDIR(inode->meta->mode)
                                    : inode->bindings || inode->children;
}

/* The inode's own number may be, or become, another inode's. */
int restore_disown(struct restore *r, struct step_inode *inode)
{
    return inode->stand_in || !inode->ino
               ? 0
               : step_record_stand_in(r->step, inode,
                                      (uint64_t)INT64_MAX - inode->recorded);
}

/* ---- reused numbers ------------------------------------------------------ */

/* The file system reuses the number of a removed inode. The number's present
 * owner is another inode if its type differs, or if it was made after the step
 * ended with the recorded one in place (or met it, if the step did not end), or
 * after undo made that one anew. ctime and btime have the same clock. */
static bool is_reused(const struct step_inode *inode,
                      const struct post_state *post,
                      const struct survey_entry *entry, int dirfd)
{
    mode_t type = entry->st.st_mode & S_IFMT;
    int64_t latest;

    if ((inode->flags & STEP_DATA && type != S_IFREG) ||
        (inode->flags & STEP_META && type != (inode->meta->mode & S_IFMT)) ||
        (post && type != (post->mode & S_IFMT)))
        return true;
    latest = inode->born                   ? inode->born
             : post && post->state.changed ? post->state.changed
             : inode->flags & STEP_SEEN    ? inode->seen.changed
                                           : 0;
    return latest > 0 && btime_of_name(dirfd, entry->name) > latest;
}

static GHashTable *index_posts(const struct step *step)
{
    GHashTable *posts = g_hash_table_new(g_int64_hash, g_int64_equal);

    for (guint i = 0; step->post && i < step->post->len; i++) {
        struct post_state *post = g_ptr_array_index(step->post, i);

        g_hash_table_insert(posts, &post->state.ino, post);
    }
    return posts;
}

/* Return the inodes whose number another inode has, by the survey: borrowed. */
static GPtrArray *find_reused(struct restore *r, const struct survey *survey)
{
    g_autoptr(GHashTable) posts = index_posts(r->step);
    GPtrArray *reused = g_ptr_array_new();
    struct walker walker;
    GHashTableIter iter;
    gpointer key, value;

    survey_walker_init(&walker, survey, r->step, r->root);
    g_hash_table_iter_init(&iter, survey->inodes);
    while (g_hash_table_iter_next(&iter, &key, &value)) {
        const struct survey_entry *entry = value;
        const struct step_inode *inode = key;
        int dirfd = entry->dir ? walker_go(&walker, entry->dir) : -ENOENT;

        if (inode->flags & STEP_RETIRED || inode == r->step->root || dirfd < 0)
            continue;
        if (is_reused(inode, g_hash_table_lookup(posts, &inode->recorded),
                      entry, dirfd))
            g_ptr_array_add(reused, key);
    }
    for (guint i = 0; i < survey->arrivals->len; i++) {
        const struct survey_entry *entry = g_ptr_array_index(survey->arrivals,
                                                             i);
        struct step_inode *inode = step_find_inode(r->step, entry->st.st_ino);
        int dirfd = entry->dir ? walker_go(&walker, entry->dir) : -ENOENT;

        if (inode && dirfd >= 0 &&
            is_reused(inode, g_hash_table_lookup(posts, &inode->recorded),
                      entry, dirfd))
            g_ptr_array_add(reused, inode);
    }
    walker_clear(&walker);
    return reused;
}

/* Give them unused numbers. */
static int disown_reused(struct restore *r, struct survey **survey)
{
    g_autoptr(GPtrArray) reused = find_reused(r, *survey);
    int rc = 0;

    for (guint i = 0; rc == 0 && i < reused->len; i++) {
        struct step_inode *inode = g_ptr_array_index(reused, i);

        rc = restore_disown(r, inode);
    }
    if (rc < 0 || reused->len == 0)
        return rc;
    g_clear_pointer(survey, survey_free);
    return survey_make(r->step, r->root, false, survey);
}

/* ---- stand-ins for directories ------------------------------------------- */

static bool has_arrived(const struct survey *survey, uint64_t ino)
{
    for (guint i = 0; i < survey->arrivals->len; i++) {
        const struct survey_entry *entry = g_ptr_array_index(survey->arrivals,
                                                             i);

        if (entry->st.st_ino == ino)
            return true;
    }
    return false;
}

/* Return whether the number, which a directory has, is free for a stand-in, or
 * could be freed: a file of the step that had it is gone. 1, 0 or -errno. */
static int take_number(struct restore *r, const struct survey *survey,
                       uint64_t ino)
{
    struct step_inode *holder = step_find_inode(r->step, ino);
    int rc;

    if (!holder)
        return 1;
    if (restore_is_folder(holder) || holder == r->step->root ||
        g_hash_table_contains(survey->inodes, holder))
        return 0;
    rc = restore_disown(r, holder);
    return rc < 0 ? rc : step_find_inode(r->step, ino) == NULL;
}

/* If the directory that the step knew is gone and another process has made one
 * with that name, use that one for what the step changed in it. 1 if so, 0 if
 * not, or -errno. */
static int adopt(struct restore *r, const struct survey *survey,
                 struct step_inode *inode)
{
    struct undo_log_remade remade = { .from = inode->ino,
                                      .seq = r->step->seq,
                                      .born = inode->born };
    fd_auto int dir = -1;
    struct stat st;
    int rc;

    if (!restore_is_folder(inode) || inode->names || !inode->home ||
        inode->flags & (STEP_RETIRED | STEP_LOST) || inode == r->step->root ||
        g_hash_table_contains(survey->inodes, inode) ||
        !g_hash_table_contains(survey->inodes, inode->home))
        return 0;
    rc = has_arrived(survey, inode->ino) ? 1 : restore_is_kept(r, inode);
    if (rc != 0)
        return MIN(rc, 0);
    dir = restore_open_dir(r, inode->home);
    rc = dir < 0 ? dir : sys_stat_name(dir, inode->home_name, &st);
    if (rc < 0 || !S_ISDIR(st.st_mode))
        return rc < 0 && !restore_is_gone(rc) ? rc : 0;
    remade.to = st.st_ino;
    remade.made = btime_of_name(dir, inode->home_name);
    rc = take_number(r, survey, st.st_ino);
    if (rc <= 0)
        return rc;
    rc = step_record_stand_in(r->step, inode, st.st_ino);
    if (rc == 0 && !r->step->dry)
        rc = undo_log_add_alias(r->log, &remade);
    return rc < 0 ? rc : 1;
}

/* Repeat for what is in the directories found, each time with a new survey. */
static int adopt_folders(struct restore *r, struct survey **survey)
{
    int adopted;

    do {
        g_autoptr(GPtrArray) inodes = restore_sorted_inodes(r);
        int rc = 0;

        adopted = 0;
        for (guint i = 0; rc >= 0 && i < inodes->len; i++) {
            rc = adopt(r, *survey, g_ptr_array_index(inodes, i));
            adopted += rc > 0;
        }
        if (rc < 0)
            return rc;
        if (adopted > 0) {
            g_clear_pointer(survey, survey_free);
            rc = survey_make(r->step, r->root, false, survey);
        }
        if (rc < 0)
            return rc;
    } while (adopted > 0);
    return 0;
}

int restore_settle_numbers(struct restore *r, struct survey **survey)
{
    int rc = disown_reused(r, survey);

    return rc < 0 || !r->forced ? rc : adopt_folders(r, survey);
}
