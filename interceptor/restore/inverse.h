/* SPDX-License-Identifier: Apache-2.0
 *
 * inverse - write the step that redoes what a rollback undoes.
 *
 * Before a step is rolled back, its inverse is written from the step's records
 * and from the present tree: each name that will change its meaning, each inode
 * whose metadata will change, and the content that the step's pack will
 * overwrite or that lies beyond the size to which the file will be cut. The
 * inverse is an ordinary step (step.h), so redo is a rollback of it. The tree
 * does not change before the inverse is complete.
 *
 * What a rollback puts aside moves into the inverse's blobs/, so the cost of
 * undo and redo in time and space is proportional to what changed, not to its
 * size. If names cannot be moved there (the log is on another mount), the
 * inverse gets a copy.
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
    struct step *step; /* the step to roll back; has its end record */
    int blobs;         /* the blobs/ of that step */
    const struct survey *survey;
    const struct restore *restore;
    int root; /* of the share */
    struct log_links *log_links;
    int64_t seq;       /* of the inverse */
    int64_t max_bytes; /* limit of copied content; 0: none */
    bool copies;       /* copy what the rollback removes: it cannot be moved */
};

/* Write the inverse into dirfd, a new directory with an empty blobs/. 0,
 * -EXFULL (more than max_bytes) or -errno; after an error it is incomplete.
 * Links that it made in its blobs/ are counted in log_links. */
int inverse_make(const struct inverse_source *source, int dirfd);

#endif
