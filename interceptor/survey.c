/* SPDX-License-Identifier: Apache-2.0
 *
 * survey - see survey.h.
 */
#include "interceptor/survey.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "interceptor/sys.h"

/* A client may make folders without end in one another, and each level costs
 * stack and an fd here, and each entry its path. What is created deeper, or
 * below a path of PATH_MAX bytes, is not reported. */
enum { MAX_DEPTH = 1000 };

struct surveyor {
    struct step *step;
    unsigned depth;
    struct survey *survey;
    GString *path;
};

static int visit_recorded(struct surveyor *s, int dirfd,
                          struct step_inode *inode);

static void entry_free(gpointer data)
{
    struct survey_entry *entry = data;

    g_free(entry->path);
    g_free(entry);
}

static struct survey_entry *entry_new(struct surveyor *s, const struct stat *st)
{
    struct survey_entry *entry = g_new0(struct survey_entry, 1);

    entry->path = g_strdup(s->path->str);
    entry->st = *st;
    return entry;
}

/* Go down to a name; returns the length to go back to. */
static gsize path_push(struct surveyor *s, const char *name)
{
    gsize length = s->path->len;

    if (length > 0)
        g_string_append_c(s->path, '/');
    g_string_append(s->path, name);
    return length;
}

static int compare_meta(struct survey_entry *entry,
                        const struct step_inode *inode, int fd)
{
    g_autoptr(meta_auto) now = NULL;
    int rc = meta_read(fd, &now);

    if (rc < 0)
        return rc;
    entry->meta_changed = !meta_equal(now, inode->meta, false);
    entry->mtime_changed = now->mtime.tv_sec != inode->meta->mtime.tv_sec ||
                           now->mtime.tv_nsec != inode->meta->mtime.tv_nsec;
    return 0;
}

/* Enter a recorded inode found at dirfd/name, and what is below it. */
static int note_recorded(struct surveyor *s, int dirfd, const char *name,
                         struct step_inode *inode, const struct stat *st)
{
    fd_auto int fd = -1;
    struct survey_entry *entry;
    int rc = 0;

    if (g_hash_table_contains(s->survey->inodes, inode))
        return 0;
    entry = entry_new(s, st);
    g_hash_table_insert(s->survey->inodes, inode, entry);
    if (!inode->meta &&
        !(S_ISDIR(st->st_mode) && (inode->bindings || inode->children)))
        return 0;
    fd = sys_openat(dirfd, name, O_PATH | O_NOFOLLOW, 0);
    if (fd < 0)
        return fd;
    if (inode->meta)
        rc = compare_meta(entry, inode, fd);
    if (rc == 0 && S_ISDIR(st->st_mode)) {
        if (s->depth >= MAX_DEPTH)
            return -ELOOP;
        s->depth++;
        rc = visit_recorded(s, fd, inode);
        s->depth--;
    }
    return rc;
}

static int visit_created(struct surveyor *s, int dirfd, const char *name);

/* Something is at dirfd/name that was not there before. */
static int note_arrival(struct surveyor *s, int dirfd, const char *name,
                        const struct stat *st)
{
    struct step_inode *inode = step_find_inode(s->step, st->st_ino);
    int rc;

    /* An inode whose old names are all untouched has only got one more. */
    if (inode && inode->names && !(inode->flags & STEP_CREATED))
        return note_recorded(s, dirfd, name, inode, st);
    g_ptr_array_add(s->survey->created, entry_new(s, st));
    if (!S_ISDIR(st->st_mode) || s->depth >= MAX_DEPTH ||
        s->path->len >= PATH_MAX)
        return 0;
    s->depth++;
    rc = visit_created(s, dirfd, name);
    s->depth--;
    return rc;
}

static int visit_created(struct surveyor *s, int dirfd, const char *name)
{
    int fd = sys_openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *entry;
    int rc = 0;

    if (!dir)
        return fd < 0 ? fd : -errno;
    while (rc == 0 && (entry = readdir(dir))) {
        struct stat st;
        gsize length;

        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (sys_stat_name(fd, entry->d_name, &st) < 0)
            continue; /* gone meanwhile */
        length = path_push(s, entry->d_name);
        rc = note_arrival(s, fd, entry->d_name, &st);
        g_string_truncate(s->path, length);
    }
    closedir(dir);
    return rc;
}

static int visit_binding(struct surveyor *s, int dirfd,
                         struct step_binding *binding)
{
    gsize length = path_push(s, binding->name);
    struct stat st;
    int rc = sys_stat_name(dirfd, binding->name, &st);

    if (rc == 0) {
        g_hash_table_insert(s->survey->bindings, binding, entry_new(s, &st));
        if (binding->before && step_is_now(binding->before, st.st_ino))
            rc = note_recorded(s, dirfd, binding->name, binding->before, &st);
        else
            rc = note_arrival(s, dirfd, binding->name, &st);
    }
    g_string_truncate(s->path, length);
    return rc == -ENOENT ? 0 : rc;
}

/* A recorded inode that may be still at its home. */
static int visit_child(struct surveyor *s, int dirfd, struct step_inode *child)
{
    gsize length = path_push(s, child->home_name);
    struct stat st;
    int rc = sys_stat_name(dirfd, child->home_name, &st);

    if (rc == 0 && step_is_now(child, st.st_ino))
        rc = note_recorded(s, dirfd, child->home_name, child, &st);
    g_string_truncate(s->path, length);
    return rc == -ENOENT ? 0 : rc;
}

static int visit_recorded(struct surveyor *s, int dirfd,
                          struct step_inode *inode)
{
    int rc = 0;

    for (guint i = 0; rc == 0 && inode->bindings && i < inode->bindings->len;
         i++)
        rc = visit_binding(s, dirfd, g_ptr_array_index(inode->bindings, i));
    for (guint i = 0; rc == 0 && inode->children && i < inode->children->len;
         i++)
        rc = visit_child(s, dirfd, g_ptr_array_index(inode->children, i));
    return rc;
}

int survey_make(struct step *step, int root, struct survey **ret_survey)
{
    g_autoptr(survey_auto) survey = g_new0(struct survey, 1);
    struct surveyor s = { .step = step, .survey = survey };
    struct stat st;
    int rc = sys_stat_fd(root, &st);

    survey->inodes = g_hash_table_new_full(NULL, NULL, NULL, entry_free);
    survey->bindings = g_hash_table_new_full(NULL, NULL, NULL, entry_free);
    survey->created = g_ptr_array_new_with_free_func(entry_free);
    s.path = g_string_new(NULL);
    if (rc == 0)
        rc = note_recorded(&s, root, ".", step->root, &st);
    g_string_free(s.path, TRUE);
    if (rc == 0)
        *ret_survey = g_steal_pointer(&survey);
    return rc;
}

void survey_free(struct survey *survey)
{
    if (!survey)
        return;
    g_hash_table_unref(survey->inodes);
    g_hash_table_unref(survey->bindings);
    g_ptr_array_unref(survey->created);
    g_free(survey);
}
