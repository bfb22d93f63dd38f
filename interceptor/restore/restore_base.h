/* SPDX-License-Identifier: Apache-2.0
 *
 * restore_base - a restore at work, and what all of its parts use.
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

/* A restore at work; fds and pointers are borrowed but staging and trouble. */
struct restore {
    struct step *step;
    struct undo_log *log;
    struct log_links *log_links;
    int dir;     /* the step's folder */
    int blobs;   /* its blobs/ */
    int root;    /* the share */
    int staging; /* folder for what is detached, by inode number; -1: none */
    int staging_dir;
    const char *staging_name;
    int keep;              /* a blobs/ for what is detached; -1: remove it */
    int64_t foreign_since; /* restore_set_foreign() */
    struct survey *survey; /* of the check; or NULL */
    bool wants_staging;    /* something waits for there to be one */
    bool remade;           /* see restore_has_remade() */
    bool any_lost;         /* restore_lost.h */
    int rc;                /* of the error, or 0 */
    struct progress *progress; /* or NULL */
    struct walker walker;      /* over homes, from the root */
    bool damaged_too;          /* restore what there is */
    bool edited_too;           /* do without what is lost */
    bool forced;               /* replace what is in its place */
    GHashTable *alive;         /* see restore_is_alive(); NULL: not looked */
    GPtrArray *lost;           /* the paths of that */
    GPtrArray *orphans;        /* see restore_orphans() */
    GPtrArray *emptied;        /* see restore_emptied() */
    struct step_inode *gone;   /* what the error is about, if it is not there */
    GHashTable *made;          /* step_inode -> number of its name in staging */
    GHashTable *missed;        /* of step_inode: were gone before; or NULL */
    int64_t next_beat_us;      /* undo_log_beat() */
    int64_t edited_since;      /* restore_edited.h */
    GHashTable *edited;        /* of uint64_t, or NULL */
    GString *trouble;          /* the path at which an error happened */
};

/* Open the manifest, which can still be added to. 0 or -errno. */
int restore_open_journal(struct restore *r);

/* All inodes of the step, directories before what is in them. A new array of
 * borrowed struct step_inode. */
GPtrArray *restore_sorted_inodes(struct restore *r);

/* Note in the undo log, from time to time, that the daemon is alive: its timer
 * waits for the restore. */
void restore_tell_alive(struct restore *r);

/* One more of what was counted is done. */
void restore_note_progress(struct restore *r);

/* Can names be moved between the share and the log? */
static inline bool restore_log_takes_names(const struct restore *r)
{
    return r->staging_dir == r->dir;
}

#endif
