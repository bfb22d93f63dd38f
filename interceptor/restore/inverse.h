/* SPDX-License-Identifier: Apache-2.0
 *
 * inverse - the step that leads back to where a rollback came from.
 *
 * Before a step is taken back, its inverse is written from the step's records
 * and from what is in the tree now: each name that will mean something else,
 * each inode whose metadata will change, and of content what the step's pack
 * will overwrite and what lies beyond the size that the file will get. It is a
 * step like others (step.h), so redoing is taking it back. Nothing is changed
 * in the tree before it is complete.
 *
 * What a rollback puts aside moves into the inverse's blobs/, so undo and redo
 * cost time and room in proportion to what changed, not to its size. Where it
 * cannot be moved (the log is elsewhere) it is copied.
 */
#ifndef INTERCEPTOR_RESTORE_INVERSE_H
#define INTERCEPTOR_RESTORE_INVERSE_H

#include <stdbool.h>
#include <stdint.h>

#include "interceptor/inode/log_links.h"
#include "interceptor/log/step.h"
#include "interceptor/report/survey.h"

struct restore;

struct inverse_source {
    struct step *step; /* what is to be taken back; has its end record */
    int blobs;         /* its kept content */
    const struct survey *survey;
    const struct restore *restore; /* the rollback */
    int root;                      /* the share */
    struct log_links *log_links;
    int64_t seq;       /* the inverse's own */
    int64_t max_bytes; /* of content to be copied; 0: no limit */
    bool copies;       /* what the rollback removes, since it cannot be moved */
};

/* Write the inverse into dirfd, a new folder with an empty blobs/. 0, -EXFULL
 * (more than max_bytes) or -errno; then it is not complete.
 * The links that it made in its blobs/ are counted in log_links. */
int inverse_make(const struct inverse_source *source, int dirfd);

#endif
