/* SPDX-License-Identifier: Apache-2.0
 *
 * inverse - see inverse.h, inverse_parts.h.
 */
#include "interceptor/restore/inverse.h"

#include <errno.h>
#include <fcntl.h>

#include "common/fd.h"
#include "interceptor/capture/search.h"
#include "interceptor/restore/inverse_parts.h"
#include "interceptor/sys/clock.h"
#include "interceptor/sys/project.h"
#include "interceptor/sys/sys.h"

/* ---- names --------------------------------------------------------------- */

int inverse_add_homes(struct inverter *v, const struct survey_entry *entry,
                      struct step_inode **ret_inode)
{
    g_autoptr(GPtrArray) missing = g_ptr_array_new();
    int rc = 0;

    for (const struct survey_entry *at = entry; at->dir; at = at->dir) {
        if (step_has_home(v->step, step_get_inode(v->step, at->st.st_ino)))
            break;
        g_ptr_array_add(missing, (gpointer)at);
    }
    for (guint i = missing->len; rc == 0 && i > 0; i--) {
        const struct survey_entry *at = g_ptr_array_index(missing, i - 1);

        rc = step_record_home(v->step, step_get_inode(v->step, at->st.st_ino),
                              step_get_inode(v->step, at->dir->st.st_ino),
                              at->name);
    }
    *ret_inode = step_get_inode(v->step, entry->st.st_ino);
    return rc;
}

/* Return the entry of a name that the inode had before the step and still has:
 * the rollback leaves that name alone, but may remove the one by which the
 * survey found the inode. */
static const struct survey_entry *find_lasting(struct inverter *v,
                                               const struct step_inode *inode)
{
    const struct survey *survey = v->source->survey;

    for (guint i = 0; inode->names && i < inode->names->len; i++) {
        const struct survey_entry *now = g_hash_table_lookup(
            survey->bindings, g_ptr_array_index(inode->names, i));

        if (now && step_is_now(inode, now->st.st_ino))
            return now;
    }
    return g_hash_table_lookup(survey->inodes, inode);
}

/* Without a link in the log, redo can find an inode that gained a name only by
 * one of its earlier names. */
static int add_lasting_home(struct inverter *v, const struct survey_entry *now)
{
    struct step_inode *inode = step_find_inode(v->source->step, now->st.st_ino);
    const struct survey_entry *entry = inode ? find_lasting(v, inode) : NULL;

    return entry ? inverse_add_homes(v, entry, &inode) : 0;
}

static int add_binding(struct inverter *v, const struct survey_entry *dir,
                       const char *name, const struct survey_entry *now)
{
    struct step_inode *parent, *before = NULL;
    int rc = inverse_add_homes(v, dir, &parent);

    if (rc < 0 || step_find_binding(v->step, parent, name))
        return rc;
    if (now) {
        rc = v->source->copies ? add_lasting_home(v, now) : 0;
        if (rc < 0)
            return rc;
        before = step_get_inode(v->step, now->st.st_ino);
        if (!S_ISDIR(now->st.st_mode))
            step_note_seen(before, before->ino, clock_ns(&now->st.st_ctim));
    }
    return step_record_binding(v->step, parent, name, before);
}

/* Record what the binding names now, if the rollback will change it. */
static int invert_binding(struct inverter *v, struct step_binding *binding)
{
    const struct survey *survey = v->source->survey;
    const struct survey_entry *dir = g_hash_table_lookup(survey->inodes,
                                                         binding->dir);
    const struct survey_entry *now = g_hash_table_lookup(survey->bindings,
                                                         binding);
    const struct step_inode *before = binding->before;

    /* The directory is gone: it comes back, and goes again, as a whole. */
    if (!dir || (now ? before && step_is_now(before, now->st.st_ino) : !before))
        return 0;
    if (step_is_vacant(binding) && !now)
        return 0; /* the rollback leaves the name free */
    return add_binding(v, dir, binding->name, now);
}

static int invert_bindings(struct inverter *v)
{
    GHashTableIter iter;
    gpointer key;
    int rc = 0;

    g_hash_table_iter_init(&iter, v->source->step->bindings);
    while (rc == 0 && g_hash_table_iter_next(&iter, &key, NULL))
        rc = invert_binding(v, key);
    return rc;
}

/* ---- metadata ------------------------------------------------------------ */

int inverse_open_entry(struct inverter *v, const struct survey_entry *entry)
{
    return survey_open(&v->walker, v->source->root, entry);
}

int inverse_record_meta(struct inverter *v, struct step_inode *inode, int fd)
{
    struct meta *meta;
    int rc = fd < 0 ? fd : meta_read(fd, &meta);

    return rc < 0 ? rc : step_record_meta(v->step, inode, meta);
}

static int add_meta(struct inverter *v, const struct survey_entry *entry)
{
    fd_auto int fd = -1;
    struct step_inode *inode;
    int rc = inverse_add_homes(v, entry, &inode);

    if (rc < 0 || inode->flags & STEP_META)
        return rc;
    fd = inverse_open_entry(v, entry);
    return inverse_record_meta(v, inode, fd);
}

/* The rollback moves these entries out of directories that the step created,
 * which changes the directories' mtime. */
static int invert_arrivals(struct inverter *v)
{
    GPtrArray *arrivals = v->source->survey->arrivals;
    int rc = 0;

    for (guint i = 0; rc == 0 && i < arrivals->len; i++) {
        const struct survey_entry *entry = g_ptr_array_index(arrivals, i);

        rc = add_binding(v, entry->dir, entry->name, entry);
        if (rc == 0)
            rc = add_meta(v, entry->dir);
    }
    return rc;
}

static int invert_metadata(struct inverter *v)
{
    GHashTableIter iter;
    gpointer key, value;
    int rc = 0;

    g_hash_table_iter_init(&iter, v->source->survey->inodes);
    while (rc == 0 && g_hash_table_iter_next(&iter, &key, &value)) {
        const struct step_inode *inode = key;

        if (inode->flags & STEP_META)
            rc = add_meta(v, value);
    }
    return rc;
}

/* ---- links --------------------------------------------------------------- */

/* A file that lost a name may still have names that no record contains. The
 * source's log holds a link to it, which the rollback consumes; so the inverse
 * gets a link to the file as well. */

int inverse_open_linked(struct inverter *v, uint64_t ino)
{
    return sys_openat(v->store.blobs, step_inode_blob(ino).text,
                      O_PATH | O_NOFOLLOW, 0);
}

static bool has_other_names(struct inverter *v, const struct step_inode *inode,
                            struct stat *ret_stat)
{
    return sys_stat_name(v->source->blobs, step_inode_blob(inode->ino).text,
                         ret_stat) == 0 &&
           ret_stat->st_ino == inode->ino && !S_ISDIR(ret_stat->st_mode) &&
           ret_stat->st_nlink > 1;
}

static int invert_linked(struct inverter *v, const struct step_inode *inode,
                         const struct stat *now)
{
    struct step_name name = step_inode_blob(inode->ino);
    struct step_inode *mine = step_get_inode(v->step, inode->ino);
    fd_auto int fd = -1;
    int rc = step_record_seen(v->step, mine, now);

    if (rc == 0)
        rc = project_link(v->source->blobs, name.text, v->store.blobs,
                          name.text);
    if (rc < 0)
        return rc;
    log_links_change(v->source->log_links, inode->ino, 1);
    if (!(inode->flags & STEP_META) || mine->flags & STEP_META)
        return 0;
    fd = inverse_open_linked(v, inode->ino);
    return inverse_record_meta(v, mine, fd);
}

/* The rollback changes the ctime of each inode of the step, so the inverse
 * records the current one (ctime_ledger.h). */
static int invert_seen(struct inverter *v)
{
    GHashTableIter iter;
    gpointer value;
    int rc = 0;

    g_hash_table_iter_init(&iter, v->source->step->inodes);
    while (rc == 0 && g_hash_table_iter_next(&iter, NULL, &value)) {
        const struct survey_entry *entry = g_hash_table_lookup(
            v->source->survey->inodes, value);
        struct step_inode *mine;
        struct stat now;

        if (!entry) {
            if (has_other_names(v, value, &now))
                rc = invert_linked(v, value, &now);
        } else if (!S_ISDIR(entry->st.st_mode)) {
            rc = inverse_add_homes(v, entry, &mine);
            if (rc == 0 && !(mine->flags & STEP_SEEN))
                rc = step_record_seen(v->step, mine, &entry->st);
        }
    }
    return rc;
}

/* ---- the inverse --------------------------------------------------------- */

/* The inverse ends like the step itself: redo repeats what the step did. */
static int copy_end(struct inverter *v)
{
    json_t *end = json_deep_copy(v->source->step->end);

    json_object_del(end, "sum");
    json_object_del(end, "post");
    return journal_append(v->step->journal, end);
}

static int invert(struct inverter *v, int dirfd)
{
    int rc = step_create_manifest(v->step, dirfd);

    if (rc == 0)
        rc = inverse_copy_living(v);
    if (rc == 0)
        rc = invert_bindings(v);
    if (rc == 0)
        rc = invert_arrivals(v);
    if (rc == 0)
        rc = invert_metadata(v);
    if (rc == 0)
        rc = invert_seen(v);
    if (rc == 0)
        rc = inverse_add_content(v);
    if (rc == 0 && v->source->copies)
        rc = inverse_copy_created(v);
    if (rc == 0 && v->pack)
        rc = pack_seal(v->pack);
    return rc < 0 ? rc : copy_end(v);
}

int inverse_make(const struct inverse_source *source, int dirfd)
{
    const struct step *step = source->step;
    struct inverter v = {
        .source = source,
        .step = step_new(step->id, source->seq, step->type, step->command,
                         step->root->ino),
        .living = search_set_new(),
    };
    int rc;

    v.step->started_us = step->started_us;
    folder_mark_copy(&v.step->folder, &step->folder);
    v.step->inverse = !step->inverse;
    v.store.no_clones = &v.no_clones;
    v.store.blobs = sys_openat(dirfd, STEP_BLOBS, O_RDONLY | O_DIRECTORY, 0);
    survey_walker_init(&v.walker, source->survey, step, source->root);
    rc = v.store.blobs < 0 ? v.store.blobs : invert(&v, dirfd);
    walker_clear(&v.walker);
    fd_close(&v.store.blobs);
    pack_close(v.pack);
    g_hash_table_unref(v.living);
    step_free(v.step);
    return rc;
}
