/* SPDX-License-Identifier: Apache-2.0
 *
 * undo_log_origin - see undo_log_origin.h.
 */
#include "interceptor/log/undo_log_origin.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "common/errors.h"
#include "interceptor/log/undo_log_names.h"
#include "interceptor/sys/sys.h"

#define UNKNOWN "-0.000000000" /* btime */

enum { MAX_MARK = 128 };

/* Return the mark of this folder as a new string, or NULL and -errno. */
static char *make_mark(int dir, int *ret_rc)
{
    struct timespec born = { 0 }, changed;
    struct stat st;
    int rc = sys_stat_fd(dir, &st);

    if (rc == 0) {
        rc = sys_btime_name(dir, "", &born, &changed);
        rc = rc == -EOPNOTSUPP ? 0 : rc;
    }
    *ret_rc = rc;
    return rc < 0 ? NULL
                  : g_strdup_printf("%" PRIu64 "-%" PRId64 ".%09ld",
                                    (uint64_t)st.st_ino, (int64_t)born.tv_sec,
                                    born.tv_nsec);
}

/* Return whether two marks are of one folder; a btime may be unknown. */
static bool is_same(const char *one, const char *other)
{
    const char *born = strchr(one, '-'), *other_born = strchr(other, '-');

    return born && other_born && born - one == other_born - other &&
           memcmp(one, other, (size_t)(born - one)) == 0 &&
           (strcmp(born, other_born) == 0 || strcmp(born, UNKNOWN) == 0 ||
            strcmp(other_born, UNKNOWN) == 0);
}

/* Return 1 if the folder has this mark, 0 if it has another one or none, or
 * -errno. */
static int has_mark(int dir, const char *mark)
{
    char found[MAX_MARK];
    ssize_t len = fgetxattr(dir, UNDO_LOG_ORIGIN, found, sizeof(found) - 1);

    if (len < 0)
        return errno == ENODATA || errno == ERANGE ? 0 : -errno;
    found[len] = '\0';
    return is_same(found, mark);
}

static int refuse_entry(int fd, const struct dirent *entry, void *opaque)
{
    /* A filesystem of its own for a log has the first from the beginning; a
     * file server makes the second (undo_log_hide.c), which has no part in what
     * a log says. */
    return strcmp(entry->d_name, "lost+found") == 0 ||
                   strcmp(entry->d_name, UNDO_LOG_MARKER) == 0
               ? 0
               : -ENOTEMPTY;
}

/* Return 1 if the mark is there now or cannot be, 0 if it must not be set, or
 * -errno. */
static int check_or_mark(int dir, const char *mark)
{
    int rc = has_mark(dir, mark);

    if (rc == -EOPNOTSUPP)
        return 1;
    if (rc != 0)
        return rc;
    rc = sys_dir_each(dir, ".", refuse_entry, NULL);
    if (rc == -ENOTEMPTY) /* another process may have marked it first */
        return has_mark(dir, mark);
    if (rc < 0)
        return rc;
    rc = sys_setxattr_fd(dir, UNDO_LOG_ORIGIN, mark, strlen(mark), 0);
    return rc == 0 || rc == -EOPNOTSUPP ? 1 : rc;
}

void undo_log_mark_empty(int dir)
{
    int rc;
    g_autofree char *mark = make_mark(dir, &rc);

    if (mark)
        check_or_mark(dir, mark);
}

gboolean undo_log_check_origin(int dir, const char *path, GError **error)
{
    int rc;
    g_autofree char *mark = make_mark(dir, &rc);
    g_autofree char *word = g_shell_quote(path);

    if (mark)
        rc = check_or_mark(dir, mark);
    if (rc > 0)
        return TRUE;
    if (rc < 0)
        g_set_error(error, STEPBACK_ERROR, ERROR_IO_ERROR, "%s: undo log: %s",
                    path, g_strerror(-rc));
    else
        g_set_error(
            error, STEPBACK_ERROR, ERROR_INVALID_DIRECTORY,
            "%s: not an undo log that was made here, but a copy, or one "
            "that came with other files; undoing what it says could "
            "harm this host. Remove it, and the next command begins a new "
            "one: rm -r %s. Only if you know that it is yours, mark it: "
            "setfattr -n " UNDO_LOG_ORIGIN " -v %s %s",
            path, word, mark, word);
    return FALSE;
}
