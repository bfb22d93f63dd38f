/* SPDX-License-Identifier: Apache-2.0
 *
 * stuck - see stuck.h.
 */
#include "interceptor/restore/stuck.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>

#include "common/fd.h"
#include "interceptor/report/survey.h"
#include "interceptor/sys/sys.h"

/* A search for an immutable file. */
struct search {
    struct walker walker;
    char *path; /* the first one in the order of strcmp() */
};

static bool is_fixed(struct search *s, const struct survey_entry *entry)
{
    int dir = walker_go(&s->walker, entry->dir ? entry->dir : entry);
    fd_auto int fd = dir < 0 || !entry->dir
                         ? -1
                         : sys_openat(dir, entry->name, O_PATH | O_NOFOLLOW, 0);

    return dir >= 0 && sys_is_fixed_fd(entry->dir ? fd : dir) > 0;
}

static void look(struct search *s, const struct survey_entry *entry)
{
    g_autofree char *path = NULL;

    if (entry->path_length >= PATH_MAX || !is_fixed(s, entry))
        return;
    path = survey_path(entry);
    if (!s->path || strcmp(path, s->path) < 0) {
        g_free(s->path);
        s->path = g_steal_pointer(&path);
    }
}

static void look_at_array(struct search *s, const GPtrArray *array)
{
    for (guint i = 0; i < array->len; i++)
        look(s, g_ptr_array_index(array, i));
}

static char *find_fixed(struct step *step, int root)
{
    g_autoptr(survey_auto) survey = NULL;
    struct search s = { 0 };
    GHashTableIter iter;
    gpointer value;

    if (survey_make(step, root, false, &survey) < 0)
        return NULL;
    survey_walker_init(&s.walker, survey, step, root);
    g_hash_table_iter_init(&iter, survey->inodes);
    while (g_hash_table_iter_next(&iter, NULL, &value))
        look(&s, value);
    g_hash_table_iter_init(&iter, survey->bindings);
    while (g_hash_table_iter_next(&iter, NULL, &value))
        look(&s, value);
    look_at_array(&s, survey->created);
    look_at_array(&s, survey->others);
    walker_clear(&s.walker);
    return s.path;
}

static void add(GError **error, const char *text)
{
    g_autofree char *message = g_strdup_printf("%s: %s", (*error)->message,
                                               text);

    g_free((*error)->message);
    (*error)->message = g_steal_pointer(&message);
}

void stuck_explain(struct step *step, int root, int rc, GError **error)
{
    g_autofree char *path = NULL, *text = NULL;

    if (!error || !*error)
        return;
    switch (rc) {
    case -EPERM:
    case -EACCES:
        path = find_fixed(step, root);
        if (!path)
            return;
        text = g_strdup_printf("'%s' has become append-only or immutable; run "
                               "`chattr -a -i` on it and try again",
                               *path ? path : ".");
        add(error, text);
        return;
    case -EROFS:
        add(error, "make the file system writable and try again");
        return;
    case -ETXTBSY:
        add(error, "the file is running as a program; stop it and try again");
        return;
    case -EAGAIN:
        add(error, "the file is leased (fcntl(2), F_SETLEASE); try again");
        return;
    case -EMLINK:
        add(error, "a file has the maximum number of links; remove a new one "
                   "and try again");
        return;
    case -ENOSPC:
    case -EDQUOT:
        add(error, "free some disk space and try again");
        return;
    default:
        return;
    }
}
