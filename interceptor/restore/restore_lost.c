/* SPDX-License-Identifier: Apache-2.0
 *
 * restore_lost - see restore_lost.h.
 */
#include "interceptor/restore/restore_lost.h"

#include <errno.h>
#include <fcntl.h>

#include "common/fd.h"
#include "common/log.h"
#include "interceptor/log/post_state.h"
#include "interceptor/restore/restore_alive.h"
#include "interceptor/restore/restore_find.h"
#include "interceptor/restore/restore_names.h"
#include "interceptor/restore/restore_stand_in.h"
#include "interceptor/report/survey.h"
#include "interceptor/sys/sys.h"

struct finder {
    struct restore *r;
    struct survey *survey;
    GHashTable
        *arrivals; /* set of &ino: entries of directories the step made */

    /* Inodes below directories in the log: step_inode -> the topmost of these,
     * all borrowed. top: the one that the walker is in, open as fd. */
    GHashTable *inside;
    const struct step_inode *top;
    struct walker walker;
    int fd;
};

/* ---- inodes in the log --------------------------------------------------- */

/* Let the walker start from top. 0 or -errno. */
static int enter(struct finder *f, const struct step_inode *top)
{
    if (f->top == top)
        return 0;
    if (f->top)
        walker_clear(&f->walker);
    f->top = NULL;
    fd_close(&f->fd);
    f->fd = sys_openat(f->r->blobs, step_inode_blob(top->ino).text,
                       O_PATH | O_DIRECTORY | O_NOFOLLOW, 0);
    if (f->fd < 0)
        return f->fd;
    restore_walker_init(&f->walker, f->r, f->fd, top);
    f->top = top;
    return 0;
}

/* Return the topmost directory in the log that contains home. 1, 0 or -errno.
 */
static int find_top(const struct finder *f, const struct step_inode *home,
                    const struct step_inode **ret_top)
{
    *ret_top = g_hash_table_lookup(f->inside, home);
    if (*ret_top)
        return 1;
    *ret_top = home;
    return restore_is_kept(f->r, home);
}

static int gone_or(int rc)
{
    return restore_is_gone(rc) ? 0 : rc;
}

/* Return whether the inode is below a directory that was put aside, with which
 * it comes back. Call for directories before their content. 1, 0 or -errno. */
static int is_inside(struct finder *f, struct step_inode *inode)
{
    const struct step_inode *top;
    struct stat st;
    int rc;

    if (!inode->home || inode->names)
        return 0;
    rc = find_top(f, inode->home, &top);
    if (rc <= 0)
        return rc;
    rc = enter(f, top);
    if (rc == 0)
        rc = walker_go(&f->walker, inode->home);
    if (rc >= 0)
        rc = sys_stat_name(rc, inode->home_name, &st);
    if (rc < 0 || !step_is_now(inode, st.st_ino))
        return gone_or(rc);
    g_hash_table_insert(f->inside, inode, (gpointer)top);
    return 1;
}

/* ---- sources ------------------------------------------------------------- */

/* Each returns 1, 0 or -errno: an inode that cannot be examined is neither lost
 * nor present, and the rollback must be tried again. */

/* Return whether attaching a name restores the inode. */
static int can_attach(const struct finder *f, const struct step_inode *inode)
{
    return g_hash_table_contains(f->arrivals, &inode->ino)
               ? 1
               : restore_can_find(f->r, inode);
}

/* The source of an inode. */
enum source { NOWHERE, THERE, BY_NAME };

static int find_source(struct finder *f, struct step_inode *inode)
{
    int found = inode == f->r->step->root ||
                g_hash_table_contains(f->survey->inodes, inode);

    if (found == 0)
        found = is_inside(f, inode);
    if (found == 0)
        found = restore_is_kept(f->r, inode);
    if (found != 0 || !inode->names)
        return found;
    found = can_attach(f, inode);
    return found > 0 ? BY_NAME : found;
}

static int is_lost(struct finder *f, struct step_inode *inode)
{
    int source = find_source(f, inode);

    return source < 0 ? source : source == NOWHERE;
}

/* Return whether a link in the log leads to the file, which is restored there.
 */
static int is_linked(struct restore *r, const struct step_inode *inode)
{
    struct stat st;
    int rc = inode->flags & STEP_RETIRED
                 ? -ENOENT
                 : sys_stat_name(r->blobs, step_inode_blob(inode->ino).text,
                                 &st);

    return rc < 0 ? gone_or(rc)
                  : st.st_ino == inode->ino && !S_ISDIR(st.st_mode);
}

/* Return whether all directories in which the inode had a name are lost. If the
 * inode still exists, it then stays where it is: it has no place to return to.
 */
static int has_no_place(struct restore *r, const struct step_inode *inode)
{
    int linked;

    for (guint i = 0; inode->names && i < inode->names->len; i++) {
        const struct step_binding *binding = g_ptr_array_index(inode->names, i);

        if (!(binding->dir->flags & STEP_LOST))
            return 0;
    }
    if (!inode->home || !(inode->home->flags & STEP_LOST))
        return 0;
    linked = is_linked(r, inode);
    return linked < 0 ? linked : !linked;
}

/* Return whether the record contains anything to restore. */
static bool matters(const struct step_inode *inode)
{
    return inode->flags & (STEP_META | STEP_DATA) || inode->names ||
           inode->bindings;
}

/* Return whether the record of the inode, or of one below it, does. */
static bool is_needed(const struct step_inode *inode)
{
    return matters(inode) || inode->children;
}

static void tell(struct restore *r, const struct step_inode *inode)
{
    g_autofree char *path = step_path_before(r->step, inode, NULL);
    g_autofree char *valid = g_utf8_make_valid(path ? path : "?", -1);

    log_warn(LOG_UNDO,
             "undo: '%s' was removed or replaced from outside; not restored",
             valid);
    if (r->lost)
        g_ptr_array_add(r->lost, g_strdup(path ? path : "?"));
}

void restore_note_emptied(struct restore *r, const struct step_inode *inode)
{
    g_autofree char *path = step_path_before(r->step, inode, NULL);

    if (restore_is_folder(inode))
        g_ptr_array_add(r->emptied, g_strdup(path ? path : "?"));
}

static int record_lost(struct restore *r, struct step_inode *inode)
{
    int rc = step_record_lost(r->step, inode);

    if (rc == 0 && matters(inode))
        tell(r, inode);
    return rc;
}

static void mark_lost(struct restore *r, struct step_inode *inode, bool told)
{
    if (!told && matters(inode))
        tell(r, inode);
    inode->flags |= STEP_LOST;
}

/* An entry comes back into a directory that the step did not change: the
 * directory's times must not change. */
static int keep_times(struct restore *r, struct step_inode *dir, int dirfd)
{
    struct meta *meta;
    int rc = dir->flags & STEP_META ? 0 : meta_read(dirfd, &meta);

    return rc < 0 || dir->flags & STEP_META
               ? rc
               : step_record_meta(r->step, dir, meta);
}

/* The step changed only the directory's content, so its metadata is not
 * recorded, and another process has removed it. */
int restore_record_plain_folder(struct restore *r, struct step_inode *dir)
{
    struct meta *meta;
    int rc = meta_read(r->root, &meta);

    if (rc < 0)
        return rc;
    meta->mode = S_IFDIR | 0755;
    g_clear_pointer(&meta->xattrs, g_hash_table_unref);
    meta->mtime = (struct timespec){ .tv_sec = g_get_real_time() / 1000000 };
    return step_record_meta(r->step, dir, meta);
}

/* Return whether the inode can return to its home. A forced rollback keeps what
 * is there now. 1, 0 or -errno. */
static int can_take_home(const struct finder *f, struct step_inode *inode)
{
    const struct survey_entry *home = g_hash_table_lookup(f->survey->inodes,
                                                          inode->home);
    struct restore *r = f->r;
    struct walker walker;
    fd_auto int dir = -1;
    struct stat st;
    int rc;

    if (!home)
        return 1;
    survey_walker_init(&walker, f->survey, r->step, r->root);
    dir = survey_open(&walker, r->root, home); /* the step may have moved it */
    walker_clear(&walker);
    if (dir < 0)
        return gone_or(dir);
    rc = sys_stat_name(dir, inode->home_name, &st);
    if (rc < 0 && rc != -ENOENT)
        return rc;
    if (rc == 0 && !r->forced)
        return 0;
    rc = keep_times(r, inode->home, dir);
    return rc < 0 ? rc : 1;
}

/* Add a binding for an inode that was removed and can be made anew, and for one
 * that was moved into a directory that goes. */
static int revive(const struct finder *f, struct step_inode *inode)
{
    struct restore *r = f->r;
    int rc;

    if (!inode->home || inode->names || inode->home->flags & STEP_RETIRED)
        return 0;
    /* A damaged record: it says that another inode had that name. */
    if (step_find_binding(r->step, inode->home, inode->home_name))
        return 0;
    rc = can_attach(f, inode);
    if (rc == 0 && r->forced && restore_is_folder(inode) &&
        !(inode->flags & STEP_META)) {
        rc = restore_record_plain_folder(r, inode);
        if (rc == 0)
            rc = can_attach(f, inode);
    }
    if (rc > 0)
        rc = can_take_home(f, inode);
    return rc <= 0 ? rc
                   : step_record_binding(r->step, inode->home, inode->home_name,
                                         inode);
}

/* The inode is gone, so whatever has its number is another inode. */
static int disown_dead(const struct finder *f, struct step_inode *inode)
{
    int rc = g_hash_table_contains(f->arrivals, &inode->ino)
                 ? 1
                 : restore_is_alive(f->r, inode);

    return rc == 0 ? restore_disown(f->r, inode) : MIN(rc, 0);
}

/* step_load() found that another inode has the number now. With all of its
 * content in the log the file can be made anew, as if the step had removed it.
 */
static int revive_without_number(const struct finder *f,
                                 struct step_inode *inode)
{
    int rc = restore_can_find(f->r, inode);

    inode->flags |= STEP_RETIRED | STEP_LOST;
    if (rc > 0)
        rc = inode->names || !inode->home ? 1 : can_take_home(f, inode);
    if (rc > 0)
        inode->flags &= ~(unsigned)STEP_LOST;
    else
        inode->flags &= ~(unsigned)STEP_RETIRED;
    if (rc <= 0 || inode->names || !inode->home)
        return MIN(rc, 0);
    return step_record_binding(f->r->step, inode->home, inode->home_name,
                               inode);
}

static int find_one(struct finder *f, struct step_inode *inode)
{
    struct restore *r = f->r;
    int rc = 0;

    if (r->forced && inode->ino == 0 && is_needed(inode))
        rc = revive_without_number(f, inode);
    if (rc < 0)
        return rc;
    if (inode->flags & STEP_RETIRED || !is_needed(inode))
        return 0;
    /* step_load() may have found it lost. */
    rc = inode->flags & STEP_LOST ? 1 : has_no_place(r, inode);
    if (rc > 0)
        mark_lost(r, inode, false);
    if (rc != 0)
        return MIN(rc, 0);
    rc = find_source(f, inode);
    if (rc == BY_NAME && !g_hash_table_contains(f->arrivals, &inode->ino))
        restore_note_emptied(r, inode);
    if (rc != NOWHERE)
        return MIN(rc, 0);
    rc = disown_dead(f, inode);
    if (rc == 0)
        rc = revive(f, inode);
    if (rc == 0)
        rc = is_lost(f, inode);
    if (rc <= 0)
        return rc;
    return record_lost(r, inode);
}

static int find_all(struct finder *f)
{
    g_autoptr(GPtrArray) inodes = restore_sorted_inodes(f->r);
    int rc = 0, closed = 0;

    for (guint i = 0; rc == 0 && i < inodes->len; i++) {
        rc = find_one(f, g_ptr_array_index(inodes, i));
        if (rc == -EACCES) { /* the other inodes may be lost nevertheless */
            closed = rc;
            rc = 0;
        }
    }
    return rc < 0 ? rc : closed;
}

static int find_with(struct restore *r, struct survey *survey)
{
    g_autoptr(GHashTable)
        arrivals = g_hash_table_new(g_int64_hash, g_int64_equal);
    g_autoptr(GHashTable) inside = g_hash_table_new(NULL, NULL);
    struct finder f = { r, survey, arrivals, inside, .fd = -1 };
    int rc;

    for (guint i = 0; i < survey->arrivals->len; i++) {
        struct survey_entry *entry = g_ptr_array_index(survey->arrivals, i);

        g_hash_table_add(arrivals, &entry->st.st_ino);
    }
    rc = find_all(&f);
    if (f.top)
        walker_clear(&f.walker);
    fd_close(&f.fd);
    return rc;
}

int restore_find_lost(struct restore *r)
{
    g_autoptr(survey_auto) survey = NULL;
    int rc = survey_make(r->step, r->root, false, &survey);

    if (rc == 0)
        rc = restore_open_journal(r);
    if (rc == 0)
        rc = restore_settle_numbers(r, &survey);
    return rc < 0 ? rc : find_with(r, survey);
}

/* ---- recording ----------------------------------------------------------- */

/* Find inodes that are lost because others are. 1: more are lost; 0; or -errno.
 */
static int spread(struct restore *r, GPtrArray *inodes)
{
    int any = 0;

    for (guint i = 0; i < inodes->len; i++) {
        struct step_inode *inode = g_ptr_array_index(inodes, i);

        int rc = inode->flags & STEP_LOST ? 0 : has_no_place(r, inode);

        if (rc < 0)
            return rc;
        if (rc == 0)
            continue;
        mark_lost(r, inode, r->staging >= 0);
        any = 1;
    }
    return any;
}

static gboolean binding_is_lost(gpointer key, gpointer value, gpointer data)
{
    const struct step_binding *binding = key;

    return (binding->dir->flags & STEP_LOST) != 0;
}

static void remove_lost(GPtrArray *bindings)
{
    for (guint i = bindings ? bindings->len : 0; i > 0; i--) {
        if (binding_is_lost(g_ptr_array_index(bindings, i - 1), NULL, NULL))
            g_ptr_array_remove_index(bindings, i - 1);
    }
}

static bool is_marked(GPtrArray *inodes)
{
    for (guint i = 0; i < inodes->len; i++) {
        const struct step_inode *inode = g_ptr_array_index(inodes, i);

        if (inode->flags & STEP_LOST)
            return true;
    }
    return false;
}

int restore_drop_lost(struct restore *r)
{
    g_autoptr(GPtrArray) inodes = restore_sorted_inodes(r);
    int rc;

    r->any_lost = is_marked(inodes);
    if (!r->any_lost)
        return 0;
    do {
        rc = spread(r, inodes);
    } while (rc > 0);
    if (rc < 0)
        return rc;
    post_state_mark_vacant(r->step);
    for (guint i = 0; i < inodes->len; i++) {
        struct step_inode *inode = g_ptr_array_index(inodes, i);

        remove_lost(inode->bindings);
        remove_lost(inode->names);
        if (inode->flags &
            STEP_LOST) /* for the content see restore_content.h */
            inode->flags &= ~(unsigned)STEP_META;
    }
    g_hash_table_foreach_remove(r->step->bindings, binding_is_lost, NULL);
    return 0;
}

int restore_lose(struct restore *r, struct step_inode *inode)
{
    int rc = record_lost(r, inode);

    return rc < 0 ? rc : restore_drop_lost(r);
}
