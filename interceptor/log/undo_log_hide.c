/* SPDX-License-Identifier: Apache-2.0
 *
 * undo_log_hide - keep git from removing an undo log.
 *
 * A log at its default path, .stepback/.git/NAME beside the shared folder, may
 * lie in a git repository. git lists nothing there, and checks nothing out
 * (log_name.h). But "git clean" removes what it does not know, except nested
 * repositories, unless -f is given twice. So a log has a folder .git with the
 * minimum that makes git recognise a repository. Its format version is unknown
 * to every git, so git refuses to work in it.
 *
 * A log at another path gets none: "git add" would fail on a repository without
 * a commit.
 *
 * Failures are ignored: the log works without this.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/fd.h"
#include "interceptor/interceptor.h"
#include "interceptor/log/undo_log_above.h"
#include "interceptor/log/undo_log_names.h"
#include "interceptor/log/undo_log_parts.h"
#include "interceptor/sys/sys.h"

static const struct {
    const char *name, *text;
} marker[] = {
    { "config", "# A marker that makes \"git clean\" spare this undo log.\n"
                "[core]\n\trepositoryformatversion = 9999\n" },
    { "HEAD", "ref: refs/heads/none\n" }, /* last: completes the repository for
                                           * git */
};

/* Create the file completely or not at all. An existing file stays. */
static int write_new(int dirfd, const char *name, const char *text)
{
    g_autofree char *fresh = g_strconcat(name, ".tmp", NULL);
    fd_auto int fd = -1;
    struct stat st;
    int rc = sys_stat_name(dirfd, name, &st);

    if (rc != -ENOENT)
        return rc;
    fd = sys_openat(dirfd, fresh,
                    O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK,
                    0600);
    rc = fd < 0 ? fd : sys_write_all(fd, text, strlen(text));
    return rc < 0 ? rc
                  : sys_renameat2(dirfd, fresh, dirfd, name, RENAME_NOREPLACE);
}

static int make_folder(int dirfd, const char *name)
{
    int rc = sys_mkdirat(dirfd, name, 0700);

    return rc == -EEXIST ? 0 : rc;
}

static int write_marker(int log)
{
    fd_auto int git = -1;
    int rc = make_folder(log, UNDO_LOG_MARKER);

    git = rc < 0 ? rc : undo_log_open_own(log, UNDO_LOG_MARKER);
    if (git < 0)
        return git;
    rc = make_folder(git, "objects");
    if (rc == 0)
        rc = make_folder(git, "refs");
    for (size_t i = 0; rc == 0 && i < G_N_ELEMENTS(marker); i++)
        rc = write_new(git, marker[i].name, marker[i].text);
    return rc;
}

static bool is_hidden(int log)
{
    struct stat st;

    return sys_stat_name(log, UNDO_LOG_MARKER "/HEAD", &st) == 0;
}

void ic_hide_undo_dir(const char *path)
{
    g_autofree char *name = g_path_get_basename(path);
    fd_auto int above = undo_log_open_above(path), log = -1;

    if (above >= 0)
        log = undo_log_open_own(above, name);
    if (log >= 0 && !is_hidden(log))
        write_marker(log);
}
