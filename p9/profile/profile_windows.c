/* SPDX-License-Identifier: Apache-2.0
 *
 * profile_windows - what Windows would make of the share (profile.h).
 *
 * A Linux host plays one whose file system is NTFS, so that clients, and who
 * writes the port, find out what works. To a client everything is POSIX; on the
 * host there are plain files and folders alone:
 *
 *   names      those that Windows refuses are refused (win_names.h), and so is
 *              one that differs from another of its folder in case alone
 *              (case_index.h): EEXIST. Names that are there are found by their
 *              exact case, as a Linux client expects.
 *   metadata   mode, owner and group are in the overlay (overlay.h). The host's
 *              files are 0644, its folders 0755, of the owner of their folder,
 *              and what a client sets does not change that. What nobody has
 *              set is made up: 0644; 0755 for folders and for names that end
 *              as programs do; 1000:1000. What a client makes or moves keeps
 *              its mode, whatever it is called.
 *   symlinks   are files with the target in them, as Git for Windows writes
 *              them where it may not make links, and with a row that says so.
 *              Links that the host has are links, too.
 *   the rest   there are no device nodes, FIFOs and sockets (EPERM), and of the
 *              extended attributes those of users ("user.") alone.
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

/* Without user attributes a file cannot say which row is its own. */
static gboolean check_attributes(struct ic *ic, GError **error)
{
    struct proc_fd_path path = proc_fd_path(ic_inode_fd(ic_root(ic)));
    char value[OVERLAY_REFERENCE_SIZE];

    if (getxattr(path.text, OVERLAY_XATTR, value, sizeof(value)) >= 0 ||
        errno != ENOTSUP)
        return TRUE;
    g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_DIRECTORY,
                "--profile=windows: the folder's file system has no extended "
                "attributes (user.*), which metadata is found by");
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
    /* Else many clients that look names up keep one from making any. */
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

/* A file with a link's row has its target in it. */
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
        n = -EINVAL; /* somebody else has written it */
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
