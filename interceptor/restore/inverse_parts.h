/* SPDX-License-Identifier: Apache-2.0
 *
 * inverse_parts - what the files of inverse share, and nobody else uses.
 *
 * inverse.c has names and metadata, inverse_content.c what files hold,
 * inverse_copy.c what has to be copied because names cannot be moved into the
 * log.
 *
 * "source" is the step that is to be taken back, "inverse" the one that is
 * written; a step_inode belongs to either.
 */
#ifndef INTERCEPTOR_RESTORE_INVERSE_PARTS_H
#define INTERCEPTOR_RESTORE_INVERSE_PARTS_H

#include <stdatomic.h>

#include "interceptor/log/content.h"
#include "interceptor/log/pack.h"
#include "interceptor/restore/inverse.h"
#include "interceptor/sys/walker.h"

struct inverter {
    const struct inverse_source *source;
    struct step *step; /* the inverse */
    struct walker walker;
    struct pack *pack; /* NULL: no content is kept yet */
    struct content_store store;
    atomic_bool no_clones;
    int64_t last_content; /* number */
    GHashTable *living;   /* a set of &ino: files that were found to live on */
};

/* The inverse's record of what is at the entry, with a home for it and all
 * directories above it. 0 or -errno, as all of these. */
int inverse_add_homes(struct inverter *v, const struct survey_entry *entry,
                      struct step_inode **ret_inode);

/* An O_PATH fd of what is at the entry. */
int inverse_open_entry(struct inverter *v, const struct survey_entry *entry);

/* The same of a file that a link in the inverse's blobs/ leads to. */
int inverse_open_linked(struct inverter *v, uint64_t ino);

/* Record the metadata of what is open as fd (which may be an error). */
int inverse_record_meta(struct inverter *v, struct step_inode *inode, int fd);

/* What the rollback will change in files, but for those of inverse_copy.c. */
int inverse_add_content(struct inverter *v);

/* All of a file, of which fd is one and st the state. */
int inverse_keep_file(struct inverter *v, struct step_inode *inode, int fd,
                      const struct stat *st);

/* Before the names are inverted: give each file that lives on only under names
 * that no record has a home there, and keep what the rollback will change in
 * it. Such files are looked for if the log cannot take names, and if other
 * processes may have removed the names that the records have. Reads the whole
 * tree. */
int inverse_copy_living(struct inverter *v);

/* For a log that cannot take names, after all else: copy what the rollback will
 * remove. */
int inverse_copy_created(struct inverter *v);

#endif
