/* SPDX-License-Identifier: Apache-2.0
 *
 * restore_base - the state of a restore and helpers for all of its files.
 */
#ifndef INTERCEPTOR_RESTORE_RESTORE_BASE_H
#define INTERCEPTOR_RESTORE_RESTORE_BASE_H

#include <glib.h>
#include <stdbool.h>

#include "interceptor/inode/log_links.h"
#include "interceptor/log/step.h"
#include "interceptor/log/undo_log.h"
#include "interceptor/report/survey.h"
#include "interceptor/sys/walker.h"

struct progress;

/* A running restore. Owned: blobs, staging, survey, the tables and
 * trouble; other fds and pointers are borrowed. */
struct restore {
    struct step *step;
    struct undo_log *log;
    struct log_links *log_links;
    int dir;     /* of the step */
    int blobs;   /* its blobs/ */
    int root;    /* the share */
    int staging; /* for detached entries, by inode number; -1: none */
    int staging_dir;
    const char *staging_name;
    int keep;              /* a blobs/ for detached entries; -1: remove them */
    int64_t foreign_since; /* restore_set_foreign() */
    struct survey *survey; /* made by the check; or NULL */
    bool wants_staging;    /* an entry could not be moved without staging */
    bool remade;           /* see restore_has_remade() */
    bool begun_content;    /* see restore_has_begun_content() */
    bool any_lost;         /* restore_lost.h */
    int rc;                /* of the error; or 0 */
    struct progress *progress; /* or NULL */
    struct walker walker;      /* over homes, from the root */
    bool damaged_too;          /* RESTORE_DAMAGED */
    bool edited_too;           /* RESTORE_EDITED */
    bool forced;               /* RESTORE_FORCED */
    GHashTable *alive;  /* see restore_is_alive(); NULL: not searched yet */
    GPtrArray *lost;    /* see restore_lost() */
    GPtrArray *orphans; /* see restore_orphans() */
    GPtrArray *emptied; /* see restore_emptied() */
    struct step_inode *gone; /* the missing inode that caused the error; or
                              * NULL */
    GHashTable *made;        /* step_inode -> number of its name in staging */
    GHashTable *relaxed;     /* step_inode -> mode (restore_relax.h) */
    GHashTable *missed;      /* set of step_inode that were missing before; or
                              * NULL */
    int64_t next_beat_us;    /* undo_log_beat() */
    int64_t edited_since;    /* restore_edited.h */
    GHashTable *edited;      /* of uint64_t, or NULL */
    GString *trouble;        /* the path at which the error occurred */
};

/* Open the manifest for further records. 0 or -errno. */
int restore_open_journal(struct restore *r);

/* Return all inodes of the step, each directory before its content. A new array
 * of borrowed struct step_inode. */
GPtrArray *restore_sorted_inodes(struct restore *r);

/* Record in the undo log, from time to time, that the daemon is alive: the
 * timer that does so waits for the restore. */
void restore_tell_alive(struct restore *r);

/* Count one item of the progress as done. */
void restore_note_progress(struct restore *r);

/* Return whether names can be moved between the share and the log. */
static inline bool restore_log_takes_names(const struct restore *r)
{
    return r->staging_dir == r->dir;
}

#endif
