/* SPDX-License-Identifier: Apache-2.0
 *
 * restore_staged - see restore_staged.h.
 */
#include "interceptor/restore/restore_staged.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/fd.h"
#include "interceptor/restore/restore_edited.h"
#include "interceptor/restore/restore_names.h"
#include "interceptor/restore/restore_relax.h"
#include "interceptor/sys/sys.h"
#include "interceptor/sys/tree_walk.h"

static int keep_inode(struct restore *r, const char *staged, uint64_t ino,
                      int keep)
{
    struct step_name name = step_inode_blob(ino);
    int rc = restore_rename(r, r->staging, staged, keep, name.text);
    struct stat st;

    /* Another link of the inode is there already. */
    if (rc == -EEXIST && sys_stat_name(keep, name.text, &st) == 0 &&
        st.st_ino == ino && !S_ISDIR(st.st_mode))
        return sys_unlinkat(r->staging, staged, 0);
    return rc < 0 ? rc : log_links_change_kept(r->log_links, keep, ino, 1);
}

static int keep_one(struct restore *r, const char *staged, uint64_t ino,
                    int keep)
{
    /* Remove a directory whose whole content was the step's and has been
     * removed. */
    if (r->foreign_since > 0 && r->foreign_since < INT64_MAX &&
        sys_unlinkat(r->staging, staged, AT_REMOVEDIR) == 0)
        return 0;
    return keep_inode(r, staged, ino, keep);
}

/* Return whether the inode existed before the step, by its number, and has no
 * place now. An inode of another process may have that number. 1, 0 or -errno.
 */
static int is_homeless(struct restore *r, const char *staged,
                       const struct step_inode *inode)
{
    struct stat st;
    int rc = 0;

    if (inode && !(inode->flags & STEP_LOST))
        rc = sys_stat_name(r->staging, staged, &st);
    if (!inode || rc < 0)
        return rc;
    return inode->flags & STEP_LOST || S_ISDIR(st.st_mode) || st.st_nlink == 1;
}

/* ---- a log that cannot take names ---------------------------------------- */

/* Copies the files of a directory, under their names in it. */
struct saver {
    struct restore *r;
    GHashTable
        *copies; /* &ino of a directory -> path of its copy below blobs/ */
};

static int note_copy(struct saver *s, uint64_t ino, const char *path)
{
    int rc = sys_mkdirat(s->r->blobs, path, 0700);

    if (rc == 0)
        g_hash_table_insert(s->copies, g_memdup2(&ino, sizeof(ino)),
                            g_strdup(path));
    return rc;
}

static int begin_copy(struct saver *s, uint64_t ino)
{
    int rc = -EEXIST;

    for (int n = 0; rc == -EEXIST && n < RESTORE_MAX_COPIES; n++)
        rc = note_copy(s, ino, restore_copy_name(ino, n).text);
    return rc;
}

/* A directory that is too deep for a path starts a separate copy. */
static int save_folder(struct saver *s, const char *above, const char *name,
                       uint64_t ino)
{
    g_autofree char *path = g_strdup_printf("%s/%s", above, name);

    return strlen(path) + NAME_MAX + 2 < PATH_MAX ? note_copy(s, ino, path)
                                                  : begin_copy(s, ino);
}

static int save_entry(int dirfd, const struct dirent *entry, void *opaque)
{
    struct saver *s = opaque;
    const char *name = entry->d_name, *above;
    fd_auto int to = -1;
    struct stat st, dir;
    uint64_t ino;
    int rc = sys_stat_name(dirfd, name, &st);

    if (rc == 0)
        rc = sys_stat_fd(dirfd, &dir);
    if (rc < 0)
        return rc;
    ino = dir.st_ino;
    above = g_hash_table_lookup(s->copies, &ino);
    if (!above)
        return -ESTALE;
    if (S_ISDIR(st.st_mode)) {
        rc = save_folder(s, above, name, st.st_ino);
        return rc < 0 ? rc : TREE_ENTER;
    }
    to = sys_openat(s->r->blobs, above, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0);
    rc = to < 0 ? to : restore_save_as(dirfd, name, &st, to, name);
    return rc < 0 ? rc : TREE_SKIP;
}

static void relax(int dirfd, void *opaque)
{
    restore_relax(((const struct saver *)opaque)->r, dirfd);
}

static int save_tree(struct restore *r, const char *staged, uint64_t ino)
{
    g_autoptr(GHashTable) copies = g_hash_table_new_full(
        g_int64_hash, g_int64_equal, g_free, g_free);
    struct saver saver = { r, copies };
    fd_auto int fd = sys_openat(r->staging, staged,
                                O_PATH | O_DIRECTORY | O_NOFOLLOW, 0);
    int rc = fd < 0 ? fd : begin_copy(&saver, ino);

    return rc < 0 ? rc : tree_walk(fd, save_entry, relax, &saver);
}

static void tell_saved(struct restore *r, const struct step_inode *inode)
{
    g_autofree char *path = step_path_before(r->step, inode, NULL);

    g_ptr_array_add(r->orphans, g_strdup_printf("%s (blobs/e%" PRIu64 ".*)",
                                                path ? path : "?", inode->ino));
}

/* Save the content of all files. */
static int save_homeless(struct restore *r, const char *staged,
                         const struct step_inode *inode)
{
    struct stat st;
    int rc = sys_stat_name(r->staging, staged, &st);

    if (rc == 0)
        rc = S_ISDIR(st.st_mode)
                 ? save_tree(r, staged, st.st_ino)
                 : restore_save_name(r, r->staging, staged, &st);
    if (rc == 0)
        tell_saved(r, inode);
    return rc;
}

/* ---- closing ------------------------------------------------------------- */

/* What is left in staging was created by the step, is a surplus link, or is
 * lost. */
static int keep_staged(int staging, const struct dirent *entry, void *opaque)
{
    struct restore *r = opaque;
    uint64_t ino = strtoull(entry->d_name, NULL, 10);
    const struct step_inode *inode;
    int rc;

    if (ino > 0 && r->keep >= 0)
        return keep_one(r, entry->d_name, ino, r->keep);
    inode = ino > 0 ? step_find_inode(r->step, ino) : NULL;
    rc = is_homeless(r, entry->d_name, inode);
    if (rc <= 0)
        return rc;
    /* In the step's own log it is safe from removal. */
    return restore_log_takes_names(r)
               ? keep_one(r, entry->d_name, ino, r->blobs)
               : save_homeless(r, entry->d_name, inode);
}

/* Content is restored after this, and may need the space. */
int restore_close_staging(struct restore *r)
{
    int rc = 0;

    if (r->staging < 0)
        return 0;
    if (r->keep >= 0 || r->edited_too)
        rc = sys_dir_each(r->staging, ".", keep_staged, r);
    fd_close(&r->staging);
    return rc < 0 ? rc : sys_remove_tree(r->staging_dir, r->staging_name);
}
