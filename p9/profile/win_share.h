/* SPDX-License-Identifier: Apache-2.0
 *
 * win_share - what the files of profile_windows.c share.
 */
#ifndef P9_PROFILE_WIN_SHARE_H
#define P9_PROFILE_WIN_SHARE_H

#include <pthread.h>

#include "p9/overlay/overlay.h"
#include "p9/profile/case_index.h"
#include "p9/profile/profile.h"

enum {
    WIN_UID = 1000, /* whose the files are that nobody was given */
    WIN_GID = 1000,
    WIN_LOCKS = 64,
};

struct win_share {
    struct ic *ic;
    struct overlay *overlay;
    struct case_index *index;

    /* By folder: to write, while a name is made in it; to read, while one is
     * looked up, so that nobody meets what is half made. Taken before any call
     * of the engine; two of them in order. */
    pthread_rwlock_t locks[WIN_LOCKS];
};

/* ---- metadata (win_attr.c) ----------------------------------------------- */

/* What a file of this type (S_IFMT) and name (may be NULL) has, if nobody has
 * said otherwise. */
struct overlay_row win_default(mode_t type, const char *name);

/* What the inode has been given. False: nothing. */
bool win_find_row(struct win_share *share, struct ic_inode *inode,
                  struct overlay_row *ret_row);

/* Give it that. 0, -errno or IC_PARKED; once more is no harm. */
int win_set_row(struct win_share *share, struct ic_inode *inode,
                const struct overlay_row *row);

/* From the host's stat(2) of the inode to what the client sees. */
void win_show(struct win_share *share, struct ic_inode *inode, const char *name,
              struct stat *st);

/* Set-id bits go, as when a user without rights changes a file. */
mode_t win_drop_set_ids(mode_t mode);

/* For the table of functions. */
int win_get(void *state, struct ic_inode *inode, const char *name,
            struct stat *ret_stat);
int win_set(void *state, struct ic_inode *inode, const char *name, int fd,
            const struct ic_setattr *attr);
int win_before_write(void *state, struct ic_inode *inode);
ssize_t win_read_xattr(void *state, struct ic_inode *inode, const char *name,
                       char *to, size_t room);
int win_write_xattr(void *state, struct ic_inode *inode, const char *name,
                    const void *value, size_t size, int flags);
mode_t win_type(void *state, struct ic_inode *inode);
unsigned char win_entry_type(void *state, int dirfd,
                             const struct dir_entry *entry);

/* ---- names (win_make.c) -------------------------------------------------- */

int win_lookup(void *state, struct ic_inode *dir, const char *name,
               struct ic_inode **ret_inode, struct stat *ret_stat);
int win_create(void *state, const struct p9_new *new, int flags,
               struct p9_made *ret_made);
int win_make_dir(void *state, const struct p9_new *new,
                 struct p9_made *ret_made);
int win_make_node(void *state, const struct p9_new *new, dev_t rdev,
                  struct p9_made *ret_made);
int win_make_symlink(void *state, const struct p9_new *new, const char *target,
                     struct p9_made *ret_made);
int win_link(void *state, struct ic_inode *inode, const char *from,
             struct ic_inode *dir, const char *name);
int win_rename(void *state, struct ic_inode *old_dir, const char *old_name,
               struct ic_inode *new_dir, const char *new_name);

#endif
