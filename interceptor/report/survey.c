/* SPDX-License-Identifier: Apache-2.0
 *
 * survey - see survey.h.
 *
 * A client may nest folders without limit, so there is no recursion:
 * directories wait on a stack, and a walker moves from one to the next.
 */
#include "interceptor/report/survey.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "interceptor/sys/sys.h"
#include "interceptor/sys/walker.h"

/* A directory still to be read. */
struct task {
    struct survey_entry *entry;
    struct step_inode *inode; /* NULL: the step created it */
};

struct surveyor {
    struct step *step;
    struct survey *survey;
    GArray *tasks; /* of struct task */
    bool with_meta, open_only;
};

/* A name being examined. */
struct spot {
    const struct survey_entry *dir; /* NULL for the root */
    const struct step_binding *binding;
    const char *name;
    int dirfd;
    struct stat st;
};

/* ---- entries ------------------------------------------------------------- */

static void entry_free(gpointer data)
{
    struct survey_entry *entry = data;

    g_free(entry->name);
    g_free(entry);
}

static struct survey_entry *entry_new(const struct spot *spot)
{
    struct survey_entry *entry = g_new0(struct survey_entry, 1);
    const struct survey_entry *dir = spot->dir;

    entry->dir = dir;
    entry->binding = spot->binding;
    entry->name = g_strdup(dir ? spot->name : "");
    entry->depth = dir ? dir->depth + 1 : 0;
    entry->path_length = strlen(entry->name);
    if (dir && dir->path_length > 0)
        entry->path_length += dir->path_length + 1;
    entry->st = spot->st;
    return entry;
}

char *survey_path(const struct survey_entry *entry)
{
    char *path = g_malloc(entry->path_length + 1);
    size_t end = entry->path_length;

    path[end] = '\0';
    for (; entry->dir; entry = entry->dir) {
        size_t len = strlen(entry->name);

        memcpy(path + end - len, entry->name, len);
        end -= len;
        if (end > 0)
            path[--end] = '/';
    }
    return path;
}

static gconstpointer entry_dir(gconstpointer node)
{
    return ((const struct survey_entry *)node)->dir;
}

static const char *entry_name(gconstpointer node)
{
    return ((const struct survey_entry *)node)->name;
}

static unsigned entry_depth(gconstpointer node)
{
    return ((const struct survey_entry *)node)->depth;
}

static bool entry_is(gconstpointer node, const struct stat *st)
{
    const struct survey_entry *entry = node;

    return entry->st.st_ino == st->st_ino && entry->st.st_dev == st->st_dev;
}

static const struct walker_ops entry_ops = {
    .parent = entry_dir,
    .name = entry_name,
    .depth = entry_depth,
    .is = entry_is,
};

/* ---- names --------------------------------------------------------------- */

static int compare_meta(const struct surveyor *s, struct survey_entry *entry,
                        const struct step_inode *inode, const struct spot *spot)
{
    fd_auto int fd = sys_openat(spot->dirfd, spot->name, O_PATH | O_NOFOLLOW,
                                0);
    g_autoptr(meta_auto) now = NULL;
    int rc = fd < 0 ? fd : meta_read(fd, &now);

    if (rc < 0)
        return rc == -EACCES && s->open_only ? 0 : rc;
    entry->meta_changed = !meta_equal(now, inode->meta, false);
    entry->mtime_changed = now->mtime.tv_sec != inode->meta->mtime.tv_sec ||
                           now->mtime.tv_nsec != inode->meta->mtime.tv_nsec;
    entry->has_digest = true;
    entry->digest = meta_digest(now);
    entry->uid = now->uid;
    entry->gid = now->gid;
    return 0;
}

/* Enter a recorded inode; inodes below it are examined later. */
static int note_recorded(struct surveyor *s, const struct spot *spot,
                         struct step_inode *inode)
{
    struct survey_entry *entry;

    if (g_hash_table_contains(s->survey->inodes, inode)) {
        g_ptr_array_add(s->survey->others, entry_new(spot));
        return 0;
    }
    entry = entry_new(spot);
    g_hash_table_insert(s->survey->inodes, inode, entry);
    if (S_ISDIR(spot->st.st_mode) && (inode->bindings || inode->children)) {
        struct task task = { entry, inode };

        g_array_append_val(s->tasks, task);
    }
    return inode->meta && s->with_meta ? compare_meta(s, entry, inode, spot)
                                       : 0;
}

static bool note_foreign(struct surveyor *s, const struct spot *spot)
{
    bool foreign = step_is_foreign(s->step, spot->st.st_ino);

    if (foreign)
        g_ptr_array_add(s->survey->foreign, entry_new(spot));
    return foreign;
}

/* Enter an inode at a name that had none, or another one, before. */
static int note_arrival(struct surveyor *s, const struct spot *spot)
{
    struct step_inode *inode = step_find_inode(s->step, spot->st.st_ino);
    struct survey_entry *entry;

    if (inode && !(inode->flags & STEP_CREATED) && !spot->binding)
        g_ptr_array_add(s->survey->arrivals, entry_new(spot));

    /* An inode whose old names are all untouched has gained one. */
    if (inode && inode->names && !(inode->flags & STEP_CREATED))
        return note_recorded(s, spot, inode);
    entry = entry_new(spot);
    g_ptr_array_add(s->survey->created, entry);
    if (S_ISDIR(spot->st.st_mode)) {
        struct task task = { entry, NULL };

        g_array_append_val(s->tasks, task);
    }
    return 0;
}

/* Return whether undo must give this inode another name. */
static bool is_leaving(struct surveyor *s, const struct spot *spot)
{
    const struct step_inode *inode = step_find_inode(s->step, spot->st.st_ino);

    return inode && step_has_name(inode);
}

static int note_binding(struct surveyor *s, const struct survey_entry *dir,
                        int dirfd, struct step_binding *binding)
{
    struct spot spot = { dir, binding, binding->name, dirfd, { 0 } };
    int rc = sys_stat_name(dirfd, binding->name, &spot.st);
    bool same = rc == 0 && binding->before &&
                step_is_now(binding->before, spot.st.st_ino);

    if (rc == 0 && step_is_vacant(binding) && !is_leaving(s, &spot))
        return 0;
    if (rc == 0 && (same || !note_foreign(s, &spot))) {
        g_hash_table_insert(s->survey->bindings, binding, entry_new(&spot));
        if (same)
            rc = note_recorded(s, &spot, binding->before);
        else
            rc = note_arrival(s, &spot);
    }
    return rc == -ENOENT ? 0 : rc;
}

/* Enter a recorded inode if it is still at its home. */
static int note_child(struct surveyor *s, const struct survey_entry *dir,
                      int dirfd, struct step_inode *child)
{
    struct spot spot = { dir, NULL, child->home_name, dirfd, { 0 } };
    int rc = sys_stat_name(dirfd, child->home_name, &spot.st);

    if (rc == 0 && step_is_now(child, spot.st.st_ino))
        rc = note_recorded(s, &spot, child);
    return rc == -ENOENT ? 0 : rc;
}

/* ---- directories --------------------------------------------------------- */

static int visit_recorded(struct surveyor *s, const struct task *task,
                          int dirfd)
{
    const struct step_inode *inode = task->inode;
    int rc = 0;

    for (guint i = 0; rc == 0 && inode->bindings && i < inode->bindings->len;
         i++)
        rc = note_binding(s, task->entry, dirfd,
                          g_ptr_array_index(inode->bindings, i));
    for (guint i = 0; rc == 0 && inode->children && i < inode->children->len;
         i++)
        rc = note_child(s, task->entry, dirfd,
                        g_ptr_array_index(inode->children, i));
    return rc;
}

struct visit {
    struct surveyor *surveyor;
    const struct survey_entry *parent;
};

static int note_entry(int fd, const struct dirent *entry, void *opaque)
{
    const struct visit *visit = opaque;
    struct spot spot = { visit->parent, NULL, entry->d_name, fd, { 0 } };
    int rc = sys_stat_name(fd, entry->d_name, &spot.st);

    if (rc == 0 && !note_foreign(visit->surveyor, &spot))
        rc = note_arrival(visit->surveyor, &spot);
    return rc == -ENOENT ? 0 : rc; /* gone meanwhile */
}

static int visit_created(struct surveyor *s, const struct task *task, int dirfd)
{
    struct visit visit = { s, task->entry };

    return sys_dir_each(dirfd, ".", note_entry, &visit);
}

static int visit_all(struct surveyor *s, struct walker *walker)
{
    int rc = 0;

    while (rc == 0 && s->tasks->len > 0) {
        struct task task = g_array_index(s->tasks, struct task,
                                         s->tasks->len - 1);
        int fd = walker_go(walker, task.entry);

        g_array_set_size(s->tasks, s->tasks->len - 1);
        if (fd == -ENOENT || fd == -ESTALE)
            continue; /* gone meanwhile */
        rc = fd < 0       ? fd
             : task.inode ? visit_recorded(s, &task, fd)
                          : visit_created(s, &task, fd);
        if (rc == -EACCES && s->open_only) {
            task.entry->closed = true;
            rc = 0;
        }
    }
    return rc;
}

void survey_walker_init(struct walker *walker, const struct survey *survey,
                        const struct step *step, int root)
{
    walker_init(walker, &entry_ops, root,
                g_hash_table_lookup(survey->inodes, step->root));
}

int survey_open(struct walker *walker, int root,
                const struct survey_entry *entry)
{
    fd_auto int fd = -1;
    struct stat st;
    int dir, rc;

    if (!entry->dir)
        return sys_openat(root, ".", O_PATH | O_DIRECTORY, 0);
    dir = walker_go(walker, entry->dir);
    if (dir < 0)
        return dir;
    fd = sys_openat(dir, entry->name, O_PATH | O_NOFOLLOW, 0);
    if (fd < 0)
        return fd;
    rc = sys_stat_fd(fd, &st);
    if (rc < 0)
        return rc;
    return st.st_ino == entry->st.st_ino ? fd_steal(&fd) : -ESTALE;
}

static struct survey *survey_new(void)
{
    struct survey *survey = g_new0(struct survey, 1);

    survey->inodes = g_hash_table_new_full(NULL, NULL, NULL, entry_free);
    survey->bindings = g_hash_table_new_full(NULL, NULL, NULL, entry_free);
    survey->created = g_ptr_array_new_with_free_func(entry_free);
    survey->others = g_ptr_array_new_with_free_func(entry_free);
    survey->foreign = g_ptr_array_new_with_free_func(entry_free);
    survey->arrivals = g_ptr_array_new_with_free_func(entry_free);
    return survey;
}

/* surveyor: everything but the tasks and the survey, which are made here. */
static int make(struct surveyor s, int root, struct survey **ret_survey)
{
    g_autoptr(GArray) tasks = g_array_new(FALSE, FALSE, sizeof(struct task));
    g_autoptr(survey_auto) survey = survey_new();
    struct spot spot = { NULL, NULL, ".", root, { 0 } };
    int rc = sys_stat_fd(root, &spot.st);

    s.tasks = tasks;
    s.survey = survey;
    if (rc == 0)
        rc = note_recorded(&s, &spot, s.step->root);
    if (rc == 0) {
        struct walker walker;

        survey_walker_init(&walker, survey, s.step, root);
        rc = visit_all(&s, &walker);
        walker_clear(&walker);
    }
    if (rc == 0)
        *ret_survey = g_steal_pointer(&survey);
    return rc;
}

int survey_make(struct step *step, int root, bool with_meta,
                struct survey **ret_survey)
{
    const struct surveyor s = { .step = step, .with_meta = with_meta };

    return make(s, root, ret_survey);
}

int survey_make_open(struct step *step, int root, struct survey **ret_survey)
{
    const struct surveyor s = { .step = step,
                                .with_meta = true,
                                .open_only = true };

    return make(s, root, ret_survey);
}

struct survey *survey_folder(int top)
{
    g_autoptr(GArray) tasks = g_array_new(FALSE, FALSE, sizeof(struct task));
    struct survey *survey = survey_new();
    struct spot spot = { NULL, NULL, ".", top, { 0 } };
    struct task task = { NULL, NULL };
    g_autoptr(step_auto) step = NULL;
    struct walker walker;

    if (sys_stat_fd(top, &spot.st) < 0)
        return survey;
    step = step_new(0, 0, IC_STEP_AMBIENT, NULL, spot.st.st_ino);
    task.entry = entry_new(&spot);
    /* The other entries refer to it; the key is never looked up. */
    g_hash_table_insert(survey->inodes, survey, (gpointer)task.entry);
    g_array_append_val(tasks, task);
    walker_init(&walker, &entry_ops, top, task.entry);
    while (tasks->len > 0) /* an error skips only the folder that caused it */
        visit_all(&(struct surveyor){ step, survey, tasks, false, false },
                  &walker);
    walker_clear(&walker);
    return survey;
}

void survey_free(struct survey *survey)
{
    if (!survey)
        return;
    g_hash_table_unref(survey->inodes);
    g_hash_table_unref(survey->bindings);
    g_ptr_array_unref(survey->created);
    g_ptr_array_unref(survey->others);
    g_ptr_array_unref(survey->foreign);
    g_ptr_array_unref(survey->arrivals);
    g_free(survey);
}
