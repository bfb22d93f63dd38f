/* SPDX-License-Identifier: Apache-2.0
 *
 * folder_mark - what tells one folder from another.
 *
 * A folder is told by its root's inode number, which is often given again at
 * once; so also by its birth, and on btrfs by the subvolume, as far as these
 * are known. An exact copy of a whole disk is the same folder to all of these.
 */
#ifndef INTERCEPTOR_LOG_FOLDER_MARK_H
#define INTERCEPTOR_LOG_FOLDER_MARK_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct folder_mark {
    /* Of the root: us since the epoch; 0: not known. On overlayfs it is another
     * after the first change below the root, when that is copied up. */
    int64_t born;
    bool born_moves;

    /* Of btrfs, as text; a snapshot has another. NULL: not known, or the log is
     * in the same subvolume, and so whatever is a snapshot of one is of the
     * other. */
    char *subvolume;

    char *path; /* where the folder was then; NULL: not known */
};

/* What is to be known of this root. born_moves: as above. path is copied. */
void folder_mark_look(struct folder_mark *mark, int rootfd, bool born_moves,
                      const char *path);

void folder_mark_copy(struct folder_mark *mark, const struct folder_mark *from);
void folder_mark_clear(struct folder_mark *mark);

/* As members of the first line of a step's record; what is missing there is not
 * known. */
void folder_mark_write(const struct folder_mark *mark, json_t *record);
void folder_mark_read(struct folder_mark *mark, json_t *record);

#endif
