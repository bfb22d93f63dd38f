/* SPDX-License-Identifier: Apache-2.0
 *
 * folder_mark - the identity of a shared folder.
 *
 * A folder is identified by its root's inode number. Filesystems reuse numbers
 * quickly; so also by the root's btime and, on btrfs, the subvolume, if these
 * are known. An exact copy of a whole disk has the same identity.
 */
#ifndef INTERCEPTOR_LOG_FOLDER_MARK_H
#define INTERCEPTOR_LOG_FOLDER_MARK_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct folder_mark {
    /* btime of the root in us since the epoch; 0: unknown. born_moves: on
     * overlayfs the value changes with the first change below the root, which
     * copies the root up. */
    int64_t born;
    bool born_moves;

    /* UUID of the btrfs subvolume as text; a snapshot has another one. NULL:
     * unknown, or the log is in the same subvolume, so that a snapshot always
     * contains both. */
    char *subvolume;

    char *path; /* of the folder when it was recorded; NULL: unknown */
};

/* Collect the identity of this root. born_moves: as above. path is copied. */
void folder_mark_look(struct folder_mark *mark, int rootfd, bool born_moves,
                      const char *path);

void folder_mark_copy(struct folder_mark *mark, const struct folder_mark *from);
void folder_mark_clear(struct folder_mark *mark);

/* Write and read the identity as members of the first line of a step's record.
 * A missing member means unknown. */
void folder_mark_write(const struct folder_mark *mark, json_t *record);
void folder_mark_read(struct folder_mark *mark, json_t *record);

#endif
