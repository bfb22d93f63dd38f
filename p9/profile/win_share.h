/* SPDX-License-Identifier: Apache-2.0
 *
 * win_share - the interface between the files of profile_windows.c.
 */
#ifndef P9_PROFILE_WIN_SHARE_H
#define P9_PROFILE_WIN_SHARE_H

#include <pthread.h>

#include "p9/overlay/overlay.h"
#include "p9/profile/case_index.h"
#include "p9/profile/profile.h"

enum {
    WIN_UID = 1000, /* the default owner */
    WIN_GID = 1000,
    WIN_LOCKS = 64,
};

struct win_share {
    struct ic *ic;
    struct overlay *overlay;
    struct case_index *index;

    /* Hashed by directory. Write-locked while a name is created in the
     * directory; read-locked while one is looked up, so that no lookup finds an
     * incomplete object. Taken before any call of the engine; two of them in
     * address order. */
    pthread_rwlock_t locks[WIN_LOCKS];
};

/* ---- metadata (win_attr.c) ----------------------------------------------- */

/* Return the default row of a file of this type (S_IFMT) and name (may be
 * NULL). */
struct overlay_row win_default(mode_t type, const char *name);

/* Find the row that the inode refers to. Return false if there is none. */
bool win_find_row(struct win_share *share, struct ic_inode *inode,
                  struct overlay_row *ret_row);

/* Set the inode's row. Return 0, -errno or IC_PARKED; idempotent. */
int win_set_row(struct win_share *share, struct ic_inode *inode,
                const struct overlay_row *row);

/* Convert the host's stat(2) of the inode to the client's view. */
void win_show(struct win_share *share, struct ic_inode *inode, const char *name,
              struct stat *st);

/* Members of the profile's table of functions. */
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
