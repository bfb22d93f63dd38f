/* SPDX-License-Identifier: Apache-2.0
 *
 * inverse_parts - declarations shared by the files of inverse only.
 *
 * inverse.c inverts names and metadata, inverse_content.c file content;
 * inverse_copy.c copies what cannot be moved into the log.
 *
 * "source" is the step to be rolled back, "inverse" the one that is written; a
 * step_inode belongs to one of the two.
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
    struct pack *pack; /* NULL: no content kept yet */
    struct content_store store;
    atomic_bool no_clones;
    int64_t last_content; /* the last data number given */
    GHashTable *living;   /* a set of &ino: files found under other names */
};

/* Add the inode at the entry to the inverse, with homes for it and for all
 * directories above it. 0 or -errno, as all of these. */
int inverse_add_homes(struct inverter *v, const struct survey_entry *entry,
                      struct step_inode **ret_inode);

/* Open the inode at the entry, O_PATH. */
int inverse_open_entry(struct inverter *v, const struct survey_entry *entry);

/* Open, O_PATH, the file to which a link in the inverse's blobs/ leads. */
int inverse_open_linked(struct inverter *v, uint64_t ino);

/* Record the metadata of the file open as fd. An fd that is -errno is returned.
 */
int inverse_record_meta(struct inverter *v, struct step_inode *inode, int fd);

/* Keep what the rollback will change in files, except those that inverse_copy.c
 * handles. */
int inverse_add_content(struct inverter *v);

/* Keep all content of the file that is open as fd and has the state st. */
int inverse_keep_file(struct inverter *v, struct step_inode *inode, int fd,
                      const struct stat *st);

/* Run before the names are inverted: give each file whose only names are in no
 * record a home there, and keep what the rollback will change in it. Such files
 * are searched for if the log cannot take names, and if other processes may
 * have removed recorded names. Reads the whole tree. */
int inverse_copy_living(struct inverter *v);

/* Run last, for a log that cannot take names: copy what the rollback will
 * remove. */
int inverse_copy_created(struct inverter *v);

#endif
