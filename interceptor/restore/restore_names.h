/* SPDX-License-Identifier: Apache-2.0
 *
 * restore_names - the parts of a restore that move names: restore_detach.c and
 * restore_attach.c, and what they share.
 */
#ifndef INTERCEPTOR_RESTORE_RESTORE_NAMES_H
#define INTERCEPTOR_RESTORE_RESTORE_NAMES_H

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
    struct step_inode *gone;   /* what the error is about, if it is not there */
    GHashTable *made;          /* step_inode -> number of its name in staging */
    GHashTable *missed;        /* of step_inode: were gone before; or NULL */
    int64_t next_beat_us;      /* undo_log_beat() */
    int64_t edited_since;      /* restore_edited.h */
    GHashTable *edited;        /* of uint64_t, or NULL */
    GString *trouble;          /* the path at which an error happened */
};

/* 1 if the inode is in staging or in the log, 0 if not, or -errno. */
int restore_is_kept(const struct restore *r, const struct step_inode *inode);

/* 1 if the file is in the tree, under a name that no record has, 0 if not, or
 * -errno. Reads the whole tree, once. */
int restore_is_alive(struct restore *r, const struct step_inode *inode);

/* Open the manifest, which can still be added to. 0 or -errno. */
int restore_open_journal(struct restore *r);

/* 1 if the inode is in staging or in the log, or can be made from its copy, or
 * from where another process has moved it, 0 if not, or -errno. */
int restore_can_find(struct restore *r, const struct step_inode *inode);

/* Open, O_PATH, the directory at the place it had before the step. An fd or
 * -errno. */
int restore_open_dir(struct restore *r, const struct step_inode *dir);

/* A walker over homes (after step_sort()), whose top is dir, open as dirfd. */
void restore_walker_init(struct walker *walker, int dirfd,
                         const struct step_inode *dir);

/* Is that the error of something that is not there? All others may pass. */
bool restore_is_gone(int rc);

/* The name in staging of an inode that was detached. */
struct staged_name {
    char text[24];
};
struct staged_name restore_staged_name(uint64_t ino);

/* Move a name, which must not be taken there, also where only the modes of
 * what we own are in the way. */
int restore_rename(struct restore *r, int dirfd, const char *name, int to,
                   const char *to_name);

/* Make a directory that we own writable for ourselves; its recorded metadata
 * is set at the end. */
void restore_relax(int dirfd);

/* One more of what was counted is done. */
void restore_note_progress(struct restore *r);

int restore_detach(struct restore *r);
int restore_attach(struct restore *r);
int restore_close_staging(struct restore *r);

#endif
