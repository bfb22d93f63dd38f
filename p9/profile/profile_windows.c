/* SPDX-License-Identifier: Apache-2.0
 *
 * profile_windows - emulates a share on Windows (profile.h).
 *
 * A Linux host emulates one with NTFS, so that clients and the developers of
 * the port can find out what works. Clients see POSIX semantics; the host has
 * only plain files and directories:
 *
 *   names      Names that Windows refuses are refused (win_names.h), and so is
 *              a name that differs from another one in its directory only in
 *              case (case_index.h): EEXIST. Existing names are found by their
 *              exact case, as a Linux client expects.
 *   metadata   Mode, owner and group are in the overlay (overlay.h). The host's
 *              files are 0644, its directories 0755, owned by the owner of
 *              their directory, and a client's changes do not affect that.
 *              Defaults: 0644; 0755 for directories and for names with an
 *              extension of programs; 1000:1000. An object that a client
 *              creates or renames keeps its mode, whatever its name.
 *   symlinks   are files that contain the target, as Git for Windows creates
 *              where it may not make links, and whose row marks them. Symlinks
 *              of the host are symlinks, too.
 *   the rest   There are no device nodes, FIFOs and sockets (EPERM), and only
 *              extended attributes of users ("user.").
 *
 * Threads: any.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "common/errors.h"
#include "common/proc_fd.h"
#include "p9/overlay/overlay_collect.h"
#include "p9/profile/profile_posix.h"
#include "p9/profile/profile_windows.h"
#include "p9/profile/win_names.h"
#include "p9/profile/win_share.h"

/* Without user attributes a file cannot name its row. */
static gboolean check_attributes(struct ic *ic, GError **error)
{
    struct proc_fd_path path = proc_fd_path(ic_inode_fd(ic_root(ic)));
    char value[OVERLAY_REFERENCE_SIZE];

    if (getxattr(path.text, OVERLAY_XATTR, value, sizeof(value)) >= 0 ||
        errno != ENOTSUP)
        return TRUE;
    g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_DIRECTORY,
                "--profile=windows: the folder's file system lacks extended "
                "attributes (user.*), which this profile requires");
    return FALSE;
}

static void *start(struct ic *ic, const struct p9_profile_options *options,
                   GError **error)
{
    pthread_rwlockattr_t writers_first;
    struct overlay *overlay;
    struct win_share *share;

    if (!check_attributes(ic, error))
        return NULL;
    overlay = overlay_open(options->overlay_dir, error);
    if (!overlay)
        return NULL;
    if (options->overlay_log)
        overlay_collect(overlay, ic_inode_fd(ic_root(ic)),
                        options->overlay_log);
    share = g_new0(struct win_share, 1);
    share->ic = ic;
    share->overlay = overlay;
    share->index = case_index_new();
    /* Prefer writers, or clients' lookups would starve a creation. */
    pthread_rwlockattr_init(&writers_first);
    pthread_rwlockattr_setkind_np(&writers_first,
                                  PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    for (size_t i = 0; i < WIN_LOCKS; i++)
        pthread_rwlock_init(&share->locks[i], &writers_first);
    pthread_rwlockattr_destroy(&writers_first);
    return share;
}

static void end(void *state)
{
    struct win_share *share = state;

    case_index_free(share->index);
    overlay_close(share->overlay);
    for (size_t i = 0; i < WIN_LOCKS; i++)
        pthread_rwlock_destroy(&share->locks[i]);
    g_free(share);
}

static int check_name(void *state, const char *name)
{
    return win_name_check(name);
}

/* Read the target of a symlink from the file's content. */
static ssize_t read_content(struct win_share *share, struct ic_inode *inode,
                            char *to, size_t room)
{
    ssize_t n;
    int fd, r = ic_open(share->ic, inode, O_RDONLY, &fd);

    if (r < 0)
        return r;
    n = pread(fd, to, room, 0);
    if (n < 0)
        n = -errno;
    else if (n == 0 || (size_t)n >= room || memchr(to, '\0', (size_t)n))
        n = -EINVAL; /* written by another program */
    close(fd);
    return n;
}

static ssize_t read_link(void *state, struct ic_inode *inode, char *to,
                         size_t room)
{
    struct win_share *share = state;

    return S_ISLNK(ic_inode_type(inode))
               ? p9_profile_posix.read_link(share->ic, inode, to, room)
               : read_content(share, inode, to, room);
}

const struct p9_profile p9_profile_windows = {
    .name = "windows",
    .has_overlay = true,
    .wants_names = true,
    .start = start,
    .end = end,
    .lookup = win_lookup,
    .check_name = check_name,
    .type = win_type,
    .entry_type = win_entry_type,
    .get = win_get,
    .set = win_set,
    .before_write = win_before_write,
    .create = win_create,
    .make_dir = win_make_dir,
    .make_node = win_make_node,
    .make_symlink = win_make_symlink,
    .link = win_link,
    .rename = win_rename,
    .read_link = read_link,
    .read_xattr = win_read_xattr,
    .write_xattr = win_write_xattr,
};
